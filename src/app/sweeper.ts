import type { Logger } from 'pino';
import { randomNumber } from '../base/runtime.ts';
import { BackgroundJob } from '../base/background-job.ts';
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
  readonly #log: Logger;
  readonly #job: BackgroundJob;

  constructor(expiring: readonly Expiring[], log: Logger, { pause }: { pause?: WritePause } = {}) {
    this.#log = log;
    this.#job = new BackgroundJob({
      turn: async () => {
        if (!(await pause?.isOn())) for (const one of expiring) await this.#sweep(one);
        return INTERVAL_MS * (0.5 + randomNumber());
      },
      retryMs: INTERVAL_MS,
      log,
      failure: 'expired rows could not be removed yet',
    });
  }

  /** Sweeps until it is closed. */
  start(): void {
    // Processes that start together do not sweep together.
    this.#job.start(INTERVAL_MS * randomNumber());
  }

  /** Stops as soon as the removal under way has ended. */
  close(): Promise<void> {
    return this.#job.close();
  }

  async #sweep({ name, sweep }: Expiring): Promise<void> {
    try {
      while (!this.#job.signal.aborted && (await sweep())) await this.#job.pause(PAUSE_MS);
    } catch (error) {
      this.#log.warn({ err: error }, `expired ${name} could not be removed yet`);
    }
  }
}
