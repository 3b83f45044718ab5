import type { Response } from 'express';
import type { Logger } from 'pino';

/** Says in the log what a request that took long did in the database, when it is over. `slowMs` of 0 says nothing. */
export const slowRequestLog =
  (log: Logger, slowMs: number) =>
  ({ locals }: Response, entry: { requestId: string; traceId: string | undefined; ms: number }): void => {
    if (slowMs === 0 || entry.ms < slowMs) return;
    const { procedure, reason, queries } = locals;
    const { requestId, traceId, ms } = entry;
    log.warn({ requestId, traceId, procedure, reason, ms, ...queries?.describe() }, 'slow request');
  };
