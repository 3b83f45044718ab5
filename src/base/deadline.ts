import { clearTimeout, performance, setTimeout } from './runtime.ts';
import { AppError } from './errors.ts';

type Listener = (error: AppError) => void;

/** Adds up the cost of work, in milliseconds. */
export interface Meter {
  add: (ms: number) => void;
}

/** Records statements, each with its milliseconds, including its waits. */
export interface QueryRecorder {
  add: (sql: string, ms: number) => void;
}

interface Records {
  meter?: Meter | undefined;
  queries?: QueryRecorder | undefined;
}

/**
 * The time limit of a piece of work, with the meters that record its cost. It ends when the time is over, or earlier if
 * the caller leaves. An `AbortSignal` would cost ten times as much, and several cannot be combined into one that ends
 * only after all.
 */
export class Deadline {
  /** Adds up the cost of the work, for the caller who pays. */
  readonly meter: Meter | undefined;
  /** Records the statements of the work. */
  readonly queries: QueryRecorder | undefined;
  #error: AppError | undefined;
  readonly #ms: number | undefined;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #listeners = new Set<Listener>();

  /** If `ms` is undefined, it ends only by `end`; else, `ms` milliseconds from now. */
  constructor(ms?: number, { meter, queries }: Records = {}) {
    this.meter = meter;
    this.queries = queries;
    this.#ms = ms;
    if (ms === undefined) return;
    this.#since = performance.now();
    this.#timer = setTimeout(() => this.end(), ms).unref();
  }

  /**
   * The deadline of work that several callers share: it ends when all theirs have ended, and each meter adds an equal
   * part. Undefined if one has no limit, so that its deadline is undefined. The caller closes it when the work is done.
   */
  static ofAll(deadlines: readonly (Deadline | undefined)[]): Deadline | undefined {
    const [first] = deadlines;
    if (deadlines.length <= 1) return first;
    const recorders = deadlines.flatMap((deadline) => deadline?.queries ?? []);
    const all = new Deadline(undefined, {
      meter: {
        add: (ms) => {
          for (const deadline of deadlines) deadline?.meter?.add(ms / deadlines.length);
        },
      },
      queries:
        recorders.length === 0
          ? undefined
          : {
              add: (sql, ms) => {
                for (const recorder of recorders) recorder.add(sql, ms);
              },
            },
    });
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
    all.close = () => {
      for (const one of forget) one();
    };
    if (left === 0) all.end(deadlines.at(-1)?.error);
    return all;
  }

  /** The error that it ended with, if it has ended. */
  get error(): AppError | undefined {
    return this.#error;
  }

  /** The milliseconds until it ends. */
  get leftMs(): number {
    return this.#ms === undefined ? Number.POSITIVE_INFINITY : this.#since + this.#ms - performance.now();
  }

  /** @throws AppError TIMEOUT, or the error that it ended with */
  assert(): void {
    if (this.#error) throw this.#error;
  }

  /** Calls `listener` when it ends, at once if it has ended. Returns a function that removes the listener. */
  onEnd(listener: Listener): () => void {
    if (this.#error) {
      listener(this.#error);
      return () => undefined;
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Adds the time since `began`, by `performance.now`, to the meter, but at most `mostMs`: callers do not pay for a
   * stalled database, nor for a row that others lock.
   */
  chargeSince(began: number, mostMs: number): void {
    this.meter?.add(Math.min(performance.now() - began, mostMs));
  }

  /** Ends it, if it has not ended. */
  end(error = new AppError('TIMEOUT')): void {
    if (this.#error) return;
    this.#error = error;
    this.close();
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener(error);
  }

  /** Settles as `work` does, or rejects at the end. Work that can be cancelled listens by itself. */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.onEnd(reject);
      const settle = async (): Promise<void> => {
        try {
          resolve(await work);
        } catch (error) {
          reject(error);
        } finally {
          forget();
        }
      };
      void settle();
    });
  }

  /** Restarts the time. */
  restart(): void {
    if (this.#error) return;
    this.#since = performance.now();
    this.#timer?.refresh();
  }

  /** Stops the time after the work is done. */
  close(): void {
    clearTimeout(this.#timer);
  }
}
