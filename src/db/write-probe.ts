import { setTimeout as sleep } from 'node:timers/promises';
import { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';

/** How long a database that took a write is believed to take others, and how long one that did not is not tried again. */
const WRITABLE_MS = 3000;
const UNWRITABLE_MS = 1000;
/** How long whoever asks waits for a trial. What it comes to later is for those who ask then. */
const PATIENCE_MS = 500;
/** How long a trial may take: a server whose disk is full may wait for room instead of saying so. */
const TRIAL_MS = 10_000;

/**
 * Knows whether a database takes writes: by a trial now and then, one at a time, and only while somebody asks. A database
 * answers reads just as well when its disk is full, or when it was told to take no writes.
 */
export class WriteProbe {
  readonly #trial: (deadline: Deadline) => Promise<unknown>;
  #fault: AppError | undefined;
  #knownUntil = 0;
  #trying: Promise<void> | undefined;

  /** `trial` stores something. @throws AppError OVERLOADED where others keep it from doing so, which says nothing */
  constructor(trial: (deadline: Deadline) => Promise<unknown>) {
    this.#trial = trial;
  }

  /** @throws AppError DATABASE_UNAVAILABLE when it takes none, as far as is known */
  async assert(): Promise<void> {
    if (performance.now() > this.#knownUntil) {
      this.#trying ??= this.#try().finally(() => (this.#trying = undefined));
      await Promise.race([this.#trying, sleep(PATIENCE_MS, undefined, { ref: false })]);
    }
    if (this.#fault) throw this.#fault;
  }

  /** Never rejects. */
  async #try(): Promise<void> {
    const deadline = new Deadline(TRIAL_MS);
    try {
      await this.#trial(deadline);
      this.#fault = undefined;
    } catch (cause) {
      const saysNothing = cause instanceof AppError && cause.reason === 'OVERLOADED';
      if (!saysNothing) {
        this.#fault = new AppError('DATABASE_UNAVAILABLE', { hint: 'The database takes no writes.', cause });
      }
    } finally {
      deadline.close();
    }
    this.#knownUntil = performance.now() + (this.#fault ? UNWRITABLE_MS : WRITABLE_MS);
  }
}
