import { AsyncResource } from 'node:async_hooks';
import type { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import type { LimiterObserver, LimiterUsage } from '../../base/observer.ts';
import { performance, randomNumber } from '../../base/runtime.ts';
import { FairQueue, type Queued } from './fair-queue.ts';

/** The shortest time between two measurements of the throughput, in milliseconds. */
const WINDOW_MS = 100;
/** The weight of the last measurement in the average. A stalled process halves the average at most. */
const WEIGHT = 0.5;
/** The latency assumed before any work is measured, and again after a time without work, in milliseconds. */
const ASSUMED_LATENCY_MS = 4;
const RATE_VALID_MS = 10_000;
/** The most milliseconds between two arrivals that count as a stall: a stopped process ends no work, either. */
const LIVE_MS = 100;
/** The part of the time until its deadline that work may wait. */
const PART_OF_DEADLINE = 1 / 4;
/** The part of the maximum queue time by which a request's waits before it began and here together may exceed it. */
const SLACK = 1 / 4;
const MS_PER_S = 1000;
/** The jitter of `Retry-After`, so that callers do not all return at once. */
const JITTER = 1;

/** The refusal of work with this predicted wait, in milliseconds. */
export const overloadedFor = (waitMs: number): AppError =>
  new AppError('OVERLOADED', { retryAfter: Math.ceil((waitMs / MS_PER_S) * (1 + randomNumber() * JITTER)) });

/** A piece of work for a limiter. */
export interface LimitedWork {
  /** The caller in whose turn it runs. */
  caller: string;
  /** The cost, in usual calls. */
  cost: number;
  /** The time by which it must begin. */
  deadline: Deadline;
  /** The time that its request has waited, in milliseconds; it counts against the queue time. */
  waitedMs?: number | undefined;
  /** Replaces the deadline of shared work while it waits: ends when another caller's turn has begun the work. */
  untilBegun?: Deadline;
  /** The limiters that admitted parts of the same batch. They do not refuse its other parts. */
  admittedBy?: Set<ConcurrencyLimiter> | undefined;
}

interface LimiterOptions {
  /** The maximum queue time, in milliseconds. If undefined, no work waits. */
  maxQueueMs: number | undefined;
  /** The work that may run at once, in units of cost. */
  capacity?: number | undefined;
}

interface WaitingWork extends Queued {
  begin: () => void;
}

/**
 * Limits the concurrency of one class of work, and queues further work fairly. It refuses arriving work that would wait
 * too long, by the measured throughput. It never refuses queued work.
 */
export class ConcurrencyLimiter {
  readonly #maxQueueMs: number | undefined;
  readonly #capacity: number;
  readonly #queue = new FairQueue<WaitingWork>();
  readonly #observer: LimiterObserver | undefined;
  #running = 0;
  #isPaused = false;
  #pausedAt = 0;
  /** The average cost that a full limiter serves in a millisecond. */
  #rate: number;
  /** The window of the measurement: its start, the served cost, and the part of the capacity's time that it used. */
  #since = performance.now();
  #served = 0;
  #takenMs = 0;
  /** The milliseconds in which no work began or ended while other work arrived. */
  #stalledMs = 0;
  #seenAt = performance.now();

  /** `observe` makes the observer of this limiter, which may read its usage. */
  constructor(
    { maxQueueMs, capacity = 4 }: LimiterOptions,
    observe?: (usage: () => LimiterUsage) => LimiterObserver | undefined,
  ) {
    this.#maxQueueMs = maxQueueMs;
    this.#capacity = capacity;
    this.#rate = capacity / ASSUMED_LATENCY_MS;
    this.#observer = observe?.(() => ({ running: this.#running, capacity, waiting: this.#queue.size }));
  }

  /** Whether work waits, or would have to wait. */
  get isBusy(): boolean {
    return !this.#hasRoom(1);
  }

  /**
   * The refusal of further work of a caller, if any. `leftMs` is the time until its deadline; `waitedMs` is the time
   * that its request has waited.
   */
  refusalOf(
    caller: string,
    cost: number,
    { leftMs = Number.POSITIVE_INFINITY, waitedMs = 0 } = {},
  ): AppError | undefined {
    // Work that only a pause delays is not refused: pauses are short.
    if (this.#maxQueueMs === undefined || (this.#queue.size === 0 && this.#fits(cost))) return undefined;
    const now = performance.now();
    if (this.#running > 0) this.#stalledMs += Math.min(now - this.#seenAt, LIVE_MS);
    this.#seenAt = now;
    const waitMs = Math.max(this.#queue.costUntil(caller, cost) / this.#rateAt(now), this.#stalledMs);
    const wholeMs = this.#maxQueueMs * (1 + SLACK);
    const mostMs = Math.min(this.#maxQueueMs, wholeMs - waitedMs, leftMs * PART_OF_DEADLINE);
    return waitMs <= mostMs ? undefined : overloadedFor(waitMs);
  }

  /**
   * Runs `work` now or when its caller's turn comes.
   * @throws AppError OVERLOADED when it would wait too long, the error of its deadline while it waits, and the errors
   * of `work`
   */
  run<T>(
    { caller, cost, deadline, waitedMs, untilBegun, admittedBy }: LimitedWork,
    work: () => Promise<T>,
  ): Promise<T> {
    const ended = deadline.error ?? untilBegun?.error;
    if (ended) return Promise.reject(ended);
    const isNow = this.#hasRoom(cost);
    const refusal = admittedBy?.has(this)
      ? undefined
      : this.refusalOf(caller, cost, { leftMs: deadline.leftMs, waitedMs });
    if (refusal) {
      this.#observer?.refused();
      return Promise.reject(refusal);
    }
    admittedBy?.add(this);
    if (isNow) {
      this.#observer?.began(0);
      return this.#do(cost, work);
    }
    // The work belongs to its own call instead of the call that frees capacity for it.
    const context = new AsyncResource('QUEUED_CALL');
    return new Promise((resolve, reject) => {
      const since = performance.now();
      const begin = (): void => {
        forget();
        this.#observer?.began(performance.now() - since);
        this.#do(cost, work).then(resolve, reject);
      };
      const item: WaitingWork = { cost, begin: () => context.runInAsyncScope(begin) };
      const forget = (untilBegun ?? deadline).onEnd((error) => {
        this.#queue.delete(caller, item);
        // Shared work that has begun also serves this caller, and takes no further time.
        if (untilBegun) this.#served += cost;
        reject(error);
      });
      this.#queue.push(caller, item);
    });
  }

  /** Whether all work waits for now. */
  set isPaused(isPaused: boolean) {
    const now = performance.now();
    // A pause uses all free capacity.
    if (this.#isPaused) this.#takenMs += Math.max(0, this.#capacity - this.#running) * (now - this.#pausedAt);
    this.#pausedAt = now;
    this.#isPaused = isPaused;
    this.#beginNext();
  }

  /** An old measurement does not lower the throughput. */
  #rateAt(now: number): number {
    const isOld = now - this.#since > RATE_VALID_MS;
    return isOld ? Math.max(this.#rate, this.#capacity / ASSUMED_LATENCY_MS) : this.#rate;
  }

  /** Work that costs more than the limit runs alone. */
  #hasRoom(cost: number): boolean {
    if (this.#maxQueueMs === undefined) return true;
    return this.#queue.size === 0 && !this.#isPaused && this.#fits(cost);
  }

  #fits(cost: number): boolean {
    return this.#running === 0 || this.#running + cost <= this.#capacity;
  }

  async #do<T>(cost: number, work: () => Promise<T>): Promise<T> {
    const began = this.#noteProgress();
    this.#running += cost;
    try {
      return await work();
    } finally {
      const now = this.#noteProgress();
      this.#running -= cost;
      this.#measure(cost, now - began, now);
      this.#beginNext();
    }
  }

  #noteProgress(): number {
    this.#stalledMs = 0;
    this.#seenAt = performance.now();
    return this.#seenAt;
  }

  #beginNext(): void {
    while (!this.#isPaused) {
      const next = this.#queue.shift(({ cost }) => this.#fits(cost));
      if (!next) return;
      next.begin();
    }
  }

  /** Measures work that ended after `ms`. If the window is long enough, it ends, too. */
  #measure(cost: number, ms: number, now: number): void {
    this.#served += cost;
    this.#takenMs += cost * ms;
    if (now - this.#since < WINDOW_MS) return;
    const rate = (this.#capacity * this.#served) / Math.max(this.#takenMs, 1);
    const before = this.#rateAt(now);
    this.#rate = before + WEIGHT * (rate - before);
    this.#since = now;
    this.#served = 0;
    this.#takenMs = 0;
  }
}
