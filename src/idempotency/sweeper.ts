import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Lane } from '../db/database.ts';
import { sweepRecords } from './records.ts';

const MINUTE_MS = 60_000;
/** Between two looks for what has expired; the first one comes within this time, too. */
const INTERVAL_MS = 5 * MINUTE_MS;
/** Between two removals, so that others get their turn. */
const PAUSE_MS = 50;

/** Removes the records of what can no longer be repeated, in the background. Any number of processes may run one. */
export class Sweeper {
  readonly #db: Lane;
  readonly #now: () => Date;
  readonly #log: Logger;
  readonly #intervalMs: number;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(db: Lane, now: () => Date, log: Logger, intervalMs = INTERVAL_MS) {
    this.#db = db;
    this.#now = now;
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
      await this.#sweep();
      await this.#sleep(this.#intervalMs * (0.5 + Math.random()));
    }
  }

  async #sweep(): Promise<void> {
    try {
      while (!this.#stop.signal.aborted && (await sweepRecords(this.#db, this.#now()))) await this.#sleep(PAUSE_MS);
    } catch (error) {
      this.#log.warn({ err: error }, 'expired idempotency records could not be removed yet');
    }
  }

  /** Until then, or until it is closed. */
  async #sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal, ref: false }).catch(() => undefined);
  }
}
