import type { IncomingMessage } from 'node:http';
import type { AppError, DatabaseFault } from './errors.ts';

/** Runs work in the context of an observation, to which everything that the work begins then belongs. */
type Within = <T>(work: () => T) => T;

/** Observes one HTTP request. */
export interface RequestObservation {
  within: Within;
  /** The request ended; `status` is undefined if the answer is incomplete. */
  end: (status: number | undefined) => void;
}

/** The groups of routes that telemetry distinguishes: calls, streams, assistants, health checks, and pages. */
export const ROUTE_GROUPS = ['trpc', 'stream', 'mcp', 'health', 'site'] as const;
export type RouteGroup = (typeof ROUTE_GROUPS)[number];

/** The route of a request. */
export interface Route {
  group: RouteGroup;
  /** OpenTelemetry's `http.route`; pages have no common pattern. */
  pattern?: string;
}

export interface RequestObserver {
  /** A request has arrived, and may wait before any work on it. */
  begin: (request: IncomingMessage, route: Route) => RequestObservation;
  /** Input that is not an HTTP request was refused. */
  unreadable: (status: number) => void;
}

/** Observes one call of a procedure. It ends once, answered or failed. */
export interface CallObservation {
  within: Within;
  /** The size of the input. */
  sent: (bytes: number) => void;
  /** The call succeeded; `bytes` is the size of the answer. */
  answered: (bytes: number) => void;
  failed: (error: AppError) => void;
}

export interface CallObserver {
  /** A call begins; `procedure` is undefined if it does not exist. */
  begin: (procedure: string | undefined) => CallObservation;
  /** The stored answer of an earlier call answers a write. */
  replayed: (procedure: string) => void;
  /** A read makes a run, or joins an equal one. */
  shared: (outcome: 'made' | 'joined') => void;
}

/** The usage of a limiter. */
export interface LimiterUsage {
  /** The running work, in units of cost. */
  running: number;
  /** The limit, in units of cost. */
  capacity: number;
  /** The number of waiting pieces of work. */
  waiting: number;
}

/** Observes the work of one limiter. */
export interface LimiterObserver {
  /** Work begins, after `waitedMs` milliseconds in the queue. */
  began: (waitedMs: number) => void;
  refused: () => void;
}

/** Observes which work begins, and which is refused because of overload. */
export interface OverloadObserver {
  /** A limiter was made; `usage` returns its state. */
  limiter: (name: string, usage: () => LimiterUsage) => LimiterObserver;
  /** A request was refused before it was authenticated or read. */
  shed: () => void;
}

/** The usage of a pool of connections. */
export interface PoolUsage {
  used: number;
  idle: number;
  /** The limit. */
  limit: number;
  /** The requests that wait for a connection. */
  waiting: number;
}

/** Observes one statement, from its request on. */
export interface StatementObservation {
  /** The statement got a connection and is sent, to this server if several exist. */
  sent: (server?: { host: string; port: number }) => void;
  /** The statement was answered or cancelled. */
  end: (error?: unknown) => void;
}

/** Observes the connections of one pool. */
export interface PoolObserver {
  /** A call got a connection, or gave up, after waiting for this time; 0 if a connection was idle. */
  waited: (ms: number) => void;
  /** Begins to observe a statement, in the context of its caller. It may be sent in the context of another call. */
  statement: (sql: string) => StatementObservation;
}

/** The cause of a retry of a read or transaction: it lost a conflict, or the database was unavailable. */
export type RetryCause = 'conflict' | DatabaseFault;

/** Observes statements, connections and retries of a database. */
export interface DatabaseObserver {
  /** Registers a pool; `usage` returns its current figures. */
  pool: (name: string, usage: () => PoolUsage) => PoolObserver;
  /** An attempt of a read or a transaction met an unavailable database. */
  failed: (fault: DatabaseFault) => void;
  /** A read or a transaction is retried. */
  retried: (cause: RetryCause) => void;
  /** Returns a function that accepts, for each batch of these reads, the number of requests that it answers. */
  coalesced: (reads: string) => (requests: number) => void;
}

/** Observes one round trip to Redis. It ends once, answered or failed. */
export interface RoundTripObservation {
  /** Redis answered; `refusal` is the first word of its error, such as NOSCRIPT. */
  answered: (refusal?: string) => void;
  /** Redis did not answer in time. */
  failed: (error: unknown) => void;
}

/** Observes the commands that calls send to Redis. */
export interface RedisObserver {
  /** Called when a command is sent. */
  sent: (command: string) => RoundTripObservation;
}

/**
 * Observes the service: requests, their calls, and the calls' statements, each in the asynchronous context of its
 * parent. Its functions must not throw, and must return quickly.
 */
export interface Observer {
  requests: RequestObserver;
  calls: CallObserver;
  overload: OverloadObserver;
  database: DatabaseObserver;
  redis?: RedisObserver | undefined;
  /** A policy of the rate limits refuses a caller. */
  limited: (policy: string) => void;
  /** The current request has this id. */
  identified?: (requestId: string) => void;
  /** The id of the current trace. */
  traceId?: () => string | undefined;
}

/** The observation of calls without telemetry. */
export const unobserved: CallObservation = {
  within: (work) => work(),
  sent: () => undefined,
  answered: () => undefined,
  failed: () => undefined,
};
