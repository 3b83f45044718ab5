import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { holdsKey } from '../../../contract/index.ts';
import type { QueryRecorder } from '../../base/deadline.ts';
import { currentDate, performance, randomUUID } from '../../base/runtime.ts';
import type { Config } from '../../config/config.ts';
import type { Observer } from '../../base/observer.ts';
import { traceParentOf } from '../../base/trace-context.ts';
import { isHealthCheck } from './preconditions.ts';
import { stateOf } from '../message/request-state.ts';

/** The number of failures kept for each reason, and of slow requests kept in total. */
const KEPT_OF_REASON = 5;
const KEPT_SLOW = 20;

/** A request that failed or was slow. */
export interface RecentRequest {
  at: Date;
  requestId: string;
  /** The called procedure, if any. */
  procedure: string | undefined;
  status: number;
  reason: string | undefined;
  ms: number;
}

/** The number of failures for one reason since the process started, and the last of them, latest first. */
export interface RecentFailures {
  reason: string;
  total: number;
  last: RecentRequest[];
}

/** Keeps the last failures by reason and the last slow requests, for operators. Its memory is limited. */
export class RecentRequests {
  readonly #failures = new Map<string, RecentFailures>();
  readonly #slow: RecentRequest[] = [];
  readonly #slowMs: number;

  /** Requests that take at least `slowMs` are slow; with 0, none are. */
  constructor(slowMs: number) {
    this.#slowMs = slowMs;
  }

  /** The failures by reason, the most frequent first. */
  get failures(): readonly RecentFailures[] {
    return [...this.#failures.values()].toSorted((a, b) => b.total - a.total);
  }

  /** The slow requests, latest first. */
  get slow(): readonly RecentRequest[] {
    return this.#slow;
  }

  note(request: RecentRequest): void {
    if (request.reason !== undefined) this.#noteFailure(request.reason, request);
    if (this.#slowMs > 0 && request.ms >= this.#slowMs) keep(this.#slow, request, KEPT_SLOW);
  }

  /** Its size is limited by the number of reasons in the contract. */
  #noteFailure(reason: string, request: RecentRequest): void {
    const failures = this.#failures.get(reason) ?? { reason, total: 0, last: [] };
    this.#failures.set(reason, failures);
    failures.total += 1;
    keep(failures.last, request, KEPT_OF_REASON);
  }
}

const keep = (requests: RecentRequest[], request: RecentRequest, limit: number): void => {
  requests.unshift(request);
  requests.length = Math.min(requests.length, limit);
};

const USABLE_ID = /^[\w.:-]{1,128}$/;

/** The id of a request: its `X-Request-Id` if usable, else a new one. */
export const requestIdOf = ({ headers: { 'x-request-id': given } }: IncomingMessage): string =>
  typeof given === 'string' && USABLE_ID.test(given) && !holdsKey(given) ? given : randomUUID();

/** The most statements in a log line, slowest first, and the length of each. */
const MOST_SHOWN = 10;
const SHOWN_LENGTH = 300;
/** The most recorded statements of one request; further ones are only counted. */
const MOST_KEPT = 1000;

interface LoggedQuery {
  sql: string;
  ms: number;
}

const round = (ms: number): number => Math.round(ms * 10) / 10;

/** The statements of a request: their texts, which hold no values, and the milliseconds of each. */
class QueryLog implements QueryRecorder {
  readonly #runs: LoggedQuery[] = [];
  #count = 0;
  #ms = 0;

  add(sql: string, ms: number): void {
    this.#count += 1;
    this.#ms += ms;
    if (this.#runs.length < MOST_KEPT) this.#runs.push({ sql, ms });
  }

  /** Members for the log. Statements may run concurrently, so their sum may exceed the time of the request. */
  describe(): object {
    const slowest = this.#runs.toSorted((a, b) => b.ms - a.ms).slice(0, MOST_SHOWN);
    return {
      sqlCount: this.#count,
      sqlMs: round(this.#ms),
      statements: slowest.map(({ sql, ms }) => ({
        ms: round(ms),
        text: sql.replaceAll(/\s+/g, ' ').trim().slice(0, SHOWN_LENGTH),
      })),
    };
  }
}

const LOGGED_PATH_LENGTH = 200;
/** The message of a request's log line. */
export const REQUEST = 'request';
/** Longer than any address. The limit is for proxies that pass on any text. */
const ADDRESS_LENGTH = 64;

/**
 * Gives each request its id and trace, and logs the caller's address according to trusted proxies, and the outcome. It
 * never logs a key or a body. `recent` keeps the failed and the slow requests.
 */
export const requestLog =
  (
    log: Logger,
    { slowRequestMs }: Pick<Config, 'slowRequestMs'>,
    observer?: Pick<Observer, 'identified' | 'traceId'>,
    recent?: RecentRequests,
  ): RequestHandler =>
  (request, response, next) => {
    const started = performance.now();
    const state = stateOf(request);
    response.locals.state = state;
    const requestId = requestIdOf(request);
    state.requestId = requestId;
    observer?.identified?.(requestId);
    state.traceId = observer?.traceId?.() ?? traceParentOf(request.headers)?.traceId;
    // Read now: a closed connection has no address, and a mounted router changes the path.
    const { path } = request;
    state.address = request.ip?.slice(0, ADDRESS_LENGTH) ?? '';
    const queries = slowRequestMs > 0 ? new QueryLog() : undefined;
    state.queries = queries;
    response.once('close', () => {
      state.endTime(response.writableFinished);
      const { traceId, address, procedure, caller, reason, isStream } = state;
      const status = response.statusCode;
      const ms = round(performance.now() - started);
      const entry = {
        requestId,
        traceId,
        address,
        method: request.method,
        path: path.slice(0, LOGGED_PATH_LENGTH),
        procedure,
        status,
        reason,
        userId: caller?.userId,
        keyId: caller?.key.id,
        ms,
        // Members without a value are omitted.
        aborted: response.writableFinished ? undefined : true,
      };
      // Load balancers check the state every second. The check itself logs changes.
      log[isHealthCheck(path) ? 'debug' : 'info'](entry, REQUEST);
      if (queries && !isStream && ms >= slowRequestMs) {
        log.warn({ requestId, traceId, procedure, reason, ms, ...queries.describe() }, 'slow request');
      }
      recent?.note({ at: currentDate(), requestId, procedure, status, reason, ms: isStream ? 0 : ms });
    });
    next();
  };
