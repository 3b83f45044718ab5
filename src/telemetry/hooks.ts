import type { IncomingMessage } from 'node:http';
import type { DatabaseObserver } from '../db/observer.ts';
import type { AppError } from '../base/errors.ts';
import type { RateLimitObserver } from '../limits/rate-limit/limits.ts';
import type { OverloadObserver } from '../limits/overload/overload-protection.ts';

/** Runs work in the context of an observation, so that what it begins belongs to it. */
type Within = <T>(work: () => T) => T;

/** Observes one HTTP request. */
export interface RequestObservation {
  within: Within;
  /** The request ended; `status` is undefined where the answer was not complete. */
  end: (status: number | undefined) => void;
}

/** The groups of routes that telemetry tells apart: calls, streams, assistants, health checks, and pages. */
export const ROUTE_GROUPS = ['trpc', 'stream', 'mcp', 'health', 'site'] as const;
export type RouteGroup = (typeof ROUTE_GROUPS)[number];

/** The route of a request. */
export interface Route {
  group: RouteGroup;
  /** OpenTelemetry's `http.route`; pages have no pattern in common. */
  pattern?: string;
}

export interface RequestObserver {
  /** A request has arrived, and may wait before any work on it. */
  begin: (request: IncomingMessage, route: Route) => RequestObservation;
  /** Input was refused that is not an HTTP request. */
  unreadable: (status: number) => void;
}

/** Observes one call of a procedure. It ends once, answered or failed. */
export interface CallObservation {
  within: Within;
  /** The size of the input. */
  sent: (bytes: number) => void;
  /** The call succeeded; the size of the answer. */
  answered: (bytes: number) => void;
  failed: (error: AppError) => void;
}

export interface CallObserver {
  /** A call begins; `procedure` is undefined where it does not exist. */
  begin: (procedure: string | undefined) => CallObservation;
  /** A write is answered with its stored answer. */
  replayed: (procedure: string) => void;
  /** A read makes a run, or joins an equal one. */
  shared: (outcome: 'made' | 'joined') => void;
}

/**
 * Observes the service: requests, their calls, and the statements of those, each in the asynchronous context of its
 * parent. Its functions must not throw, nor take long.
 */
export interface Observer extends RateLimitObserver {
  requests: RequestObserver;
  calls: CallObserver;
  overload: OverloadObserver;
  database: DatabaseObserver;
  /** The current request has got this id. */
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
