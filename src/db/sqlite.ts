import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { AppError } from '../errors.ts';
import type { Connection, Schema } from './connection.ts';
import { dialectOf } from './dialect.ts';
import { inTransaction } from './in-transaction.ts';
import { SqliteConnection } from './sqlite-connection.ts';

/** How long opening and reading wait for another process. */
const BUSY_TIMEOUT_MS = 5000;
/** How long a transaction waits for its turn and for another process that writes. */
const WRITE_PATIENCE_MS = 5000;
const MIGRATION_PATIENCE_MS = 120_000;
const RETRY_PAUSE_MS = 10;
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

/** A queue of one: TypeORM's SQLite driver has a single connection, so its transactions must take turns. */
const createMutex = () => {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
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

const IN_MEMORY = ':memory:';

/**
 * Opens an SQLite file: one connection that writes, in turns, and one that reads what is committed. A database in memory
 * is its connection's own, so there the readers take turns with the writers.
 */
export const openSqlite = async (url: string, schema: Schema): Promise<Connection> => {
  const dialect = dialectOf('sqlite');
  const file = url.slice('sqlite:'.length);
  const options = {
    type: 'better-sqlite3',
    driver: SqliteConnection,
    database: file,
    timeout: BUSY_TIMEOUT_MS,
    enableWAL: true,
    entities: schema.entities('sqlite'),
    migrations: schema.migrations,
  } satisfies DataSourceOptions;
  const writer = new DataSource(options);
  const reader =
    file === IN_MEMORY
      ? undefined
      : new DataSource({
          ...options,
          entities: [],
          migrations: [],
          statementCacheSize: 500,
          prepareDatabase: (connection: SqliteConnection): void => {
            connection.pragma('query_only = 1');
          },
        });
  try {
    await writer.initialize();
    await reader?.initialize();
    await writer.query('PRAGMA busy_timeout = 0');
  } catch (error) {
    throw new AppError('DATABASE_UNAVAILABLE', {
      hint: `cannot open the SQLite file ${file}: ${(error as Error).message}`,
      cause: error,
    });
  }
  const turn = createMutex();
  const exclusive = <T>(patience: number, transaction: () => Promise<T>): Promise<T> => {
    const deadline = Date.now() + patience;
    return turn(() => whenFree(deadline, transaction));
  };
  return {
    dialect,
    writer,
    read: (sql, parameters) =>
      reader ? reader.query(sql, [...parameters]) : turn(() => writer.query(sql, [...parameters])),
    exclusive: (work) => exclusive(WRITE_PATIENCE_MS, work),
    // The file's own write lock keeps other processes out, and work that fails leaves nothing behind.
    whileMigrating: (work) => exclusive(MIGRATION_PATIENCE_MS, () => inTransaction(writer, dialect, work)),
    isTransient: isBusy,
    isUnreachable: (error) => SQLITE_UNREACHABLE.includes(primaryCode(error) ?? 0),
    close: async () => {
      await reader?.destroy();
      await turn(() => writer.destroy());
    },
  };
};
