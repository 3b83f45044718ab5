import express, { type Router } from 'express';
import type { Context } from '../../context.ts';
import { Deadline } from '../../deadline.ts';
import { AppError } from '../../errors.ts';
import { Writability } from '../../db/write-probe.ts';
import { tryToRemember } from '../../idempotency/records.ts';
import { readOnly } from './preconditions.ts';

const LIVE = '/healthz';
const READY = '/readyz';
/** Where whoever looks after the service asks how it is. */
export const healthPaths: ReadonlySet<string> = new Set([LIVE, READY]);

/** How long the database may take to answer: whoever asks is told within two seconds. */
const READY_TIMEOUT_MS = 1500;

/** Finds out whether the service can work; those who ask meanwhile hear the same. */
class Readiness {
  readonly #db: Context['db'];
  readonly #writability: Writability;
  /** Once true, for good. */
  #isMigrated = false;
  #asking: Promise<void> | undefined;

  constructor({ db, now }: Pick<Context, 'db' | 'now'>) {
    this.#db = db;
    this.#writability = new Writability((deadline) => db.attempt((tx) => tryToRemember(tx, now()), deadline));
  }

  /** @throws AppError DATABASE_UNAVAILABLE */
  assert(): Promise<void> {
    return (this.#asking ??= this.#ask().finally(() => (this.#asking = undefined)));
  }

  async #ask(): Promise<void> {
    const deadline = new Deadline(READY_TIMEOUT_MS);
    try {
      await deadline.race(this.#isMigrated ? this.#db.ping(deadline) : this.#assertMigrated(deadline));
      await deadline.race(this.#writability.assert());
    } catch (error) {
      if (deadline.error === undefined) throw error;
      throw new AppError('DATABASE_UNAVAILABLE', {
        hint: `The database did not answer within ${READY_TIMEOUT_MS / 1000} seconds.`,
      });
    } finally {
      deadline.close();
    }
  }

  async #assertMigrated(deadline: Deadline): Promise<void> {
    const pending = await this.#db.pendingMigrations(deadline);
    if (pending.length > 0) {
      throw new AppError('DATABASE_UNAVAILABLE', { hint: `Migrations are due: ${pending.join(', ')}.` });
    }
    this.#isMigrated = true;
  }
}

/**
 * `/healthz`: the process answers. `/readyz`: so does the database, which takes writes, its migrations are applied, and the
 * service has not been told to stop.
 */
export const health = (context: Context): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  const readiness = new Readiness(context);
  router.all(LIVE, readOnly, (_request, response) => {
    response.json({ status: 'ok' });
  });
  router.all(READY, readOnly, async (_request, response) => {
    if (context.stopping.signal.aborted) {
      response.status(503).json({ status: 'stopping' });
      return;
    }
    await readiness.assert();
    response.json({ status: 'ready' });
  });
  return router;
};
