import { clearTimeout, performance, randomNumber, setTimeout } from '../base/runtime.ts';
import type { Deadline } from '../base/deadline.ts';
import type { DatabaseFault } from '../base/errors.ts';
import type { DatabaseObserver, RetryCause } from '../base/observer.ts';

/** The maximum attempts of a transaction without a deadline that keeps losing conflicts. */
const MAX_ATTEMPTS = 12;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;
/** How long operations are retried while the database is unreachable, and the first pause. */
const UNREACHABLE_PATIENCE_MS = 700;
const UNREACHABLE_PAUSE_MS = 50;

/** Resolves after `ms` milliseconds, or when one of the deadlines ends. */
const pause = (ms: number, deadlines: readonly (Deadline | undefined)[]): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      for (const forget of forgets) forget?.();
      resolve();
    };
    const timer = setTimeout(done, ms);
    const forgets = deadlines.map((deadline) => deadline?.onEnd(done));
  });

/** Counts the attempts of an operation, and decides on retries. */
export class RetryPolicy {
  readonly #deadline: Deadline | undefined;
  readonly #closing: Deadline;
  readonly #observer: DatabaseObserver | undefined;
  #lost = 0;
  #pauses = 0;
  #unreachableSince: number | undefined;

  /** `closing` ends when the database is closed. */
  constructor(deadline: Deadline | undefined, closing: Deadline, observer: DatabaseObserver | undefined) {
    this.#deadline = deadline;
    this.#closing = closing;
    this.#observer = observer;
  }

  /** Pauses after a lost conflict, and resolves to whether to retry. */
  async afterConflict(): Promise<boolean> {
    this.#lost += 1;
    if (!this.#deadline && this.#lost === MAX_ATTEMPTS) return false;
    return this.#pause(FIRST_PAUSE_MS * 2 ** (this.#lost - 1), 'conflict');
  }

  /** Pauses while the database is unavailable, and resolves to whether to retry. */
  async afterFault(fault: DatabaseFault): Promise<boolean> {
    const now = performance.now();
    this.#unreachableSince ??= now;
    this.#pauses += 1;
    if (now - this.#unreachableSince >= UNREACHABLE_PATIENCE_MS) return false;
    return this.#pause(UNREACHABLE_PAUSE_MS * 2 ** (this.#pauses - 1), fault);
  }

  async #pause(ms: number, cause: RetryCause): Promise<boolean> {
    const ends = [this.#deadline, this.#closing];
    if (ends.some((deadline) => deadline?.error)) return false;
    await pause(Math.min(ms, LONGEST_PAUSE_MS) * (0.5 + randomNumber()), ends);
    if (ends.some((deadline) => deadline?.error)) return false;
    this.#observer?.retried(cause);
    return true;
  }
}
