import type { Deadline } from '../../deadline.ts';
import { AppError } from '../../errors.ts';
import type { Parameter, Statements } from '../connection.ts';
import type { PoolObserver } from '../observer.ts';
import type { SqliteConnection } from './binding/binding.ts';
import { isDiskFailure } from './errors.ts';
import { MutexTurn } from './fair-mutex.ts';

const rollBack = (connection: SqliteConnection): void => {
  // The engine may have rolled back already.
  if (connection.isInTransaction) connection.run('ROLLBACK');
};

/** Runs a statement, watched. */
export const watched = <R>(observer: PoolObserver | undefined, sql: string, run: () => R): R => {
  const watch = observer?.statement(sql);
  watch?.sent();
  try {
    const result = run();
    watch?.end();
    return result;
  } catch (error) {
    watch?.end(error);
    throw error;
  }
};

/** @throws AppError OUTCOME_UNKNOWN when the disk failed: whether it holds the end of the transaction shows after a crash */
const commit = (connection: SqliteConnection, observer: PoolObserver | undefined): void => {
  try {
    watched(observer, 'COMMIT', () => connection.run('COMMIT'));
  } catch (error) {
    if (isDiskFailure(error)) throw new AppError('OUTCOME_UNKNOWN', { cause: error });
    throw error;
  }
};

/**
 * Runs `work` as one transaction, which lets the event loop turn between its statements, and is rolled back at the
 * deadline. Not by TypeORM's own calls, whose state outlives a transaction that the file refused.
 */
export const transactionOn = async <T>(
  connection: SqliteConnection,
  work: (statements: Statements) => Promise<T>,
  deadline?: Deadline,
  observer?: PoolObserver,
): Promise<T> => {
  let isOpen = true;
  const turn = new MutexTurn();
  const onOpen =
    <R>(run: (sql: string, parameters?: readonly Parameter[]) => R) =>
    async (sql: string, parameters?: readonly Parameter[]): Promise<R> => {
      await turn.yield();
      if (!isOpen) throw new Error('the transaction has ended');
      return watched(observer, sql, () => run(sql, parameters));
    };
  const statements: Statements = {
    read: onOpen((sql, parameters) => connection.all(sql, parameters)) as Statements['read'],
    execute: onOpen((sql, parameters) => connection.run(sql, parameters)),
  };
  // First what an earlier one could not. And one that begins by reading may find that another process has written since.
  rollBack(connection);
  connection.run('BEGIN IMMEDIATE');
  try {
    const working = work(statements);
    const result = await (deadline ? deadline.race(working) : working);
    deadline?.assert();
    isOpen = false;
    commit(connection, observer);
    return result;
  } catch (error) {
    isOpen = false;
    rollBack(connection);
    throw error;
  }
};

/**
 * Runs `work`, which migrates, as one transaction without foreign keys, which are checked at its end: to change a table,
 * TypeORM makes it anew and drops the old one, which would take with it all rows that refer to it.
 */
export const migrateOn = async <T>(connection: SqliteConnection, work: () => Promise<T>): Promise<T> => {
  const changes = () => JSON.stringify(connection.all('SELECT total_changes()'));
  // Only outside of a transaction does this have an effect.
  connection.pragma('foreign_keys = OFF');
  try {
    return await transactionOn(connection, async () => {
      const before = changes();
      const result = await work();
      const orphans = changes() === before ? [] : (connection.pragma('foreign_key_check') as { table: string }[]);
      if (orphans.length > 0) {
        const tables = [...new Set(orphans.map(({ table }) => table))].toSorted().join(', ');
        throw new Error(`the migration leaves rows that refer to nothing in: ${tables}`);
      }
      return result;
    });
  } finally {
    connection.pragma('foreign_keys = ON');
  }
};
