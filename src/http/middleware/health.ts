import express, { type Response, type Router } from 'express';
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { Deadline } from '../../base/deadline.ts';
import { AppError, databaseFaultIn } from '../../base/errors.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { WriteProbe } from '../../db/write-probe.ts';
import { probeWrite } from '../../auth/idempotency/records.ts';
import { LIVENESS_PATH, READINESS_PATH, readOnly } from './preconditions.ts';

/** The time limit of the database, so that a health check is answered within two seconds. */
const READY_TIMEOUT_MS = 1500;

interface HealthOptions {
  db: Database;
  log: Logger;
  now: () => Date;
  /** Whether the service refuses writes. */
  isReadOnly: () => Promise<boolean>;
  /** Aborted when the service is told to stop. */
  stopping: AbortSignal;
}

/** The purposes of a check. `service` is also ready while the operator's maintenance refuses writes. */
const purposes = ['service', 'read', 'write'] as const;
type Purpose = (typeof purposes)[number];

/** Whether the service takes writes. */
type State = 'ready' | 'read-only';

/**
 * Makes the check of a purpose, which asserts that the service can work. Concurrent checks share the result.
 * @throws AppError DATABASE_UNAVAILABLE, MAINTENANCE
 */
const checkOf = (
  purpose: Purpose,
  writability: WriteProbe,
  { db, log: all, isReadOnly }: Pick<HealthOptions, 'db' | 'log' | 'isReadOnly'>,
): (() => Promise<State>) => {
  const log = purpose === 'service' ? all : all.child({ for: purpose });
  /** Stays true once set. */
  let isMigrated = false;
  let checking: Promise<State> | undefined;
  /** The last logged answer: a reason, `ready` or `read-only`. */
  let logged: string | undefined;

  /** Logs each change. The requests themselves are logged only for debugging, since one arrives each second. */
  const note = (answer: string, error?: unknown): void => {
    const { hint } = error instanceof AppError ? error.details : {};
    const state = error === undefined ? answer : (databaseFaultIn(error) ?? hint ?? answer);
    if (state === logged) return;
    logged = state;
    if (error === undefined) log.info(answer);
    else log.info({ cause: databaseFaultIn(error), hint }, 'not ready');
  };

  const assertMigrated = async (deadline: Deadline, pool: WorkloadPool): Promise<void> => {
    const pending = await db.pendingMigrations(deadline, pool);
    if (pending.length > 0) {
      throw new AppError('DATABASE_UNAVAILABLE', { hint: `Migrations are due: ${pending.join(', ')}.` });
    }
    isMigrated = true;
  };

  const check = async (deadline: Deadline): Promise<State> => {
    // On SQLite, health checks also store the last refused write.
    const pool = purpose === 'read' ? db.keys : db.health;
    await deadline.race(isMigrated ? db.ping(deadline, pool) : assertMigrated(deadline, pool));
    if (purpose === 'read') return 'ready';
    if (await deadline.race(isReadOnly())) {
      if (purpose === 'write') throw new AppError('MAINTENANCE');
      return 'read-only';
    }
    await deadline.race(writability.assert());
    return 'ready';
  };

  const checkInTime = async (): Promise<State> => {
    const deadline = new Deadline(READY_TIMEOUT_MS);
    try {
      const state = await check(deadline);
      note(state);
      return state;
    } catch (thrown) {
      const hint = `The database did not answer within ${READY_TIMEOUT_MS / 1000} seconds.`;
      const error =
        deadline.error === undefined ? thrown : new AppError('DATABASE_UNAVAILABLE', { fault: 'unreachable', hint });
      note('failed', error);
      throw error;
    } finally {
      deadline.close();
    }
  };
  return () => (checking ??= checkInTime().finally(() => (checking = undefined)));
};

/**
 * `/healthz`: the process answers. `/readyz`: the database answers and takes writes, its migrations are applied, and
 * the service is not stopping. While it refuses writes, those of the database are not tested, and the status is
 * `read-only`. `/readyz?for=read` does not require writes; `/readyz?for=write` is then not ready.
 */
export const health = (options: HealthOptions): Router => {
  const { db, now, stopping } = options;
  const router = express.Router({ caseSensitive: true, strict: true });
  router.all(LIVENESS_PATH, readOnly, (_request, response) => {
    response.json({ status: 'ok' });
  });
  const writability = new WriteProbe((deadline) =>
    db.health.transaction((tx) => probeWrite(tx, now()), deadline, { isTriedOnce: true }),
  );
  const checks = new Map(purposes.map((purpose) => [purpose, checkOf(purpose, writability, options)]));
  const answer = async (purpose: unknown, response: Response): Promise<void> => {
    const check = checks.get((purpose ?? 'service') as Purpose);
    if (!check) throw new AppError('VALIDATION_FAILED', { hint: '`for` must be `read` or `write`, or be left out.' });
    if (stopping.aborted) response.status(503).json({ status: 'stopping' });
    else response.json({ status: await check() });
  };
  router.all(READINESS_PATH, readOnly, ({ query }, response) => answer(query['for'], response));
  return router;
};
