import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { AppError } from '../errors.ts';
import type { Connection, Parameter, Schema, Statements } from './connection.ts';
import { dialectOf } from './dialect.ts';
import { sqliteFile } from './address.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { IN_MEMORY, makePrivate } from './sqlite-files.ts';

/** How long opening and reading wait for another process. */
const BUSY_TIMEOUT_MS = 5000;
/** How long a transaction waits for its turn and for another process that writes. */
const WRITE_PATIENCE_MS = 5000;
const MIGRATION_PATIENCE_MS = 120_000;
const RETRY_PAUSE_MS = 10;
/** Callers that wait for their turn; beyond, they are refused. */
const MAX_WAITING = 2000;
// Primary result codes, https://sqlite.org/rescode.html
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_UNREACHABLE = [SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN];

/** What SQLite calls them: of what fails while a statement is prepared, the driver keeps the message alone. */
const CODES = new Map([
  ['database is locked', SQLITE_BUSY],
  ['disk I/O error', SQLITE_IOERR],
  ['database or disk is full', SQLITE_FULL],
  ['unable to open database file', SQLITE_CANTOPEN],
]);

const primaryCode = (error: unknown): number | undefined => {
  const cause = (error as { driverError?: unknown } | null)?.driverError ?? error;
  const { errcode, message = '' } = (cause ?? {}) as { errcode?: number; message?: string };
  return errcode === undefined ? CODES.get(message) : errcode & 0xff;
};

/**
 * A queue for a connection that one caller has at a time. Between two of them it lets the event loop turn: what SQLite does
 * takes no turn of its own, so that those who always wait would keep out everything else.
 */
const createQueue = () => {
  const waiting: (() => void)[] = [];
  let isTaken = false;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (isTaken) {
      if (waiting.length >= MAX_WAITING) throw new AppError('OVERLOADED');
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    isTaken = true;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) setImmediate(next);
      else isTaken = false;
    }
  };
};

const isBusy = (error: unknown): boolean => [SQLITE_BUSY, SQLITE_LOCKED].includes(primaryCode(error) ?? 0);

/**
 * Runs a transaction again and again while another process writes. SQLite's own waiting would stop this whole process.
 * @throws AppError OVERLOADED at the deadline
 */
const whenFree = async <T>(deadline: number, transaction: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await transaction();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (Date.now() > deadline) throw new AppError('OVERLOADED', { cause: error });
      await sleep(RETRY_PAUSE_MS);
    }
  }
};

const rollBack = (connection: SqliteConnection): void => {
  // What the engine has rolled back already is over.
  if (connection.isInTransaction) connection.run('ROLLBACK');
};

/** Runs `work` as one transaction. Not by TypeORM's own calls, whose state outlives a transaction that the file refused. */
const transactionOn = async <T>(
  connection: SqliteConnection,
  work: (statements: Statements) => Promise<T>,
): Promise<T> => {
  let isOpen = true;
  const onOpen =
    <R>(run: (sql: string, parameters?: readonly Parameter[]) => R) =>
    async (sql: string, parameters?: readonly Parameter[]): Promise<R> => {
      if (!isOpen) throw new Error('the transaction has ended');
      return run(sql, parameters);
    };
  const statements: Statements = {
    read: onOpen((sql, parameters) => connection.all(sql, parameters)) as Statements['read'],
    execute: onOpen((sql, parameters) => connection.run(sql, parameters)),
  };
  // First what an earlier one could not. And one that begins by reading may find that another process has written since.
  rollBack(connection);
  connection.run('BEGIN IMMEDIATE');
  try {
    const result = await work(statements);
    connection.run('COMMIT');
    return result;
  } catch (error) {
    rollBack(connection);
    throw error;
  } finally {
    isOpen = false;
  }
};

/**
 * Runs `work`, which migrates, as one transaction without foreign keys, which are checked at its end: to change a table,
 * TypeORM makes it anew and drops the old one, which would take with it all rows that refer to it.
 */
const migrateOn = async <T>(connection: SqliteConnection, work: () => Promise<T>): Promise<T> => {
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

/** Resolves when all that has arrived is received: a read of SQLite takes no time in which equal ones could meet. */
const arrivals = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const openReader = (file: string): SqliteConnection => {
  const reader = new SqliteConnection(file, { timeout: BUSY_TIMEOUT_MS });
  reader.pragma('query_only = 1');
  return reader;
};

/**
 * Opens an SQLite file: one connection that writes, in turns, and one that reads what is committed. A database in memory
 * is its connection's own, so there the readers take turns with the writers.
 * @throws AddressError, AppError DATABASE_UNAVAILABLE
 */
export const openSqlite = async (url: string, schema: Schema): Promise<Connection> => {
  const file = sqliteFile(url);
  const dataSource = new DataSource({
    type: 'better-sqlite3',
    driver: SqliteConnection,
    database: file,
    timeout: BUSY_TIMEOUT_MS,
    enableWAL: true,
    entities: schema.entities('sqlite'),
    migrations: schema.migrations,
  } satisfies DataSourceOptions);
  let reader: SqliteConnection | undefined;
  try {
    makePrivate(file);
    await dataSource.initialize();
    reader = file === IN_MEMORY ? undefined : openReader(file);
  } catch (error) {
    throw new AppError('DATABASE_UNAVAILABLE', {
      hint: `cannot open the SQLite file ${file}: ${(error as Error).message}`,
      cause: error,
    });
  }
  const { databaseConnection: writer } = dataSource.driver as unknown as { databaseConnection: SqliteConnection };
  writer.pragma('busy_timeout = 0');
  const inTurn = createQueue();
  const exclusive = <T>(patience: number, work: () => Promise<T>): Promise<T> => {
    const deadline = Date.now() + patience;
    return inTurn(() => whenFree(deadline, work));
  };
  return {
    dialect: dialectOf('sqlite'),
    dataSource,
    read: async (sql, parameters) => {
      if (!reader) return inTurn(async () => writer.all(sql, parameters));
      await arrivals();
      return reader.all(sql, parameters);
    },
    transaction: (work) => exclusive(WRITE_PATIENCE_MS, () => transactionOn(writer, work)),
    // The file's own write lock keeps other processes out, and work that fails leaves nothing behind.
    whileMigrating: (work) => exclusive(MIGRATION_PATIENCE_MS, () => migrateOn(writer, work)),
    isTransient: isBusy,
    isUnreachable: (error) => SQLITE_UNREACHABLE.includes(primaryCode(error) ?? 0),
    close: async () => {
      reader?.close();
      await inTurn(() => dataSource.destroy());
    },
  };
};
