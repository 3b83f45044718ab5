/** The server's own time limit for the statements of a connection, in case the caller does not cancel them. */
export interface Backstops {
  /** Milliseconds. */
  statementMs: number;
  engine: 'mysql' | 'mariadb';
}

/** The session variables, in the order to set them: `character_set_connection` also sets a collation. */
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

/** A statement that sets up a connection, or one for Vitess and one for all other servers. */
export type Setting = string | { readonly vitess: string | undefined; readonly others: string | undefined };

/** Removes the row limit of SELECT; DEFAULT would be the server's limit. */
const NO_SELECT_LIMIT: Setting = {
  // Vitess has no such limit by default, and refuses GET_LOCK in a session that sets one.
  vitess: undefined,
  others: 'SET SESSION sql_select_limit = 18446744073709551615',
};

/**
 * The settings of every connection, independent of the server's defaults. The service locks the rows it depends on. The
 * gap locks of REPEATABLE READ would only add deadlocks between toggles of different records.
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

/** The minimum `wait_timeout`, in seconds: longer than a pool keeps idle connections. */
const SILENCE_S = 120;

/**
 * The server's own time limits for statements and locks, in case this process ends: a server does not detect that, and
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
