import type { Connection, Pool, PoolConnection } from 'mysql2';

/** How long what a connection is used for may take in the database, where the one who waits for it did not break it off. */
export interface Backstops {
  /** Milliseconds. */
  statementMs: number;
  engine: 'mysql' | 'mariadb';
}

/** In the order in which the server is to take them: the character set of a connection brings a collation of its own. */
const variables = (autocommit: 0 | 1): Record<string, string | number> => ({
  character_set_client: 'utf8mb4',
  character_set_results: 'utf8mb4',
  character_set_connection: 'utf8mb4',
  collation_connection: 'utf8mb4_bin',
  time_zone: "'+00:00'",
  sql_mode: "'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
  autocommit,
  default_storage_engine: 'InnoDB',
  foreign_key_checks: 1,
  sql_safe_updates: 0,
});

/** A statement that sets up a connection, or those for Vitess and for all others. */
export type Setting = string | { readonly vitess: string | undefined; readonly others: string | undefined };

/** An older Vitess lacks some of those that are its own. */
const UNKNOWN_VARIABLE = 1193;

/** Without a limit; DEFAULT would be the server's. */
const NO_SELECT_LIMIT: Setting = {
  // It has none of its own, and with one of a session takes no GET_LOCK.
  vitess: undefined,
  others: 'SET SESSION sql_select_limit = 18446744073709551615',
};

/** Whether the handshake names Vitess; the driver's types leave the handshake out. */
const isVitess = (connection: object): boolean =>
  /vitess/i.test(
    // oxlint-disable-next-line no-underscore-dangle -- the driver shows it nowhere else
    (connection as { _handshakePacket?: { serverVersion?: string } })._handshakePacket?.serverVersion ?? '',
  );

/**
 * The settings of every connection, independent of the server's defaults. The service locks the rows it depends on; the gap
 * locks of REPEATABLE READ would only add deadlocks between toggles of different records.
 */
export const connectionSettings = (autocommit: 0 | 1): Setting[] => [
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE',
  `SET SESSION ${Object.entries(variables(autocommit))
    .map(([name, value]) => `${name} = ${value}`)
    .join(', ')}`,
  NO_SELECT_LIMIT,
];

/** Added to the caller's time limit, since ordinarily the caller cancels first. */
const BACKSTOP_MORE_MS = 1000;

/** The least `wait_timeout`, in seconds: longer than a pool keeps idle connections. */
const SILENCE_S = 120;

/**
 * The server's own time limits for statements and locks, in case this process is gone: a server does not notice that, and
 * would keep the locks for eight hours. MySQL's limit is for SELECT only.
 */
export const backstopSettings = ({ statementMs, engine }: Backstops): Setting[] => {
  const ms = statementMs + BACKSTOP_MORE_MS;
  const seconds = Math.ceil(ms / 1000);
  return [
    {
      vitess: `SET SESSION query_timeout = ${ms}`,
      others: `SET SESSION ${engine === 'mariadb' ? `max_statement_time = ${ms / 1000}` : `max_execution_time = ${ms}`}`,
    },
    // Vitess never closes an idle connection, whatever its settings, and keeps its transaction.
    { vitess: `SET SESSION transaction_timeout = ${ms}`, others: undefined },
    `SET SESSION innodb_lock_wait_timeout = ${seconds}, wait_timeout = ${Math.max(SILENCE_S, seconds)}`,
    ...(engine === 'mariadb' ? [`SET SESSION idle_transaction_timeout = ${seconds}`] : []),
  ];
};

/** Runs settings one after the other; a connection that refuses one is closed. */
export const applySettings = (
  connection: Connection,
  [setting, ...others]: readonly Setting[],
  done: (error: Error | null) => void,
): void => {
  if (setting === undefined) {
    done(null);
    return;
  }
  const goOn = (): void => applySettings(connection, others, done);
  const differs = typeof setting !== 'string';
  const isForVitess = differs && isVitess(connection);
  const sql = differs ? setting[isForVitess ? 'vitess' : 'others'] : setting;
  if (sql === undefined) {
    goOn();
    return;
  }
  connection.query(sql, (error) => {
    if (error && !(isForVitess && error.errno === UNKNOWN_VARIABLE)) {
      connection.destroy();
      done(error);
    } else {
      goOn();
    }
  });
};

/** Has a pool give out no connection before the settings hold on it. */
export const withSettings = (pool: Pool, settings: readonly Setting[]): Pool => {
  const isSet = new WeakSet<PoolConnection>();
  const getConnection = pool.getConnection.bind(pool);
  pool.getConnection = (callback) =>
    getConnection((error, connection) => {
      if (error || isSet.has(connection)) {
        callback(error, connection);
        return;
      }
      applySettings(connection, settings, (fault) => {
        if (!fault) isSet.add(connection);
        callback(fault, connection);
      });
    });
  return pool;
};
