/** The usage of a pool of connections. */
export interface PoolUsage {
  used: number;
  idle: number;
  /** The limit. */
  limit: number;
  /** Requests waiting for a connection. */
  waiting: number;
}

/** Observes one statement, from its request on. */
export interface StatementObservation {
  /** The statement has a connection and is sent, to this server if there are several. */
  sent: (server?: { host: string; port: number }) => void;
  /** It is answered, or given up. */
  end: (error?: unknown) => void;
}

/** Watches the connections of one purpose. */
export interface PoolObserver {
  /** Somebody has waited for a connection for so many milliseconds, 0 where there was one, and has it, or has given up. */
  waited: (ms: number) => void;
  /** A statement is asked for, in whose turn it is by then: it may be sent in that of another. */
  statement: (sql: string) => StatementObservation;
}

/** Why something is run again: it lost to others, or the database was out of reach. */
export type RetryCause = 'conflict' | 'unreachable';

/** Watches what the database is asked, and how long that takes. */
export interface DatabaseObserver {
  /** There is a pool from now on; `usage` tells how it stands. */
  pool: (name: string, usage: () => PoolUsage) => PoolObserver;
  /** A read or a transaction is run again. */
  retried: (cause: RetryCause) => void;
  /** Returns what is to hear how many reads with this name each run answers. */
  coalesced: (reads: string) => (requests: number) => void;
}
