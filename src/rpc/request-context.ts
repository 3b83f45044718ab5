import type { Deadline } from '../deadline.ts';
import type { Caller } from '../auth/verifier.ts';
import type { OnRateLimit } from '../rate-limit/limiter.ts';
import type { ConcurrencyLimiter } from '../overload/concurrency-limiter.ts';

/** What is known of a request before its body is read, whichever door it came through. All its calls share it. */
export interface RequestContext {
  authorization: string | undefined;
  /** Where a key came that is not read, in words; asked for only where there is no credential and one is needed. */
  keyElsewhere?: () => string | undefined;
  idempotencyKey: string | undefined;
  /** Whence it came, as far as trusted proxies tell. */
  address: string;
  /** How long the work on it may take. */
  deadline: Deadline;
  /** For how long it waited before any work on it, in milliseconds. */
  waitedMs?: number;
  /** Of a batch: the limiters that admitted one of its calls, which do not refuse the others. */
  admittedBy?: Set<ConcurrencyLimiter>;
  /** How many chunks its body came in. */
  chunks?: () => number;
  /** Hears who calls, before it is known whether they may. */
  onAuthenticated: (caller: Caller | undefined) => void;
  /** Hears how the caller stands to its limits. */
  onRateLimit: OnRateLimit;
  /** Hears that one of its calls was made before, and is answered as it was then. */
  onReplay: () => void;
}
