import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

const MINUTE_MS = 60_000;
/** Between two looks for what has expired; the first one comes within this time, too. */
const INTERVAL_MS = 5 * MINUTE_MS;
/** Between two removals, so that others get their turn. */
const PAUSE_MS = 20;

/** Something that expires. */
export interface Expiring {
  /** What it is, in the plural. */
  what: string;
  /** Removes some that have expired. Resolves to whether there may be more. */
  sweep: () => Promise<boolean>;
}

/** Removes what has expired, in the background, a little at a time. Any number of processes may run one. */
export class Sweeper {
  readonly #expiring: readonly Expiring[];
  readonly #log: Logger;
  readonly #intervalMs: number;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(expiring: readonly Expiring[], log: Logger, intervalMs = INTERVAL_MS) {
    this.#expiring = expiring;
    this.#log = log;
    this.#intervalMs = intervalMs;
  }

  /** Works until it is closed. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Stops as soon as the removal under way has ended. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    // Processes that start together do not sweep together.
    await this.#sleep(this.#intervalMs * Math.random());
    while (!this.#stop.signal.aborted) {
      for (const one of this.#expiring) await this.#sweep(one);
      await this.#sleep(this.#intervalMs * (0.5 + Math.random()));
    }
  }

  async #sweep({ what, sweep }: Expiring): Promise<void> {
    try {
      while (!this.#stop.signal.aborted && (await sweep())) await this.#sleep(PAUSE_MS);
    } catch (error) {
      this.#log.warn({ err: error }, `expired ${what} could not be removed yet`);
    }
  }

  /** Until then, or until it is closed. */
  async #sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal, ref: false }).catch(() => undefined);
  }
}
