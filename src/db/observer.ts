import type { DatabaseFault } from '../base/errors.ts';

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
  /** The statement was answered or cancelled. */
  end: (error?: unknown) => void;
}

/** Observes the connections of one pool. */
export interface PoolObserver {
  /** A call got a connection, or gave up, after waiting this long; 0 if one was idle. */
  waited: (ms: number) => void;
  /** Begins to observe a statement, in the context of its caller: it may be sent in that of another call. */
  statement: (sql: string) => StatementObservation;
}

/** Why a read or transaction is retried: it lost a conflict, or the database was unavailable. */
export type RetryCause = 'conflict' | DatabaseFault;

/** Observes statements, connections and retries of a database. */
export interface DatabaseObserver {
  /** Registers a pool; `usage` returns its current figures. */
  pool: (name: string, usage: () => PoolUsage) => PoolObserver;
  /** An attempt of a read or a transaction met an unavailable database. */
  failed: (fault: DatabaseFault) => void;
  /** A read or a transaction is retried. */
  retried: (cause: RetryCause) => void;
  /** Returns a function to call with the number of requests that each batch of these reads answers. */
  coalesced: (reads: string) => (requests: number) => void;
}
