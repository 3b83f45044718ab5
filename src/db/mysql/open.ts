import mysql from 'mysql2';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { currentTime, setTimeout } from '../../base/runtime.ts';
import { AppError } from '../../base/errors.ts';
import { type ServerAddress, serverAddresses } from '../address.ts';
import type { Connection, DatabaseOptions, Schema, Workload } from '../connection.ts';
import { dialectOf } from '../dialect.ts';
import { createCanceller } from './cancel.ts';
import { applySettings, breakConnection, CONNECT_TIMEOUT_MS, FORMAT } from './connect.ts';
import { connectionError, driverError, faultOf, isForeignKeyError, isInterrupted, isTransient } from './errors.ts';
import { Hosts } from './hosts.ts';
import { assertNoneInterruptedEarlier, whileMigrating } from './migration/lock.ts';
import { assertMayMigrate } from './migration/privileges.ts';
import { Replicas } from './replicas.ts';
import { type Canceller, SessionPool, type SessionPoolOptions } from './pool.ts';
import { StatementBudget } from './session.ts';
import { timeFromDb } from '../values.ts';
import { backstopSettings, connectionSettings } from './settings.ts';
import { transactionOn } from './transaction.ts';
import { Deadline } from '../../base/deadline.ts';

/** MariaDB, or MySQL and servers with its protocol. */
type ServerEngine = 'mysql' | 'mariadb';

const ASK_TIMEOUT_MS = 10_000;
/** A statement of Vitess only; it returns one row for each keyspace. */
const KEYSPACES = 'SHOW VSCHEMA KEYSPACES';

/**
 * Asks the server for its engine, since the URL may differ and TypeORM treats the schemas of MariaDB and MySQL
 * differently. Also asks whether it is a Vitess with tables on several shards.
 */
const askServer = async (pool: SessionPool): Promise<{ engine: ServerEngine; isSharded: boolean }> => {
  const deadline = new Deadline(ASK_TIMEOUT_MS);
  const [row] = (await pool.read('SELECT VERSION() AS version', [], deadline)) as { version: string }[];
  const { version = '' } = row ?? {};
  const keyspaces = /vitess/i.test(version)
    ? ((await pool.read(KEYSPACES, [], deadline)) as { Sharded: string }[])
    : [];
  return {
    engine: /mariadb/i.test(version) ? 'mariadb' : 'mysql',
    isSharded: keyspaces.some(({ Sharded }) => Sharded === 'true'),
  };
};

/**
 * The maximum number of connections of each workload. A workload that waits, such as for a locked table, does not block
 * the others. Twice as many readers were no faster; some connections are spare, since some may wait.
 */
const CONNECTIONS = {
  calls: { reads: 24, writes: 16 },
  keys: { reads: 2, writes: 0 },
  background: { reads: 1, writes: 2 },
  health: { reads: 1, writes: 1 },
} satisfies Record<Exclude<Workload, 'anonymous'>, { reads: number; writes: number }>;
/** Connections that cancel statements. */
const CONTROL_CONNECTIONS = 1;
/** A server's default limit is 16 382 for all its clients together. */
const MAX_PREPARED_STATEMENTS = 1500;
/** TypeORM's connections: one migrates. */
const MIGRATING_CONNECTIONS = 1;
/** The maximum number of connections of a process. If several servers are listed, one more checks the server in use. */
export const MOST_CONNECTIONS =
  Object.values(CONNECTIONS).reduce((sum, { reads, writes }) => sum + reads + writes, 0) +
  CONTROL_CONNECTIONS +
  MIGRATING_CONNECTIONS;
/** Health checks wait only 1 s for a lock: a table locked for a backup, say, does not make the database unhealthy. */
const HEALTH_SETTINGS = 'SET SESSION lock_wait_timeout = 1';
const CLOSE_GRACE_MS = 100;
/** How long reads use the primary after no replica was reachable. */
const REPLICA_PAUSE_MS = 1000;

/** The server's estimates, which it updates occasionally. */
const SIZE =
  'SELECT COALESCE(SUM(data_length + index_length), 0) AS bytes FROM information_schema.tables ' +
  'WHERE table_schema = DATABASE()';

