/** More than so many at once would only wait elsewhere. */
const MOST = 1024;
/**
 * How long work may wait in the database and in this process while it counts as running, in milliseconds: enough to keep both
 * busy, and little beside what callers may wait. What must wait longer waits in the queue, where callers take turns.
 */
const TARGET_MS = 8;
/** Work of one class does not take equally long: so much more than the base is no sign of waiting. */
const VARIATION = 1.5;
/** The weight of the last sample in the average of the throughput. */
const WEIGHT = 0.5;
/** The number of samples after which a probe measures the base latency again. */
const PROBE_EVERY = 64;
/** The concurrency of a probe, as a part of the least concurrency. */
const PROBED_PART = 1 / 2;

/** What was observed for a while. */
export interface WorkSample {
  /** The mean latency of the work that began and ended meanwhile, in milliseconds. */
  ms: number;
  /** The cost of what ended, for each millisecond. */
  rate: number;
  /** Whether work had to wait because the limit was reached. */
  isLimited: boolean;
}

/**
 * How much work runs at once. By Little's law that is the throughput times the latency: the limit is what the measured
 * throughput needs at the latency of little load (the base) and a target above it, as BBR finds the window of a connection.
 * Where a higher limit brings a higher throughput, it grows; where it only brings a higher latency, it stays.
 */
export class AdaptiveLimit {
  readonly #least: number;
  #limit: number;
  #rate = 0;
  #baseMs = Number.POSITIVE_INFINITY;
  /** Samples with work waiting until the next probe. */
  #untilProbe = PROBE_EVERY;

  /** `least`: what always may run, in units of cost. */
  constructor(least: number) {
    this.#least = least;
    this.#limit = least;
  }

  /** How much may run now, in units of cost. */
  get value(): number {
    return this.#isProbing ? this.#least * PROBED_PART : this.#limit;
  }

  /** The limit outside of probes, in units of cost. */
  get usual(): number {
    return this.#limit;
  }

  get #isProbing(): boolean {
    return this.#untilProbe === 0;
  }

  note({ ms, rate, isLimited }: WorkSample): void {
    if (this.#isProbing) {
      this.#baseMs = ms;
      this.#untilProbe = PROBE_EVERY;
      return;
    }
    this.#baseMs = Math.min(this.#baseMs, ms);
    if (!isLimited) return;
    this.#rate += WEIGHT * (rate - this.#rate);
    const limit = Math.ceil(Math.max(rate, this.#rate) * (this.#baseMs * VARIATION + TARGET_MS));
    this.#limit = Math.min(Math.max(limit, this.#least), MOST);
    this.#untilProbe -= 1;
  }
}
