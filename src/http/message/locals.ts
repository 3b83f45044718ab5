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
      /** Whence it came, as far as trusted proxies tell; empty where its caller has left already. */
      address: string;
      /** Headers that every reply has besides the request id: names and values in turn. */
      headers: readonly string[];
      /** How the caller stands to its limits, where there are any. */
      rateLimits?: RateLimitHeaders | undefined;
      /** The id of the procedure called, once it is known. */
      procedure?: string;
      caller?: Caller | undefined;
      /** What it asked the database, where somebody wants to know that of slow requests. */
      queries?: QueryLog | undefined;
      /** Why the request failed, for the log. */
      reason?: string;
    }
  }
}
