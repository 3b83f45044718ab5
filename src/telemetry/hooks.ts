import type { IncomingMessage } from 'node:http';
import type { DatabaseObserver } from '../db/observer.ts';
import type { AppError } from '../errors.ts';
import type { RateLimitObserver } from '../rate-limit/observer.ts';
import type { OverloadObserver } from '../overload/observer.ts';

/** Does a part of the work on something, so that whatever it begins is known to belong to that. */
type Within = <T>(work: () => T) => T;

/** Watches one HTTP request. */
export interface RequestObservation {
  within: Within;
  /** It is over; `status` is undefined where it was not answered as a whole. */
  end: (status: number | undefined) => void;
}

/** The groups of routes that telemetry tells apart: calls, assistants, health checks, and pages. */
export const ROUTE_GROUPS = ['trpc', 'mcp', 'health', 'site'] as const;
export type RouteGroup = (typeof ROUTE_GROUPS)[number];

/** What answers a request. */
export interface Route {
  group: RouteGroup;
  /** OpenTelemetry's `http.route`; pages have no pattern in common. */
  pattern?: string;
}

export interface RequestObserver {
  /** A request has come, and may have to wait before anything is done for it. */
  begin: (request: IncomingMessage, route: Route) => RequestObservation;
  /** Something was refused that could not be read as a request. */
  unreadable: (status: number) => void;
}

/** Watches one call of a procedure. It ends once, answered or failed. */
export interface CallObservation {
  within: Within;
  /** It sent so many bytes. */
  sent: (bytes: number) => void;
  /** It succeeded, with an answer of so many bytes. */
  answered: (bytes: number) => void;
  failed: (error: AppError) => void;
}

export interface CallObserver {
  /** A call begins; `procedure` is undefined for one of what does not exist. */
  begin: (procedure: string | undefined) => CallObservation;
  /** A write is answered as it was before. */
  replayed: (procedure: string) => void;
  /** A read is made, or takes the answer to an equal one. */
  shared: (outcome: 'made' | 'joined') => void;
}

/**
 * Watches the service at work: requests, their calls, and the statements of those, each from where it begins, in the
 * asynchronous context of what it belongs to. None of its functions may throw, or take long.
 */
export interface Observer extends RateLimitObserver {
  requests: RequestObserver;
  calls: CallObserver;
  overload: OverloadObserver;
  database: DatabaseObserver;
  /** The id of the trace that what is done now belongs to. */
  traceId?: () => string | undefined;
}

/** For calls that nobody watches. */
export const unobserved: CallObservation = {
  within: (work) => work(),
  sent: () => undefined,
  answered: () => undefined,
  failed: () => undefined,
};
