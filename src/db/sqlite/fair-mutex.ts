import { nextTurn, performance, setImmediate } from '../../base/runtime.ts';
import type { Deadline } from '../../base/deadline.ts';
import type { Workload } from '../connection.ts';
import type { PoolObserver, PoolUsage } from '../../base/observer.ts';
import { WaitingQueue } from '../waiting-queue.ts';

/** How long a transaction may run before it yields to the event loop, which accepts one new connection at each turn. */
const TURN_MS = 4;
/** The maximum number of waiting callers of each workload. */
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
  readonly #queues = { calls: this.#makeQueue(), background: this.#makeQueue() };
  #last: 'calls' | 'background' = 'background';
  #isTaken = false;
  readonly #observer: PoolObserver | undefined;

  /** `observe` makes the observer of the queue; its parameter returns the current usage. */
  constructor(observe?: (usage: () => PoolUsage) => PoolObserver | undefined) {
    this.#observer = observe?.(() => ({
      used: this.#isTaken ? 1 : 0,
      idle: this.#isTaken ? 0 : 1,
      limit: 1,
      waiting: this.#queues.calls.size + this.#queues.background.size,
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
      const queue = this.#queues[workload === 'background' ? 'background' : 'calls'];
      await new Promise<void>((resolve, reject) => queue.join(deadline, resolve, reject));
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
    for (const queue of Object.values(this.#queues)) queue.failAll(error);
  }

  #makeQueue(): WaitingQueue<void> {
    return new WaitingQueue(MAX_WAITING, (ms) => this.#observer?.waited(ms));
  }

  #pass(): void {
    if (this.#queues.calls.size + this.#queues.background.size === 0) this.#isTaken = false;
    else setImmediate(() => this.#startNext());
  }

  #startNext(): void {
    const order = this.#last === 'calls' ? (['background', 'calls'] as const) : (['calls', 'background'] as const);
    const served = order.find((name) => this.#queues[name].serve());
    if (served) this.#last = served;
    else this.#isTaken = false;
  }
}
