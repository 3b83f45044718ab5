import type { Logger } from 'pino';
import { sleep } from '../base/runtime.ts';
import { systemActor } from '../auth/audit/log.ts';
import { moveLeftBehind } from '../content/write/tag-merge.ts';
import { SETTLE_MS } from '../content/write/tag-names.ts';
import { findOutdatedSlugs, renewSlugs } from '../content/write/tag-slugs.ts';
import { BackgroundJob } from '../base/background-job.ts';
import type { WritePause } from '../db/batching/write-buffer.ts';
import type { Database } from '../db/database.ts';
import { gameKind } from '../game/kind.ts';
import { imageKind } from '../image/kind.ts';
import { renormalise } from '../search/indexing/check.ts';
import { renewSecrets, type WebhookSecrets } from '../event/webhook/secrets.ts';
import { searchKinds } from './schema.ts';

const RETRY_MS = 10_000;
/** The counter that a migration stores while texts are still normalised as an earlier version did. */
const DUE = 'renewal:names';
const kinds = [gameKind, imageKind] as const;

/**
 * Converts stored data in the background to the form that this version and its settings expect: slugs of tags and
 * search texts of an earlier version, if a migration has asked for it, and secrets of webhooks that are not encrypted
 * with the first key. Any number of processes may do so at once; an interrupted one repeats it at its next start.
 */
export class Renewal {
  readonly #db: Database;
  readonly #secrets: WebhookSecrets;
  readonly #log: Logger | undefined;
  readonly #job: BackgroundJob;

  constructor(db: Database, secrets: WebhookSecrets, log?: Logger, pause?: WritePause) {
    this.#db = db;
    this.#secrets = secrets;
    this.#log = log;
    this.#job = new BackgroundJob({
      turn: async () => ((await pause?.isOn()) ? RETRY_MS : this.#renew()),
      retryMs: RETRY_MS,
      log,
      failure: 'stored data could not be renewed yet',
    });
  }

  start(): void {
    this.#job.start();
  }

  /** Stops after the current transaction. */
  close(): Promise<void> {
    return this.#job.close();
  }

  async #renew(): Promise<undefined> {
    if (await this.work()) this.#log?.info('renewed the slugs of tags and the search texts');
    const encrypted = await renewSecrets(this.#db.background, this.#secrets, this.#job.signal);
    if (encrypted > 0) this.#log?.info({ webhooks: encrypted }, 'encrypted the secrets of webhooks');
  }

  /** Renews the slugs and texts if they are due. Returns whether they were; throws when it is closed. */
  async work(settle: () => Promise<unknown> = this.#settle): Promise<boolean> {
    const db = this.#db;
    const [due] = await db.read('SELECT n FROM counters WHERE name = ?', [DUE]);
    if (!due) return false;
    const tags = await findOutdatedSlugs(db);
    for (const tag of tags) {
      this.#job.signal.throwIfAborted();
      await renewSlugs(db, kinds, [tag], systemActor());
    }
    await moveLeftBehind(db, kinds);
    if (tags.length > 0) {
      // Calls under way may still store the old tag.
      await settle();
      await moveLeftBehind(db, kinds);
    }
    for (const kind of searchKinds) await renormalise(db.background, kind, searchKinds, this.#job.signal);
    await db.transaction((tx) => tx.execute('DELETE FROM counters WHERE name = ?', [DUE]));
    return true;
  }

  readonly #settle = (): Promise<unknown> => sleep(SETTLE_MS, undefined, { signal: this.#job.signal, ref: false });
}
