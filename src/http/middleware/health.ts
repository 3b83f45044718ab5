import express, { type Response, type Router } from 'express';
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { Deadline } from '../../base/deadline.ts';
import { AppError, databaseFaultIn } from '../../base/errors.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { WriteProbe } from '../../db/write-probe.ts';
import { probeWrite } from '../../auth/idempotency/records.ts';
import { LIVENESS_PATH, READINESS_PATH } from '../routes.ts';
import { readOnly } from './preconditions.ts';

/** The time limit of the database, so that a health check is answered within two seconds. */
const READY_TIMEOUT_MS = 1500;

interface HealthOptions {
  db: Database;
  log: Logger;
  /** The clock. */
  now: () => Date;
  /** Whether no writes are taken. */
  isReadOnly: () => Promise<boolean>;
  /** Aborted when the service has been told to stop. */
  stopping: AbortSignal;
}

/** The purposes of a check. `service` is also ready while the operator has the service take no writes. */
const purposes = ['service', 'read', 'write'] as const;
type Purpose = (typeof purposes)[number];

/** Checks whether the service can work. Concurrent checks share the result. */
class Readiness {
  readonly #purpose: Purpose;
  readonly #db: Database;
  readonly #writability: WriteProbe;
  readonly #isReadOnly: () => Promise<boolean>;
  /** Stays true once it is. */
  #isMigrated = false;
  #asking: Promise<'ready' | 'read-only'> | undefined;
  readonly #log: Logger;
  /** The last answer, as logged: a reason, `ready` or `read-only`. */
  #logged: string | undefined;

  constructor(
    purpose: Purpose,
    writability: WriteProbe,
    { db, log, isReadOnly }: Pick<HealthOptions, 'db' | 'log' | 'isReadOnly'>,
  ) {
    this.#purpose = purpose;
    this.#db = db;
    this.#log = purpose === 'service' ? log : log.child({ for: purpose });
    this.#isReadOnly = isReadOnly;
    this.#writability = writability;
  }

  /** Resolves to whether writes are taken, if that is asked. @throws AppError DATABASE_UNAVAILABLE, MAINTENANCE */
  assert(): Promise<'ready' | 'read-only'> {
    return (this.#asking ??= this.#ask().finally(() => (this.#asking = undefined)));
  }

  async #ask(): Promise<'ready' | 'read-only'> {
    try {
      const state = await this.#check();
      this.#note(state);
      return state;
    } catch (error) {
      this.#note('failed', error);
      throw error;
    }
  }

  /** Logs each change. The requests themselves are logged for debugging only, as there is one a second. */
  #note(answer: string, error?: unknown): void {
    const { hint } = error instanceof AppError ? error.details : {};
    const state = error === undefined ? answer : (databaseFaultIn(error) ?? hint ?? answer);
    if (state === this.#logged) return;
    this.#logged = state;
    if (error === undefined) this.#log.info(answer);
    else this.#log.info({ cause: databaseFaultIn(error), hint }, 'not ready');
  }

  async #check(): Promise<'ready' | 'read-only'> {
    const db = this.#db;
    // On SQLite, health checks also remember the last refused write.
    const pool = this.#purpose === 'read' ? db.keys : db.health;
    const deadline = new Deadline(READY_TIMEOUT_MS);
    try {
      await deadline.race(this.#isMigrated ? db.ping(deadline, pool) : this.#assertMigrated(deadline, pool));
      if (this.#purpose === 'read') return 'ready';
      if (await deadline.race(this.#isReadOnly())) {
        if (this.#purpose === 'write') throw new AppError('MAINTENANCE');
        return 'read-only';
      }
      await deadline.race(this.#writability.assert());
      return 'ready';
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

  async #assertMigrated(deadline: Deadline, pool: WorkloadPool): Promise<void> {
    const pending = await this.#db.pendingMigrations(deadline, pool);
    if (pending.length > 0) {
      throw new AppError('DATABASE_UNAVAILABLE', { hint: `Migrations are due: ${pending.join(', ')}.` });
    }
    this.#isMigrated = true;
  }
}

/**
 * `/healthz`: the process answers. `/readyz`: the database answers and takes writes, its migrations are applied, and
 * the service is not stopping. While no writes are taken, those of the database are not tested, and the status is `read-only`.
 * `/readyz?for=read` asks for no writes; `/readyz?for=write` is not ready while none are taken.
 */
export const health = (options: HealthOptions): Router => {
  const { db, now, stopping } = options;
  const router = express.Router({ caseSensitive: true, strict: true });
  router.all(LIVENESS_PATH, readOnly, (_request, response) => {
    response.json({ status: 'ok' });
  });
  const writability = new WriteProbe((deadline) => db.attempt((tx) => probeWrite(tx, now()), deadline));
  const readiness = new Map(purposes.map((purpose) => [purpose, new Readiness(purpose, writability, options)]));
  const answer = async (purpose: unknown, response: Response): Promise<void> => {
    const asked = readiness.get((purpose ?? 'service') as Purpose);
    if (!asked) throw new AppError('VALIDATION_FAILED', { hint: '`for` must be `read` or `write`, or be left out.' });
    if (stopping.aborted) response.status(503).json({ status: 'stopping' });
    else response.json({ status: await asked.assert() });
  };
  router.all(READINESS_PATH, readOnly, ({ query }, response) => answer(query['for'], response));
  return router;
};
