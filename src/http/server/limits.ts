import { ANSWER_IDLE_SECONDS, HEADERS_SECONDS, REQUEST_SECONDS } from '../../../contract/index.ts';

/** The limits of the HTTP server of one process: times in milliseconds, sizes in bytes. */
export interface HttpServerLimits {
  /**
   * Longer than the idle time of common load balancers, so that they close connections, and no request arrives on a
   * closing one.
   */
  keepAliveMs: number;
  /** The time in which the headers of a request must arrive. */
  headersMs: number;
  /** The time in which a whole request must arrive. */
  requestMs: number;
  /** The interval of checks of slow requests. */
  checkMs: number;
  /** The time in which a caller must read some of its answer. */
  answerIdleMs: number;
  /** The interval of checks of unread answers. */
  sweepMs: number;
  /** The bytes of unread answers of all callers: a dozen of the largest, or thousands of pages. */
  heldBytes: number;
  /** The longest time that a refused connection stays half open, so that the refusal is read (RFC 9112, section 9.6). */
  lingerMs: number;
  /** The time that an idle connection stays open at a stop: a request may be arriving. */
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
  lingerMs: 5000,
  stopIdleMs: 500,
};