/** Opens TypeORM's data source, by mysql2, with our settings applied to each connection before its first use. */
const openDataSource = async (
  { user, ...rest }: ServerAddress,
  engine: ServerEngine,
  schema: Schema,
): Promise<{ dataSource: DataSource; close: () => Promise<void> }> => {
  const connections = new Set<mysql.Connection>();
  const createPool = (options: mysql.PoolOptions): mysql.Pool => {
    const pool = mysql.createPool(options);
    pool.on('connection', (connection: mysql.PoolConnection) => {
      connections.add(connection);
      // The statement that waits for the connection fails with this error, too.
      applySettings(connection, connectionSettings(1)).catch(() => undefined);
    });
    return pool;
  };
  const dataSource = await new DataSource({
    ...rest,
    ...FORMAT,
    type: engine,
    username: user,
    driver: { ...mysql, createPool },
    poolSize: MIGRATING_CONNECTIONS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    entities: schema.entities(engine),
    migrations: schema.migrations,
    extra: { enableKeepAlive: true },
  } satisfies DataSourceOptions).initialize();
  // The sessions return instants as texts in UTC, which TypeORM would read as local time.
  const { driver } = dataSource;
  const hydrate = driver.prepareHydratedValue.bind(driver);
  driver.prepareHydratedValue = (value: unknown, column) =>
    hydrate(column.type === 'datetime' && typeof value === 'string' ? new Date(timeFromDb(value)) : value, column);
  const close = async (): Promise<void> => {
    await dataSource.destroy();
    // An unresponsive server would never close them.
    setTimeout(() => {
      for (const connection of connections) breakConnection(connection, connectionError('ECONNRESET', 'done'));
    }, CLOSE_GRACE_MS).unref();
  };
  return { dataSource, close };
};

/** Opens pools on the same hosts. A separate connection cancels their statements. */
class Pools {
  readonly #shared: Pick<SessionPoolOptions, 'hosts' | 'statements'>;
  readonly #options: DatabaseOptions;
  readonly #engine: ServerEngine;
  readonly #canceller: Canceller;
  readonly #opened: SessionPool[] = [];

  /** `control` is the observer's name for the pool that cancels; if undefined, that pool is not observed. */
  constructor(
    shared: Pick<SessionPoolOptions, 'hosts' | 'statements'>,
    engine: ServerEngine,
    options: DatabaseOptions,
    control?: string,
  ) {
    this.#shared = shared;
    this.#engine = engine;
    this.#options = options;
    const controlling = { limit: CONTROL_CONNECTIONS, settings: connectionSettings(1) };
    this.#canceller = createCanceller(this.#open(controlling, control));
  }

