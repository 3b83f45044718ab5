import express, { type Router } from 'express';
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { Deadline } from '../../deadline.ts';
import { AppError, databaseFaultIn } from '../../errors.ts';
import { WriteProbe } from '../../db/write-probe.ts';
import { probeWrite } from '../../idempotency/records.ts';
import { LIVENESS_PATH, READINESS_PATH } from '../routes.ts';
import { readOnly } from './preconditions.ts';

/** The time limit of the database, so that a health check is answered within two seconds. */
const READY_TIMEOUT_MS = 1500;
const READY = 'ready';

interface HealthOptions {
  db: Database;
  log: Logger;
  /** The clock. */
  now: () => Date;
  /** Aborted when the service has been told to stop. */
  stopping: AbortSignal;
}

/** Checks whether the service can work. Concurrent checks share the result. */
class Readiness {
  readonly #db: Database;
  readonly #writability: WriteProbe;
  /** Stays true once it is. */
  #isMigrated = false;
  #asking: Promise<void> | undefined;
  readonly #log: Logger;
  /** The last answer, as logged: a reason, or `ready`. */
  #logged: string | undefined;

  constructor({ db, log, now }: Pick<HealthOptions, 'db' | 'log' | 'now'>) {
    this.#db = db;
    this.#log = log;
    this.#writability = new WriteProbe((deadline) => db.attempt((tx) => probeWrite(tx, now()), deadline));
  }

  /** @throws AppError DATABASE_UNAVAILABLE */
  assert(): Promise<void> {
    return (this.#asking ??= this.#ask().finally(() => (this.#asking = undefined)));
  }

  async #ask(): Promise<void> {
    try {
      await this.#check();
      this.#note(undefined);
    } catch (error) {
      this.#note(error);
      throw error;
    }
  }

  /** Logs each change. The requests themselves are logged for debugging only, as there is one a second. */
  #note(error: unknown): void {
    const { hint } = error instanceof AppError ? error.details : {};
    const state = error === undefined ? READY : (databaseFaultIn(error) ?? hint ?? 'failed');
    if (state === this.#logged) return;
    this.#logged = state;
    if (state === READY) this.#log.info('ready');
    else this.#log.info({ cause: databaseFaultIn(error), hint }, 'not ready');
  }

  async #check(): Promise<void> {
    const deadline = new Deadline(READY_TIMEOUT_MS);
    try {
      await deadline.race(this.#isMigrated ? this.#db.ping(deadline) : this.#assertMigrated(deadline));
      await deadline.race(this.#writability.assert());
    } catch (error) {
      if (deadline.error === undefined) throw error;
      throw new AppError('DATABASE_UNAVAILABLE', {
        fault: 'unreachable',
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
 * `/healthz`: the process answers. `/readyz`: the database answers and takes writes, its migrations are applied, and
 * the service is not stopping.
 */
export const health = ({ db, log, now, stopping }: HealthOptions): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  const readiness = new Readiness({ db, log, now });
  router.all(LIVENESS_PATH, readOnly, (_request, response) => {
    response.json({ status: 'ok' });
  });
  router.all(READINESS_PATH, readOnly, async (_request, response) => {
    if (stopping.aborted) {
      response.status(503).json({ status: 'stopping' });
      return;
    }
    await readiness.assert();
    response.json({ status: READY });
  });
  return router;
};
