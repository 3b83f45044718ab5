import { AppError } from './errors.ts';

type Listener = (error: AppError) => void;

/**
 * The time that a piece of work has. It ends when that is over, or sooner, when nobody waits for the result any more. Not
 * an `AbortSignal`, which costs ten times as much, and several of which cannot be joined so that all must end.
 */
export class Deadline {
  /** Hears of milliseconds that were worked within this time, for whoever is to pay for them. */
  bill: ((ms: number) => void) | undefined;
  /** Hears of each statement that was run within this time, and how long it took, in milliseconds, with waiting. */
  observe: ((sql: string, ms: number) => void) | undefined;
  #error: AppError | undefined;
  readonly #ms: number | undefined;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #listeners = new Set<Listener>();

  /** Without `ms`, milliseconds from now, it ends only when it is told to. */
  constructor(ms?: number) {
    this.#ms = ms;
    if (ms === undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(() => this.end(), ms).unref();
  }

  /**
   * The time that several have together: over when it is over for each of them. Undefined when one of them, undefined,
   * has all the time there is. To be closed when the work is done.
   */
  static ofAll(deadlines: readonly (Deadline | undefined)[]): Deadline | undefined {
    const [first] = deadlines;
    if (deadlines.length <= 1) return first;
    const all = new Deadline();
    let left = deadlines.length;
    const forget: (() => void)[] = [];
    for (const deadline of deadlines) {
      if (!deadline) return undefined;
      if (deadline.error) left -= 1;
      else {
        forget.push(
          deadline.onEnd((error) => {
            left -= 1;
            if (left === 0) all.end(error);
          }),
        );
      }
    }
    // Each pays a share of what is done for all of them.
    all.bill = (ms) => {
      for (const deadline of deadlines) deadline?.bill?.(ms / deadlines.length);
    };
    if (deadlines.some((deadline) => deadline?.observe)) {
      all.observe = (sql, ms) => {
        for (const deadline of deadlines) deadline?.observe?.(sql, ms);
      };
    }
    all.close = () => {
      for (const one of forget) one();
    };
    if (left === 0) all.end(deadlines.at(-1)?.error);
    return all;
  }

  /** Why the work is to be given up, once it is. */
  get error(): AppError | undefined {
    return this.#error;
  }

  /** The milliseconds until it ends. */
  get leftMs(): number {
    return this.#ms === undefined ? Number.POSITIVE_INFINITY : this.#since + this.#ms - performance.now();
  }

  /** @throws AppError TIMEOUT, or what it ended with, when it has ended */
  assert(): void {
    if (this.#error) throw this.#error;
  }

  /** Has `listener` called when it ends, at once where it has. Returns a function that takes this back. */
  onEnd(listener: Listener): () => void {
    if (this.#error) {
      listener(this.#error);
      return () => undefined;
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Bills the time since `began`, by `performance.now`, but no more than so many milliseconds: that a database stands
   * still, or a row is locked, is not the doing of whoever waits.
   */
  billSince(began: number, mostMs: number): void {
    this.bill?.(Math.min(performance.now() - began, mostMs));
  }

  /** Ends it, unless it has. */
  end(error = new AppError('TIMEOUT')): void {
    if (this.#error) return;
    this.#error = error;
    this.close();
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener(error);
  }

  /** What `work` comes to, or the error at the end. Work that can be broken off has to listen by itself. */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.onEnd(reject);
      work.finally(forget).then(resolve, reject);
    });
  }

  /** Has it end as long from now as it had at first. */
  restart(): void {
    if (this.#error) return;
    this.#since = performance.now();
    this.#timer?.refresh();
  }

  /** Has it never end, for work that is done. */
  close(): void {
    clearTimeout(this.#timer);
  }
}
