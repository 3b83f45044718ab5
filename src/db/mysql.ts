import mysql from 'mysql2';
import mysqlPromise from 'mysql2/promise';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { AppError } from '../errors.ts';
import type { Connection, Parameter, Schema } from './connection.ts';
import { dialectOf } from './dialect.ts';

const POOL_SIZE = 16;
const CONNECT_TIMEOUT_MS = 10_000;
const MIGRATION_LOCK_WAIT_S = 120;
/** Lock wait timeout, deadlock, and snapshot conflict (MariaDB 11.8). */
const TRANSIENT_ERRNO = [1205, 1213, 1020];
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
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
]);

const driverError = (error: unknown): { code?: string; errno?: number; message?: string } =>
  (error as { driverError?: object } | null)?.driverError ?? error ?? {};

/**
 * mysql2 with one addition: each connection starts in READ COMMITTED. The service locks the rows it depends on; the gap
 * locks of REPEATABLE READ would only add deadlocks between toggles of different records.
 */
const driver = {
  ...mysql,
  createPool: (options: mysql.PoolOptions) => {
    const pool = mysql.createPool(options);
    pool.on('connection', (connection) => {
      connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED', () => undefined);
    });
    return pool;
  },
};

/** MariaDB and MySQL differ in how TypeORM sees their schema, so the server is asked, whatever the URL says. */
const serverEngine = async (url: URL): Promise<'mysql' | 'mariadb'> => {
  const connection = await mysqlPromise.createConnection({ ...credentials(url), connectTimeout: CONNECT_TIMEOUT_MS });
  try {
    const [rows] = await connection.query<mysql.RowDataPacket[]>('SELECT VERSION() AS version');
    return /mariadb/i.test(String(rows[0]?.['version'])) ? 'mariadb' : 'mysql';
  } finally {
    connection.destroy();
  }
};

const credentials = (url: URL) => ({
  host: url.hostname,
  port: Number(url.port || 3306),
  user: decodeURIComponent(url.username),
  password: decodeURIComponent(url.password),
  database: decodeURIComponent(url.pathname.slice(1)),
});

/** Connects to MySQL or MariaDB. */
export const openMysql = async (address: string, schema: Schema): Promise<Connection> => {
  const url = new URL(address);
  const { user, ...rest } = credentials(url);
  try {
    const engine = await serverEngine(url);
    const writer = new DataSource({
      ...rest,
      type: engine,
      username: user,
      driver,
      poolSize: POOL_SIZE,
      connectTimeout: CONNECT_TIMEOUT_MS,
      charset: 'utf8mb4',
      timezone: 'Z',
      dateStrings: true,
      supportBigNumbers: true,
      bigNumberStrings: false,
      entities: schema.entities(engine),
      migrations: schema.migrations,
      extra: { enableKeepAlive: true },
    } satisfies DataSourceOptions);
    await writer.initialize();
    const pool = (writer.driver as unknown as { pool: mysql.Pool }).pool.promise();
    return {
      dialect: dialectOf(engine),
      writer,
      // Prepared statements of the pool cost less than half of TypeORM's own path.
      read: async (sql, parameters) => {
        const [rows] = await pool.execute<mysql.RowDataPacket[]>(sql, parameters as Parameter[]);
        return rows;
      },
      exclusive: (work) => work(),
      whileMigrating: (work) => withLock(writer, work),
      isTransient: (error) => TRANSIENT_ERRNO.includes(driverError(error).errno ?? 0),
      isUnreachable: (error) => {
        const { code, message } = driverError(error);
        return UNREACHABLE.has(code ?? '') || /closed state|Pool is closed/.test(message ?? '');
      },
      close: () => writer.destroy(),
    };
  } catch (error) {
    const { code, message } = driverError(error);
    throw new AppError('DATABASE_UNAVAILABLE', {
      hint: `cannot use the database at ${url.host}${url.pathname}: ${message || code}`,
      cause: error,
    });
  }
};

const withLock = async <T>(writer: DataSource, work: () => Promise<T>): Promise<T> => {
  const holder = writer.createQueryRunner();
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
