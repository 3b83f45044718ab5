/**
 * What is left to store what is buffered when requests took all the time there was to stop: it takes some milliseconds,
 * unless the database is away.
 */
const LAST_MS = 400;

/** The time to stop: that for requests, which storing and disconnecting share. */
export class StopTime {
  #end: number | undefined;
  readonly #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** It runs from now on, or in so many milliseconds, unless it does. */
  begin(delayMs = 0): void {
    this.#end ??= performance.now() + delayMs + this.#ms;
  }

  /** How many milliseconds are left for requests. */
  get left(): number {
    this.begin();
    return Math.max(0, (this.#end ?? 0) - performance.now());
  }

  /** How many are left to store what is buffered, and to disconnect. */
  get leftInAll(): number {
    this.begin();
    return Math.max(0, (this.#end ?? 0) + LAST_MS - performance.now());
  }
}
