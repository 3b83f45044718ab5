import { performance } from '../base/runtime.ts';

/**
 * The time for storing buffered changes after requests used up the stop time. Storing takes milliseconds, unless the
 * database is unavailable.
 */
const LAST_MS = 400;

/** The milliseconds after the stop time within which the last lines of the log must be written. */
export const LOG_END_MS = 300;

/** The time limit of a stop, which requests, storing and disconnecting share. */
export class StopTime {
  #end: number | undefined;
  readonly #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Starts the time after a delay, unless it has started. */
  begin(delayMs = 0): void {
    this.#end ??= performance.now() + delayMs + this.#ms;
  }

  /** The milliseconds left for requests. */
  get left(): number {
    this.begin();
    return Math.max(0, (this.#end ?? 0) - performance.now());
  }

  /** The milliseconds left to store buffered changes and to disconnect. */
  get leftInAll(): number {
    this.begin();
    return Math.max(0, (this.#end ?? 0) + LAST_MS - performance.now());
  }
}
