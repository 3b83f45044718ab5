import { nextTurn, performance, setImmediate } from '../../base/runtime.ts';
import type { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import type { Workload } from '../connection.ts';
import type { PoolObserver, PoolUsage } from '../../base/observer.ts';

/** How long a transaction may run before it yields to the event loop, which accepts one new connection at each turn. */
const TURN_MS = 4;
/** The maximum number of waiting callers of each workload; more are refused. */
const MAX_WAITING = 2000;

/** Measures how long a piece of work has run, and makes it yield. */
export class MutexTurn {
  #began = performance.now();

  /** Yields to the event loop, if the work has run for `TURN_MS` since the last time. */
  async yield(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await nextTurn();
    this.#began = performance.now();
  }
}

interface WaitingTurn {
  start: () => void;
  refuse: (error: unknown) => void;
}

/** The deadline and the workload of a piece of work. */
export interface Purpose {
  deadline?: Deadline | undefined;
  workload?: Workload | undefined;
}

/**
 * A queue for a connection that one caller uses at a time. It yields to the event loop between callers: SQLite runs
 * synchronously, so a full queue would otherwise block all other work. Calls and background work alternate, so that neither
 * starves the other.
 */
export class FairMutex {
  readonly #pools = { calls: new Set<WaitingTurn>(), background: new Set<WaitingTurn>() };
  #last: 'calls' | 'background' = 'background';
  #isTaken = false;
  readonly #observer: PoolObserver | undefined;

  /** `observe` makes the observer of the queue; its parameter returns the current usage. */
  constructor(observe?: (usage: () => PoolUsage) => PoolObserver | undefined) {
    this.#observer = observe?.(() => ({
      used: this.#isTaken ? 1 : 0,
      idle: this.#isTaken ? 0 : 1,
      limit: 1,
      waiting: this.#pools.calls.size + this.#pools.background.size,
    }));
  }

  /** The observer of the queue. */
  get observer(): PoolObserver | undefined {
    return this.#observer;
  }

  /**
   * Runs `work` in its turn. Work that still waits at its deadline is not run.
   * @throws AppError OVERLOADED when too many wait, the error of the deadline, and the errors of `work`
   */
  async run<T>(work: () => Promise<T>, { deadline, workload }: Purpose = {}): Promise<T> {
    deadline?.assert();
    if (this.#isTaken) {
      const since = performance.now();
      await this.#wait(this.#pools[workload === 'background' ? 'background' : 'calls'], deadline).finally(() =>
        this.#observer?.waited(performance.now() - since),
      );
    } else this.#observer?.waited(0);
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  /** Refuses all waiting work. */
  refuse(error: unknown): void {
    for (const workload of Object.values(this.#pools)) {
      for (const waiting of workload) waiting.refuse(error);
      workload.clear();
    }
  }

  #wait(workload: Set<WaitingTurn>, deadline: Deadline | undefined): Promise<void> {
    if (workload.size >= MAX_WAITING) throw new AppError('OVERLOADED');
    return new Promise((resolve, reject) => {
      const forget = deadline?.onEnd((error) => {
        workload.delete(waiting);
        reject(error);
      });
      const waiting: WaitingTurn = {
        start: () => {
          forget?.();
          resolve();
        },
        refuse: (error) => {
          forget?.();
          reject(error);
        },
      };
      workload.add(waiting);
    });
  }

  #pass(): void {
    if (this.#pools.calls.size + this.#pools.background.size === 0) this.#isTaken = false;
    else setImmediate(() => this.#startNext());
  }

  #startNext(): void {
    const order = this.#last === 'calls' ? (['background', 'calls'] as const) : (['calls', 'background'] as const);
    for (const name of order) {
      const [next] = this.#pools[name];
      if (!next) continue;
      this.#last = name;
      this.#pools[name].delete(next);
      next.start();
      return;
    }
    this.#isTaken = false;
  }
}
