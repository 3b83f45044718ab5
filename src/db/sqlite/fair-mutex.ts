import { setImmediate as breathe } from 'node:timers/promises';
import type { Deadline } from '../../deadline.ts';
import { AppError } from '../../errors.ts';
import type { Workload } from '../connection.ts';
import type { PoolObserver, PoolUsage } from '../observer.ts';

/** How long a transaction may compute before the event loop turns: it takes one new connection at each turn. */
const TURN_MS = 4;
/** Callers that wait for their turn; beyond, they are refused. */
const MAX_WAITING = 2000;

/** The time that a piece of work has before others must have theirs. */
export class MutexTurn {
  #began = performance.now();

  /** Lets the event loop turn, if it has not for a while. */
  async yield(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await breathe();
    this.#began = performance.now();
  }
}

interface WaitingTurn {
  start: () => void;
  refuse: (error: unknown) => void;
}

/** What a piece of work is done for. */
export interface Purpose {
  deadline?: Deadline | undefined;
  workload?: Workload | undefined;
}

/**
 * A queue for a connection that one caller has at a time. Between two of them it lets the event loop turn: what SQLite does
 * takes no turn of its own, so that those who always wait would keep out everything else. Calls and what is done in the
 * background take turns, so that neither keeps out the other.
 */
export class FairMutex {
  readonly #pools = { calls: new Set<WaitingTurn>(), background: new Set<WaitingTurn>() };
  #last: 'calls' | 'background' = 'background';
  #isTaken = false;
  readonly #observer: PoolObserver | undefined;

  /** `observe` makes what watches the queue, and may ask how it stands. */
  constructor(observe?: (usage: () => PoolUsage) => PoolObserver | undefined) {
    this.#observer = observe?.(() => ({
      used: this.#isTaken ? 1 : 0,
      idle: this.#isTaken ? 0 : 1,
      limit: 1,
      waiting: this.#pools.calls.size + this.#pools.background.size,
    }));
  }

  /** What watches it. */
  get observer(): PoolObserver | undefined {
    return this.#observer;
  }

  /**
   * Runs `work` when it is its turn. What is still waiting at its deadline is not run.
   * @throws AppError OVERLOADED when too many wait, what the deadline ended with, and what `work` throws
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

  /** Refuses all that waits. */
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
