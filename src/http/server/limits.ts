import { ANSWER_IDLE_SECONDS, HEADERS_SECONDS, REQUEST_SECONDS } from '../../../contract/index.ts';

/** What the HTTP edge of one process bears: times in milliseconds, sizes in bytes. */
export interface HttpServerLimits {
  /** Longer than the idle time of common load balancers, so that they close connections, not we under their requests. */
  keepAliveMs: number;
  /** Until the headers of a request must be there. */
  headersMs: number;
  /** Until a whole request must be there. */
  requestMs: number;
  /** How often requests are looked at that take too long. */
  checkMs: number;
  /** How long a caller may take nothing of its answer. */
  answerIdleMs: number;
  /** How often answers are looked at that callers do not take. */
  sweepMs: number;
  /** Answers that all callers together have yet to take: a dozen of the largest, or thousands of pages. */
  heldBytes: number;
  /** How long a refused connection stays half open, so that the refusal is read before it goes (RFC 9112, section 9.6). */
  lingerMs: number;
  /** How long a silent connection may live on while stopping: a request may be under way to it. */
  stopIdleMs: number;
}

const MIB = 1024 * 1024;

export const defaultLimits: HttpServerLimits = {
  keepAliveMs: 65_000,
  headersMs: HEADERS_SECONDS * 1000,
  requestMs: REQUEST_SECONDS * 1000,
  checkMs: 2000,
  answerIdleMs: ANSWER_IDLE_SECONDS * 1000,
  sweepMs: 250,
  heldBytes: 128 * MIB,
  lingerMs: 1000,
  stopIdleMs: 500,
};
