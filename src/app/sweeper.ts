import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { WritePause } from '../db/batching/write-buffer.ts';

const MINUTE_MS = 60_000;
/** The interval of sweeps; the first one comes within this time, too. */
const INTERVAL_MS = 5 * MINUTE_MS;
/** The pause between two removals, in which other work runs. */
const PAUSE_MS = 20;

/** A kind of rows that expire. */
export interface Expiring {
  /** The name of the rows, in the plural. */
  name: string;
  /** Removes some expired rows. Resolves to whether there may be more. */
  sweep: () => Promise<boolean>;
}

/** Removes expired rows in the background, in small batches. Any number of processes may run one. */
export class Sweeper {
  readonly #expiring: readonly Expiring[];
  readonly #log: Logger;
  readonly #intervalMs: number;
  readonly #pause: WritePause | undefined;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    expiring: readonly Expiring[],
    log: Logger,
    { intervalMs = INTERVAL_MS, pause }: { intervalMs?: number; pause?: WritePause } = {},
  ) {
    this.#expiring = expiring;
    this.#log = log;
    this.#intervalMs = intervalMs;
    this.#pause = pause;
  }

  /** Sweeps until it is closed. */
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
      if (!(await this.#pause?.isOn())) await this.#sweepAll();
      await this.#sleep(this.#intervalMs * (0.5 + Math.random()));
    }
  }

  async #sweepAll(): Promise<void> {
    for (const one of this.#expiring) await this.#sweep(one);
  }

  async #sweep({ name, sweep }: Expiring): Promise<void> {
    try {
      while (!this.#stop.signal.aborted && (await sweep())) await this.#sleep(PAUSE_MS);
    } catch (error) {
      this.#log.warn({ err: error }, `expired ${name} could not be removed yet`);
    }
  }

  /** Resolves after a time, or when the sweeper is closed. */
  async #sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal, ref: false }).catch(() => undefined);
  }
}
