import type { Caller } from '../../auth/verifier.ts';
import type { QueryLog } from './query-log.ts';
import type { RateLimitHeaders } from './rate-limit-headers.ts';

declare global {
  // eslint-disable-next-line typescript/no-namespace -- Express is extended in no other way.
  namespace Express {
    interface Locals {
      requestId: string;
      /** The trace that it belongs to, where that is known. */
      traceId?: string | undefined;
      /** The caller's address, as far as trusted proxies tell; empty where the caller has left already. */
      address: string;
      /** Headers that every reply has besides the request id: names and values in turn. */
      headers: readonly string[];
      /** The rate-limit headers, where callers have limits. */
      rateLimits?: RateLimitHeaders | undefined;
      /** The id of the procedure called, once it is known. */
      procedure?: string;
      caller?: Caller | undefined;
      /** The statements of the request, where slow requests are logged. */
      queries?: QueryLog | undefined;
      /** Whether the answer goes on until the caller leaves. */
      isStream?: boolean;
      /** The reason of the failure, for the log. */
      reason?: string;
    }
  }
}
