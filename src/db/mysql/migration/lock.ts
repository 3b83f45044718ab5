import type { DataSource, QueryRunner } from 'typeorm';
import { performance, sleep } from '../../../base/runtime.ts';
import { AppError } from '../../../base/errors.ts';
import { MigrationError, type RunStatement } from '../../migration/run.ts';
import { isTableMissing } from '../errors.ts';
import { statementsOn, TOLD_MS } from './statement.ts';

/** How long to wait for another process that migrates, in seconds. */
const LOCK_WAIT_S = 120;
/** The milliseconds after which a connection to Vitess asks again for the lock that it holds. */
const RENEWAL_MS = 2000;

/**
 * How long a change of a table or of rows waits for transactions that use them, in seconds: the minimum. Later
 * statements on the table, or on rows that it has changed, wait behind it. If one of these has locked a row for which a
 * transaction that holds the table waits, only this timeout ends the wait: the server sees no deadlock.
 */
const IN_USE_WAIT_S = 1;
const WAITS = ['lock_wait_timeout', 'innodb_lock_wait_timeout'] as const;

const setWaits = (runner: QueryRunner, value: number | 'DEFAULT'): Promise<unknown> =>
  runner.query(`SET SESSION ${WAITS.map((name) => `${name} = ${value}`).join(', ')}`);

// Lock names apply to the whole server, and have at most 64 characters. MySQL 9.7 has no MD5.
const NAME = "SHA2(CONCAT('content-gateway migrations of ', DATABASE()), 256)";

/**
 * Makes a connection ask for the lock it holds before a statement, if it last asked a while ago. After 5 s vtgate
 * itself asks, beside a statement; if the lock is released meanwhile, vtgate 24.0.1 crashes, or refuses to release it
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

/** The table in which earlier releases recorded a running migration; its row was deleted at the end. */
const EARLIER_PROGRESS = 'migration_progress';

const ignoreMissing = (error: unknown): [] => {
  if (isTableMissing(error)) return [];
  throw error;
};

/** @throws MigrationError where an earlier release was interrupted: the table of migrations lacks its changes */
export const assertNoneInterruptedEarlier = async (read: (sql: string) => Promise<unknown[]>): Promise<void> => {
  const [row] = await read(
    `SELECT name FROM ${EARLIER_PROGRESS} WHERE name NOT IN (SELECT name FROM migrations)`,
  ).catch(ignoreMissing);
  if (row === undefined) return;
  const { name } = row as { name: string };
  throw new MigrationError(`an earlier release was interrupted within ${name}: finish that first, with migrate`);
};

/**
 * Runs `work` on one connection, which holds the lock of migrations. The lock outlives this process while its last
 * statement runs.
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
    // A session with a setting has its own connections in vtgate, besides the one that holds the lock.
    else await setWaits(runner, IN_USE_WAIT_S);
    const result = await work(runner, statementsOn(runner));
    await runner.query(`DELETE FROM ${EARLIER_PROGRESS}`).catch(ignoreMissing);
    // Tablets must tell vtgate of all columns before the service starts.
    if (isSharded) await sleep(TOLD_MS);
    return result;
  } finally {
    if (!isSharded) await setWaits(runner, 'DEFAULT').catch(() => undefined);
    await runner.query(`SELECT RELEASE_LOCK(${NAME})`).catch(() => undefined);
    await runner.release();
  }
};
