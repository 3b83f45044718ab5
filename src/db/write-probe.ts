import { performance, sleep } from '../base/runtime.ts';
import { Deadline } from '../base/deadline.ts';
import { AppError } from '../base/errors.ts';

/** How long the result of a successful trial is valid, and that of a failed one. */
const WRITABLE_MS = 3000;
const UNWRITABLE_MS = 1000;
/** How long a check waits for the trial. A late result serves later checks. */
const PATIENCE_MS = 500;
/** The time limit of a trial: a server with a full disk may wait for room instead of failing. */
const TRIAL_MS = 10_000;

/**
 * Tests whether a database takes writes, by occasional trial writes: one at a time, and only when a check asks for one.
 * A database with a full disk, or in read-only mode, still answers reads.
 */
export class WriteProbe {
  readonly #trial: (deadline: Deadline) => Promise<unknown>;
  #fault: AppError | undefined;
  #knownUntil = 0;
  #trying: Promise<void> | undefined;

  /** `trial` writes something. If it throws the AppError OVERLOADED, the last result still counts. */
  constructor(trial: (deadline: Deadline) => Promise<unknown>) {
    this.#trial = trial;
  }

  /** @throws AppError DATABASE_UNAVAILABLE when the last trial failed */
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
