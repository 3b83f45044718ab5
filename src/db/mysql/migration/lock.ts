import type { DataSource, QueryRunner } from 'typeorm';
import { performance, sleep } from '../../../base/runtime.ts';
import { AppError } from '../../../base/errors.ts';
import { MigrationError, type RunStatement } from '../../migration/run.ts';
import { isTableMissing } from '../errors.ts';
import { statementsOn, TOLD_MS } from './statement.ts';

/** How long to wait for another process that migrates, in seconds. */
const LOCK_WAIT_S = 120;
/** How long a connection to Vitess does not ask for the lock that it holds, in milliseconds. */
const RENEWAL_MS = 2000;

/**
 * How long a change of a table or of rows waits for the transactions that use these, in seconds: the least there is. Later statements
 * on the table wait behind it, and those on rows that it has changed. If a transaction with a row lock is among them, and one that
 * holds the table waits for that lock, only this timeout ends it: the server sees no deadlock there.
 */
const IN_USE_WAIT_S = 1;
const WAITS = ['lock_wait_timeout', 'innodb_lock_wait_timeout'] as const;

const setWaits = (runner: QueryRunner, value: number | 'DEFAULT'): Promise<unknown> =>
  runner.query(`SET SESSION ${WAITS.map((name) => `${name} = ${value}`).join(', ')}`);

// Lock names are the whole server's and at most 64 characters long. MySQL 9.7 has no MD5.
const NAME = "SHA2(CONCAT('content-gateway migrations of ', DATABASE()), 256)";

/**
 * Makes a connection ask for the lock it holds before a statement that comes late after the last time. After 5 s vtgate asks by
 * itself, beside a statement; where the lock is released meanwhile, vtgate 24.0.1 crashes, or refuses to release it
 * (`ScatterConn.runLockQuery`).
 */
const renewLock = (runner: QueryRunner): void => {
  const query = runner.query.bind(runner) as (...parameters: unknown[]) => Promise<unknown>;
  let renewedAt = performance.now();
  const renewing = async (...parameters: unknown[]): Promise<unknown> => {
    if (performance.now() - renewedAt > RENEWAL_MS) {
      await query(`SELECT IS_USED_LOCK(${NAME})`);
      renewedAt = performance.now();
    }
    return query(...parameters);
  };
  runner.query = renewing as QueryRunner['query'];
};

/** The table in which earlier releases remembered a migration under way; its row is gone once that is finished. */
const EARLIER_PROGRESS = 'migration_progress';

const ignoreMissing = (error: unknown): [] => {
  if (isTableMissing(error)) return [];
  throw error;
};

/** @throws MigrationError where an earlier release was interrupted: what it did is unknown to the table of migrations */
export const assertNoneInterruptedEarlier = async (read: (sql: string) => Promise<unknown[]>): Promise<void> => {
  const [row] = await read(
    `SELECT name FROM ${EARLIER_PROGRESS} WHERE name NOT IN (SELECT name FROM migrations)`,
  ).catch(ignoreMissing);
  if (row === undefined) return;
  const { name } = row as { name: string };
  throw new MigrationError(`an earlier release was interrupted within ${name}: finish that first, with migrate`);
};

/**
 * Runs `work` on one connection, which holds the lock of migrations. So the lock outlives this process for as long as its
 * last statement runs.
 */
export const whileMigrating = async <T>(
  dataSource: DataSource,
  isSharded: boolean,
  work: (runner: QueryRunner, run: RunStatement) => Promise<T>,
): Promise<T> => {
  const runner = dataSource.createQueryRunner();
  try {
    const [row = {}] = (await runner.query(`SELECT GET_LOCK(${NAME}, ${LOCK_WAIT_S})`)) as object[];
    // The only column; its name varies, since Vitess ignores an alias here.
    const [held] = Object.values(row) as unknown[];
    if (Number(held) !== 1) {
      throw new AppError('DATABASE_UNAVAILABLE', {
        hint: `another process has been migrating for ${LOCK_WAIT_S} seconds`,
      });
    }
    if (isSharded) renewLock(runner);
    // A setting of a session gives it connections of its own in vtgate, beside that which has the lock.
    else await setWaits(runner, IN_USE_WAIT_S);
    const result = await work(runner, statementsOn(runner));
    await runner.query(`DELETE FROM ${EARLIER_PROGRESS}`).catch(ignoreMissing);
    // The service that is started next must find all columns, of which tablets tell vtgate.
    if (isSharded) await sleep(TOLD_MS);
    return result;
  } finally {
    if (!isSharded) await setWaits(runner, 'DEFAULT').catch(() => undefined);
    await runner.query(`SELECT RELEASE_LOCK(${NAME})`).catch(() => undefined);
    await runner.release();
  }
};