  /** Opens the pool of a workload for reads or writes, observed under the name `as`. */
  open(name: keyof typeof CONNECTIONS, use: 'reads' | 'writes', as = `${name}.${use}`): SessionPool {
    const { statementMs } = this.#options;
    const limit = CONNECTIONS[name][use];
    const isBounded = name !== 'background' && statementMs !== undefined;
    const settings = [
      // Without autocommit a transaction needs no round trip to begin.
      ...connectionSettings(use === 'reads' ? 1 : 0),
      ...(isBounded ? backstopSettings({ statementMs, engine: this.#engine }) : []),
      ...(name === 'health' ? [HEALTH_SETTINGS] : []),
    ];
    return this.#open({ limit, settings, canceller: this.#canceller }, limit === 0 ? undefined : as);
  }

  close(): void {
    for (const pool of this.#opened.toReversed()) pool.close();
  }

  #open(options: Omit<SessionPoolOptions, 'hosts' | 'statements' | 'observe'>, name: string | undefined): SessionPool {
    const { observer } = this.#options;
    const observe: SessionPoolOptions['observe'] =
      observer && name !== undefined ? (usage) => observer.pool(name, usage) : undefined;
    const pool = new SessionPool({ ...this.#shared, ...options, observe });
    this.#opened.push(pool);
    return pool;
  }
}

/**
 * Opens pools for reads on replicas. `areThere` is false while all replicas lag too far, and for `REPLICA_PAUSE_MS`
 * after all were unreachable.
 */
const openReplicas = (
  addresses: readonly ServerAddress[],
  statements: StatementBudget,
  engine: ServerEngine,
  options: DatabaseOptions,
  replicas: Replicas,
) => {
  const hosts = new Hosts(addresses, { needsPrimary: false, mayUse: (address) => replicas.isFresh(address) });
  const pools = new Pools({ hosts, statements }, engine, options);
  const reads = pools.open('calls', 'reads', 'replicas.reads');
  let awayUntil = 0;
  const read: Connection['read'] = async (sql, parameters, deadline) => {
    try {
      return await reads.read(sql, parameters, deadline);
    } catch (error) {
      if (faultOf(error)) awayUntil = currentTime() + REPLICA_PAUSE_MS;
      throw error;
    }
  };
  return {
    get areThere() {
      return currentTime() >= awayUntil && replicas.hasFresh;
    },
    lags: () => replicas.lags,
    read,
    close: () => {
      replicas.close();
      pools.close();
      hosts.close();
    },
  };
};

/** Connects to MySQL or MariaDB. @throws AddressError, AppError DATABASE_UNAVAILABLE */
export const openMysql = async (url: string, schema: Schema, options: DatabaseOptions = {}): Promise<Connection> => {
  const addresses = serverAddresses(url);
  const replicaAddresses = options.readUrl === undefined ? undefined : serverAddresses(options.readUrl);
  const hosts = new Hosts(addresses, { needsPrimary: true });
  const statements = new StatementBudget(MAX_PREPARED_STATEMENTS);
  const first = new SessionPool({ hosts, statements, limit: 1, settings: connectionSettings(1) });
  try {
    const { engine, isSharded } = await askServer(first);
    const { dataSource, close: closeDataSource } = await openDataSource((await hosts.locate()).address, engine, schema);
    const pools = new Pools({ hosts, statements }, engine, options, 'control');
    const poolsOf = (name: keyof typeof CONNECTIONS) => ({
      reads: pools.open(name, 'reads'),
      writes: pools.open(name, 'writes'),
    });
    const byWorkload = {
      calls: poolsOf('calls'),
      keys: poolsOf('keys'),
      background: poolsOf('background'),
      health: poolsOf('health'),
    };
    const readHealth = (sql: string): Promise<unknown[]> => byWorkload.health.reads.read(sql, []);
    const lags = replicaAddresses && new Replicas(replicaAddresses, readHealth, options);
    await lags?.measure();
    const replicas = lags && openReplicas(replicaAddresses, statements, engine, options, lags);
    return {
      dialect: dialectOf(engine, isSharded),
      dataSource,
      read: async (sql, parameters, deadline, workload = 'calls') => {
        if (workload !== 'anonymous') return byWorkload[workload].reads.read(sql, parameters, deadline);
        if (replicas?.areThere) {
          try {
            return await replicas.read(sql, parameters, deadline);
          } catch (error) {
            if (!faultOf(error)) throw error;
          }
        }
        return byWorkload.calls.reads.read(sql, parameters, deadline);
      },
      transaction: (work, deadline, workload = 'calls') =>
        transactionOn(
          byWorkload[workload === 'background' || workload === 'health' ? workload : 'calls'].writes,
          work,
          deadline,
        ),
      whileMigrating: (work) => whileMigrating(dataSource, isSharded, work),
      assertMayMigrate: async (direction) => {
        await assertMayMigrate(readHealth, engine, direction);
        if (direction === 'down') await assertNoneInterruptedEarlier(readHealth);
      },
      isTransient,
      isInterrupted,
      isForeignKeyError,
      faultOf,
      replicaLags: replicas?.lags,
      size: async (deadline) => {
        const [row] = (await byWorkload.background.reads.read(SIZE, [], deadline)) as { bytes: number | string }[];
        return { bytes: Number(row?.bytes) };
      },
      close: async () => {
        replicas?.close();
        pools.close();
        hosts.close();
        await closeDataSource();
      },
    };
  } catch (error) {
    hosts.close();
    const { code, message } = driverError(error);
    throw new AppError('DATABASE_UNAVAILABLE', {
      hint: `cannot use the database at ${hosts.places}/${addresses[0]?.database}: ${message || code}`,
      fault: faultOf(error),
      cause: error,
    });
  } finally {
    first.close();
  }
};
