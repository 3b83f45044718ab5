import { DataSource, type DataSourceOptions } from 'typeorm';
import { AppError } from '../errors.ts';
import type { Connection, Schema } from './database.ts';
import { dialectOf } from './dialect.ts';
import { SqliteConnection } from './sqlite-connection.ts';

const BUSY_TIMEOUT_MS = 5000;
// Primary result codes, https://sqlite.org/rescode.html
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_UNREACHABLE = [10 /* IOERR */, 13 /* FULL */, 14 /* CANTOPEN */];

const primaryCode = (error: unknown): number | undefined => {
  const cause = (error as { driverError?: unknown } | null)?.driverError ?? error;
  const { errcode } = (cause ?? {}) as { errcode?: number };
  return errcode === undefined ? undefined : errcode & 0xff;
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

/** Opens an SQLite file: one connection that writes, in turns, and one that reads what is committed. */
export const openSqlite = async (url: string, schema: Schema): Promise<Connection> => {
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
  const reader = new DataSource({
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
    await reader.initialize();
  } catch (error) {
    throw new AppError('DATABASE_UNAVAILABLE', { hint: `cannot open the SQLite file ${file}`, cause: error });
  }
  const exclusive = createMutex();
  return {
    dialect: dialectOf('sqlite'),
    writer,
    read: (sql, parameters) => reader.query(sql, [...parameters]),
    exclusive,
    whileMigrating: (work) =>
      exclusive(async () => {
        // The file's own write lock keeps other processes out, and a failed migration leaves nothing behind.
        await writer.query('BEGIN IMMEDIATE');
        try {
          const result = await work();
          await writer.query('COMMIT');
          return result;
        } catch (error) {
          await writer.query('ROLLBACK');
          throw error;
        }
      }),
    isTransient: (error) => [SQLITE_BUSY, SQLITE_LOCKED].includes(primaryCode(error) ?? 0),
    isUnreachable: (error) => SQLITE_UNREACHABLE.includes(primaryCode(error) ?? 0),
    close: async () => {
      await reader.destroy();
      await exclusive(() => writer.destroy());
    },
  };
};
