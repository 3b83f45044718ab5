import express, { type Router } from 'express';
import type { Database } from '../../db/database.ts';
import { Deadline } from '../../deadline.ts';
import { AppError } from '../../errors.ts';
import { WriteProbe } from '../../db/write-probe.ts';
import { probeWrite } from '../../idempotency/records.ts';
import { LIVENESS_PATH, READINESS_PATH } from '../routes.ts';
import { readOnly } from './preconditions.ts';

/** The time limit of the database, so that a health check is answered within two seconds. */
const READY_TIMEOUT_MS = 1500;

interface HealthOptions {
  db: Database;
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

  constructor({ db, now }: Pick<HealthOptions, 'db' | 'now'>) {
    this.#db = db;
    this.#writability = new WriteProbe((deadline) => db.attempt((tx) => probeWrite(tx, now()), deadline));
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
 * `/healthz`: the process answers. `/readyz`: the database answers and takes writes, its migrations are applied, and
 * the service is not stopping.
 */
export const health = ({ db, now, stopping }: HealthOptions): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  const readiness = new Readiness({ db, now });
  router.all(LIVENESS_PATH, readOnly, (_request, response) => {
    response.json({ status: 'ok' });
  });
  router.all(READINESS_PATH, readOnly, async (_request, response) => {
    if (stopping.aborted) {
      response.status(503).json({ status: 'stopping' });
      return;
    }
    await readiness.assert();
    response.json({ status: 'ready' });
  });
  return router;
};
