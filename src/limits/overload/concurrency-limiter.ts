import { AsyncResource } from 'node:async_hooks';
import { performance, randomNumber } from '../../base/runtime.ts';
import type { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import { FairQueue, type Queued } from './fair-queue.ts';
import type { LimiterObserver, LimiterUsage } from '../../base/observer.ts';

/** The throughput is measured over at least this many milliseconds, and this many pieces of work. */
const WINDOW_MS = 100;
const WINDOW_PIECES = 8;
/** The most milliseconds between two arrivals that count as a stall: a process that stands still ends no work. */
const LIVE_MS = 100;
/** The weights of the last window in the two averages of the throughput, of which the higher one counts. */
const WEIGHTS = [0.5, 0.1] as const;
/** The time for which a measured throughput holds, in milliseconds. */
const RATES_VALID_MS = 10_000;
/** The latency that is assumed before any work has ended, in milliseconds. */
const FIRST_LATENCY_MS = 4;
/** The weight of the last piece of work in the mean latency. */
const LATENCY_WEIGHT = 0.1;
/** Of the time until a deadline, work may wait for this part. */
const PART_OF_DEADLINE = 1 / 4;
/** The part of the maximum queue time by which the wait in both queues, before the request began and here, may exceed it. */
const SLACK = 1 / 4;
const MS_PER_S = 1000;
/** The jitter of `Retry-After` in seconds, so that callers do not return as a crowd. */
const JITTER = 1;

/** The refusal of work with this predicted wait, in milliseconds. */
export const overloadedFor = (waitMs: number): AppError =>
  new AppError('OVERLOADED', { retryAfter: Math.ceil((waitMs / MS_PER_S) * (1 + randomNumber() * JITTER)) });

/** A piece of work that wants to run. */
export interface LimitedWork {
  /** The caller in whose turn it runs. */
  caller: string;
  /** The cost, in usual calls. */
  cost: number;
  /** The time by which it must begin. */
  deadline: Deadline;
  /** The time that its request has waited, in milliseconds; it counts against the queue time. */
  waitedMs?: number | undefined;
  /** Of shared work, replaces the deadline while it waits: ends when another caller's turn has begun the work. */
  untilBegun?: Deadline;
  /** Of a batch: the limiters that admitted a part of it, which do not refuse the others. */
  admittedBy?: Set<ConcurrencyLimiter> | undefined;
}

interface LimiterOptions {
  /** The maximum queue time, in milliseconds; undefined: no work waits. */
  maxQueueMs: number | undefined;
  /** The work that may run at once, in units of cost. */
  capacity?: number | undefined;
}

interface WaitingWork extends Queued {
  begin: () => void;
}

/**
 * Limits the concurrency of one class of work, and keeps the rest in a fair queue. It refuses work on arrival that
 * would wait too long, by the measured throughput. Work in the queue is not refused any more.
 */
export class ConcurrencyLimiter {
  readonly #maxQueueMs: number | undefined;
  readonly #capacity: number;
  readonly #queue = new FairQueue<WaitingWork>();
  readonly #observer: LimiterObserver | undefined;
  #running = 0;
  #isPaused = false;
  /** The costs that were served in a millisecond while work waited. A shared run counts once for each caller. */
  #rates: [number, number] | undefined;
  #ratesAt = 0;
  /** The cost that was served in a millisecond of the last window, whether work waited or not. */
  #lastRate = 0;
  #meanMs = FIRST_LATENCY_MS;
  /** The window: its start, the cost that was served, the pieces of work that ended, and whether work waited all the time. */
  #since = performance.now();
  #served = 0;
  #pieces = 0;
  #isSaturated = false;
  /** The milliseconds without an end of work, as far as work arrived meanwhile. */
  #stalledMs = 0;
  #arrivedAt = performance.now();

  /** `observe` makes the observer of this limiter, which may ask for its usage. */
  constructor(
    { maxQueueMs, capacity = 4 }: LimiterOptions,
    observe?: (usage: () => LimiterUsage) => LimiterObserver | undefined,
  ) {
    this.#maxQueueMs = maxQueueMs;
    this.#capacity = capacity;
    this.#observer = observe?.(() => ({ running: this.#running, capacity, waiting: this.#queue.size }));
  }

  /** Whether work waits, or would have to. */
  get isBusy(): boolean {
    return !this.#hasRoom(1);
  }

  /**
   * The refusal of further work of a caller, if any. `leftMs` is the time until its deadline, `waitedMs` the time that
   * its request has waited.
   */
  refusalOf(
    caller: string,
    cost: number,
    { leftMs = Number.POSITIVE_INFINITY, waitedMs = 0 } = {},
  ): AppError | undefined {
    // Work that only a pause keeps from beginning is not refused: pauses are short.
    if (this.#maxQueueMs === undefined || (this.#queue.size === 0 && this.#fits(cost))) return undefined;
    const rate = Math.max(...this.#knownRates());
    const now = performance.now();
    if (this.#running > 0) this.#stalledMs += Math.min(now - this.#arrivedAt, LIVE_MS);
    this.#arrivedAt = now;
    const waitMs = Math.max(this.#queue.costUntil(caller, cost) / rate, this.#stalledMs);
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
    // A burst starts a window, since the time before does not show the throughput.
    if (this.#queue.size === 0 && !this.#isPaused) this.#startWindow(performance.now(), true);
    // The work belongs to its own call, not to the one that makes room for it.
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
        if (untilBegun) this.#served += cost;
        reject(error);
      });
      this.#queue.push(caller, item);
    });
  }

  /** Whether all work waits for now. */
  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
    this.#beginNext();
  }

  /** The throughputs measured while work waited or, before there are any, lower bounds of the throughput. */
  #knownRates(): readonly number[] {
    const now = performance.now();
    if (this.#rates && now - this.#ratesAt < RATES_VALID_MS) return this.#rates;
    const begun = this.#isSaturated ? this.#served / Math.max(now - this.#since, 1) : 0;
    return [this.#capacity / this.#meanMs, begun, this.#lastRate];
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
    const began = performance.now();
    if (this.#running === 0) [this.#stalledMs, this.#arrivedAt] = [0, began];
    this.#running += cost;
    try {
      return await work();
    } finally {
      this.#end(cost, began);
    }
  }

  #end(cost: number, began: number): void {
    const now = performance.now();
    this.#running -= cost;
    [this.#stalledMs, this.#arrivedAt] = [0, now];
    this.#served += cost;
    this.#pieces += 1;
    this.#meanMs += LATENCY_WEIGHT * (now - began - this.#meanMs);
    if (this.#queue.size === 0) this.#isSaturated = false;
    else this.#beginNext();
    if (now - this.#since >= WINDOW_MS && this.#pieces >= WINDOW_PIECES) this.#conclude(now);
  }

  #beginNext(): void {
    while (!this.#isPaused) {
      const next = this.#queue.shift(({ cost }) => this.#fits(cost));
      if (!next) return;
      next.begin();
    }
  }

  /** Ends the window. */
  #conclude(now: number): void {
    const rate = this.#served / (now - this.#since);
    this.#lastRate = rate;
    if (this.#isSaturated) {
      this.#ratesAt = now;
      const [fast, slow] = this.#rates ?? [rate, rate];
      this.#rates = [fast + WEIGHTS[0] * (rate - fast), slow + WEIGHTS[1] * (rate - slow)];
    }
    this.#startWindow(now, this.#queue.size > 0);
  }

  #startWindow(now: number, isSaturated: boolean): void {
    this.#since = now;
    this.#pieces = 0;
    this.#served = 0;
    this.#isSaturated = isSaturated;
  }
}
