import type { Logger } from 'pino';
import { clearTimeout, setTimeout } from './runtime.ts';

interface BackgroundJobOptions {
  /**
   * Does a part of the work. Resolves to the pause until the next turn, in milliseconds, or to undefined if no work
   * remains until the job is started again.
   */
  turn: () => Promise<number | undefined>;
  /** The pause after a failed turn, in milliseconds. */
  retryMs: number;
  log: Logger | undefined;
  /** The log message about a failure. A lasting failure is logged once. */
  failure: string;
  level?: 'warn' | 'debug';
}

/** Work in the background, in turns. The pauses between them can be ended early and do not keep the process alive. */
export class BackgroundJob {
  readonly #options: BackgroundJobOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  /** Whether it was started since the last turn began. */
  #isWanted = false;
  /** Whether it was woken since the last turn began. */
  #isWoken = false;
  #endPause: (() => void) | undefined;

  constructor(options: BackgroundJobOptions) {
    this.#options = options;
  }

  /** Aborted when the job is closed. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Runs until it is closed or no work remains. The first turn begins after `pauseMs`. */
  start(pauseMs = 0): void {
    this.#isWanted = true;
    this.#running ??= this.#run(pauseMs);
  }

  /** Ends the current pause, or skips the next one. */
  wake(): void {
    this.#isWoken = true;
    this.#endPause?.();
  }

  /** Stops after the current turn. Never rejects. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#endPause?.();
    await this.#running;
  }

  /** Resolves after a time in milliseconds, or when the job is woken or closed. */
  async pause(ms: number): Promise<void> {
    if (ms === 0 || this.#isWoken || this.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endPause = undefined;
  }

  async #run(firstMs: number): Promise<void> {
    const { turn, retryMs, log, failure, level = 'warn' } = this.#options;
    let isFailing = false;
    let pauseMs: number | undefined = firstMs;
    // A start during the end of the last turn makes it continue.
    while (pauseMs !== undefined || this.#isWanted) {
      await this.pause(pauseMs ?? 0);
      if (this.signal.aborted) return;
      this.#isWanted = false;
      this.#isWoken = false;
      try {
        pauseMs = await turn();
        isFailing = false;
      } catch (error) {
        if (!isFailing && !this.signal.aborted) log?.[level]({ err: error }, failure);
        isFailing = true;
        pauseMs = retryMs;
      }
    }
    this.#running = undefined;
  }
}
