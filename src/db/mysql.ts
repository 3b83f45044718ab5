import mysql from 'mysql2';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { AppError } from '../errors.ts';
import { type ServerAddress, serverAddress } from './address.ts';
import type { Connection, Schema } from './connection.ts';
import { dialectOf } from './dialect.ts';
import { SessionPool } from './mysql-pool.ts';
import { StatementBudget, TOO_MANY_STATEMENTS } from './mysql-session.ts';
import { connectionSettings, withSettings } from './mysql-settings.ts';
import { transactionOn } from './mysql-transaction.ts';

const READING_CONNECTIONS = 12;
const WRITING_CONNECTIONS = 10;
/** A server allows 16 382 to all who connect to it, unless told otherwise. */
const MAX_PREPARED_STATEMENTS = 1500;
const STATEMENTS_PER_CONNECTION = Math.floor(MAX_PREPARED_STATEMENTS / (READING_CONNECTIONS + WRITING_CONNECTIONS));
/** Those of TypeORM: one that holds the lock, one that migrates. */
const MIGRATING_CONNECTIONS = 2;
const CONNECT_TIMEOUT_MS = 10_000;
const MIGRATION_LOCK_WAIT_S = 120;
/** Lock wait timeout, deadlock, snapshot conflict (MariaDB 11.8), and statements that others close in time. */
const TRANSIENT_ERRNO = [1205, 1213, 1020, TOO_MANY_STATEMENTS];
const UNREACHABLE = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'ER_CON_COUNT_ERROR',
  'ER_SERVER_SHUTDOWN',
  'ER_UNKNOWN_COM_ERROR',
  'HANDSHAKE_NO_SSL_SUPPORT',
  'HANDSHAKE_SSL_ERROR',
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
]);

const driverError = (error: unknown): { code?: string; errno?: number; message?: string } =>
  (error as { driverError?: object } | null)?.driverError ?? error ?? {};

/** mysql2 for TypeORM, whose connections have our settings before their first use. */
const driver = {
  ...mysql,
  createPool: (options: mysql.PoolOptions) => withSettings(mysql.createPool(options), connectionSettings(1)),
};

/** How values travel: texts in UTF-8, instants as texts in UTC, whole numbers as numbers. */
const FORMAT = {
  charset: 'utf8mb4_bin',
  timezone: 'Z',
  dateStrings: true,
  supportBigNumbers: true,
  bigNumberStrings: false,
} as const;

const openPools = (address: ServerAddress) => {
  const statements = new StatementBudget(STATEMENTS_PER_CONNECTION);
  const connection = { ...address, ...FORMAT, connectTimeout: CONNECT_TIMEOUT_MS, enableKeepAlive: true };
  return {
    reads: new SessionPool({
      connection: { ...connection, connectionLimit: READING_CONNECTIONS },
      settings: connectionSettings(1),
      statements,
    }),
    // Without autocommit a transaction needs no trip to begin.
    writes: new SessionPool({
      connection: { ...connection, connectionLimit: WRITING_CONNECTIONS },
      settings: connectionSettings(0),
      statements,
    }),
  };
};

/** MariaDB and MySQL differ in how TypeORM sees their schema, so the server is asked, whatever the URL says. */
const serverEngine = async (pool: SessionPool): Promise<'mysql' | 'mariadb'> => {
  const [row] = (await pool.read('SELECT VERSION() AS version', [])) as { version: string }[];
  return /mariadb/i.test(row?.version ?? '') ? 'mariadb' : 'mysql';
};

const openDataSource = (
  { user, ...rest }: ServerAddress,
  engine: 'mysql' | 'mariadb',
  schema: Schema,
): Promise<DataSource> =>
  new DataSource({
    ...rest,
    ...FORMAT,
    type: engine,
    username: user,
    driver,
    poolSize: MIGRATING_CONNECTIONS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    entities: schema.entities(engine),
    migrations: schema.migrations,
    extra: { enableKeepAlive: true },
  } satisfies DataSourceOptions).initialize();

/** Connects to MySQL or MariaDB. @throws AddressError, AppError DATABASE_UNAVAILABLE */
export const openMysql = async (url: string, schema: Schema): Promise<Connection> => {
  const address = serverAddress(url);
  const { reads, writes } = openPools(address);
  const closePools = () => Promise.all([reads.close(), writes.close()]);
  try {
    const engine = await serverEngine(reads);
    const dataSource = await openDataSource(address, engine, schema);
    return {
      dialect: dialectOf(engine),
      dataSource,
      read: (sql, parameters) => reads.read(sql, parameters),
      transaction: (work) => transactionOn(writes, work),
      whileMigrating: (work) => withLock(dataSource, work),
      isTransient: (error) => TRANSIENT_ERRNO.includes(driverError(error).errno ?? 0),
      isUnreachable: (error) => {
        const { code, message } = driverError(error);
        return UNREACHABLE.has(code ?? '') || /closed state|Pool is closed/.test(message ?? '');
      },
      close: async () => {
        await Promise.all([closePools(), dataSource.destroy()]);
      },
    };
  } catch (error) {
    await closePools();
    const { code, message } = driverError(error);
    const { host, port, database } = address;
    throw new AppError('DATABASE_UNAVAILABLE', {
      hint: `cannot use the database at ${host}:${port}/${database}: ${message || code}`,
      cause: error,
    });
  }
};

const withLock = async <T>(dataSource: DataSource, work: () => Promise<T>): Promise<T> => {
  const holder = dataSource.createQueryRunner();
  // Lock names are the whole server's and at most 64 characters long. MySQL 9.7 has no MD5.
  const name = "SHA2(CONCAT('content-gateway migrations of ', DATABASE()), 256)";
  try {
    const [row] = (await holder.query(`SELECT GET_LOCK(${name}, ${MIGRATION_LOCK_WAIT_S}) AS held`)) as {
      held: number | null;
    }[];
    if (Number(row?.held) !== 1) {
      throw new AppError('DATABASE_UNAVAILABLE', {
        hint: `another process has been migrating for ${MIGRATION_LOCK_WAIT_S} seconds`,
      });
    }
    return await work();
  } finally {
    await holder.query(`SELECT RELEASE_LOCK(${name})`).catch(() => undefined);
    await holder.release();
  }
};
