import type { RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { currentDate, performance } from '../../base/runtime.ts';
import type { Config } from '../../config/config.ts';
import type { Observer } from '../../base/observer.ts';
import type { RecentRequests } from '../../telemetry/recent-requests.ts';
import { traceParentOf } from '../../telemetry/trace-context.ts';
import { isHealthCheck } from '../routes.ts';
import { requestIdOf } from '../message/request-id.ts';
import { QueryLog } from '../message/query-log.ts';

/** Logs the statements of a slow request when it has ended. `slowMs` of 0 logs none. */
const slowRequestLog =
  (log: Logger, slowMs: number) =>
  ({ locals }: Response, entry: { requestId: string; traceId: string | undefined; ms: number }): void => {
    if (slowMs === 0 || entry.ms < slowMs) return;
    const { procedure, reason, queries } = locals;
    const { requestId, traceId, ms } = entry;
    log.warn({ requestId, traceId, procedure, reason, ms, ...queries?.describe() }, 'slow request');
  };

const LOGGED_PATH_LENGTH = 200;
/** The message of the line of a request. */
export const REQUEST = 'request';
/** Longer than any address: proxies pass on what they receive. */
const ADDRESS_LENGTH = 64;

/**
 * Gives each request its id and trace, and logs the caller's address, as far as trusted proxies tell, and the outcome;
 * never key or body. `recent` keeps those that failed or were slow.
 */
export const requestLog = (
  log: Logger,
  { slowRequestMs }: Pick<Config, 'slowRequestMs'>,
  observer?: Pick<Observer, 'identified' | 'traceId'>,
  recent?: RecentRequests,
): RequestHandler => {
  const logSlow = slowRequestLog(log, slowRequestMs);
  return (request, response, next) => {
    const started = performance.now();
    const requestId = requestIdOf(request);
    response.locals.requestId = requestId;
    observer?.identified?.(requestId);
    const traceId = observer?.traceId?.() ?? traceParentOf(request.headers)?.traceId;
    response.locals.traceId = traceId;
    // Read now: a closed connection has no address, and below a mounted router the path is another.
    const { path } = request;
    const address = request.ip?.slice(0, ADDRESS_LENGTH) ?? '';
    response.locals.address = address;
    if (slowRequestMs > 0) response.locals.queries = new QueryLog();
    response.once('close', () => {
      const { procedure, caller, reason } = response.locals;
      const entry = {
        requestId,
        traceId,
        address,
        method: request.method,
        path: path.slice(0, LOGGED_PATH_LENGTH),
        procedure,
        status: response.statusCode,
        reason,
        userId: caller?.userId,
        keyId: caller?.key.id,
        ms: Math.round((performance.now() - started) * 10) / 10,
        // Members without a value are left out.
        aborted: response.writableFinished ? undefined : true,
      };
      // Load balancers ask for the state every second; a change of it is logged where it is found.
      log[isHealthCheck(path) ? 'debug' : 'info'](entry, REQUEST);
      const { isStream } = response.locals;
      if (!isStream) logSlow(response, entry);
      const ms = isStream ? 0 : entry.ms;
      recent?.note({ at: currentDate(), requestId, procedure, status: entry.status, reason, ms });
    });
    next();
  };
};
