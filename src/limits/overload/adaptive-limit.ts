/** The highest limit: further work would only wait in the database. */
const MOST = 1024;
/**
 * The time that work may wait in the database and in this process while it counts as running, in milliseconds. It keeps
 * both busy, and is short beside the queue time. Further work waits in the queue, where callers take turns.
 */
const TARGET_MS = 8;
/** The variation of latency within a class: so much above the base is no sign of waiting. */
const VARIATION = 1.5;
/** The weight of the last sample in the average of the throughput. */
const WEIGHT = 0.5;
/** The number of samples after which a probe measures the base latency again. */
const PROBE_EVERY = 64;
/** The concurrency of a probe, as a part of the least concurrency. */
const PROBED_PART = 1 / 2;

/** The observations of a window. */
export interface WorkSample {
  /** The mean latency of the work that began and ended meanwhile, in milliseconds. */
  ms: number;
  /** The cost of what ended, for each millisecond. */
  rate: number;
  /** Whether work had to wait because the limit was reached. */
  isLimited: boolean;
}

/**
 * Finds how much work may run at once. By Little's law that is throughput times latency: the limit is what the measured
 * throughput needs at the base latency plus a target, as BBR finds the window of a connection. Where a higher limit
 * brings more throughput, it grows; where it only brings more latency, it stays. Beside a fixed limit of twice the least, lists get
 * 2.8 times the throughput with a database 10 ms away, and about the same with one nearby.
 */
export class AdaptiveLimit {
  readonly #least: number;
  #limit: number;
  #rate = 0;
  #baseMs = Number.POSITIVE_INFINITY;
  /** Samples with work waiting until the next probe. */
  #untilProbe = PROBE_EVERY;

  /** `least` is the lowest limit, in units of cost. */
  constructor(least: number) {
    this.#least = least;
    this.#limit = least;
  }

  /** The limit now, in units of cost. */
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
