import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { type Actor, record } from '../../auth/audit/log.ts';
import { performance } from '../../base/runtime.ts';
import type { Config } from '../../config/config.ts';
import { IN_MEMORY, sqliteFile } from '../../db/address.ts';
import type { Reader } from '../../db/connection.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { type Place, factsIn, readFact, storeFact } from './entity.ts';

const NAME = 'place';
/** The interval at which a process with held webhooks checks whether they may continue. */
const RECHECK_MS = 5000;

const realFile = (databaseUrl: string): string | null => {
  if (!databaseUrl.startsWith('sqlite:') || sqliteFile(databaseUrl) === IN_MEMORY) return null;
  const file = resolve(sqliteFile(databaseUrl));
  if (existsSync(file)) return realpathSync(file);
  return existsSync(dirname(file)) ? join(realpathSync(dirname(file)), basename(file)) : file;
};

/** The place according to the settings. */
export const placeOf = ({ publicUrl, databaseUrl }: Pick<Config, 'publicUrl' | 'databaseUrl'>): Place => ({
  url: publicUrl ?? null,
  file: realFile(databaseUrl),
});

/** Whether a process at `own` belongs to the deployment at `known`. A deployment may get an address later. */
export const isSamePlace = (known: Place, own: Place): boolean =>
  known.url === null ? known.file === own.file : known.url === own.url;

/** Describes a place in words. */
export const describePlace = ({ url, file }: Place): string => url ?? file ?? 'an unknown address';

/** The place of the deployment that a database belongs to; undefined before its first start. */
export const readPlace = async (reader: Pick<Reader, 'manager'>): Promise<Place | undefined> =>
  (await readFact(reader, NAME))?.value;

/** Lets the next process that checks claim the database, and records that. Returns the former place. */
export const leavePlace = (db: Pick<WorkloadPool, 'transaction'>, by: Actor): Promise<Place | undefined> =>
  db.transaction(async (tx) => {
    const before = await readPlace(tx);
    if (!before) return undefined;
    await factsIn(tx).delete({ name: NAME });
    await record(tx, by, { action: 'webhooks resume --here', subject: 'the service', before });
    return before;
  });

/** Holds webhooks in a copy of another deployment's database: otherwise receivers would get messages from both. */
export class CopyHold {
  readonly #db: Pick<WorkloadPool, 'transaction'>;
  readonly #own: Place;
  readonly #now: () => Date;
  readonly #log: Logger;
  readonly #recheckMs: number;
  /** Undefined before the first check. */
  #isHeld: boolean | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(
    db: Pick<WorkloadPool, 'transaction'>,
    own: Place,
    { now, log, recheckMs = RECHECK_MS }: { now: () => Date; log: Logger; recheckMs?: number },
  ) {
    this.#db = db;
    this.#own = own;
    this.#now = now;
    this.#log = log;
    this.#recheckMs = recheckMs;
  }

  /** Whether webhooks are held. Claims an unowned database. @throws AppError while the database does not answer */
  async isOn(): Promise<boolean> {
    if (this.#isHeld === false) return false;
    if (this.#isHeld && performance.now() - this.#checkedAt < this.#recheckMs) return true;
    const known = await this.#take();
    const wasHeld = this.#isHeld === true;
    this.#checkedAt = performance.now();
    this.#isHeld = !isSamePlace(known, this.#own);
    if (this.#isHeld && !wasHeld) {
      this.#log.warn(
        { belongsTo: describePlace(known), here: describePlace(this.#own) },
        'webhooks are held: the database belongs to another deployment; if it has moved here for good, run `webhooks resume --here`',
      );
    }
    if (wasHeld && !this.#isHeld) this.#log.info('webhooks go on: the database belongs to this deployment');
    return this.#isHeld;
  }

  /** The place of the deployment that now owns the database. */
  #take(): Promise<Place> {
    const own = this.#own;
    const fact = { name: NAME, value: own, changedAt: this.#now() } as const;
    return this.#db.transaction(async (tx) => {
      // If two instances start together, the second one finds the row of the first.
      await factsIn(tx).createQueryBuilder().insert().values(fact).orIgnore().updateEntity(false).execute();
      const known = (await readPlace(tx)) ?? own;
      if (known.url === null && own.url !== null && isSamePlace(known, own)) await storeFact(tx, fact);
      return known;
    });
  }
}
