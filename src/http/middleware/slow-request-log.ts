import type { Response } from 'express';
import type { Logger } from 'pino';

/** Logs the statements of a slow request when it has ended. `slowMs` of 0 logs none. */
export const slowRequestLog =
  (log: Logger, slowMs: number) =>
  ({ locals }: Response, entry: { requestId: string; traceId: string | undefined; ms: number }): void => {
    if (slowMs === 0 || entry.ms < slowMs) return;
    const { procedure, reason, queries } = locals;
    const { requestId, traceId, ms } = entry;
    log.warn({ requestId, traceId, procedure, reason, ms, ...queries?.describe() }, 'slow request');
  };
