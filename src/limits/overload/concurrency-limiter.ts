import { AsyncResource } from 'node:async_hooks';
import { performance, randomNumber, setInterval } from '../../base/runtime.ts';
import type { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import { AdaptiveLimit } from './adaptive-limit.ts';
import { FairQueue, type Queued } from './fair-queue.ts';
import type { LimiterObserver, LimiterUsage } from './observer.ts';

const TICK_MS = 50;

/** A clock that stands still while this process does: work that cannot end then is not stalled. */
export class LiveClock {
  #ms = 0;
  #last = performance.now();

  constructor() {
    setInterval(() => {
      const now = performance.now();
      this.#ms += Math.min(now - this.#last, 2 * TICK_MS);
      this.#last = now;
    }, TICK_MS).unref();
  }

  /** In milliseconds, as far as the last tick. */
  get ms(): number {
    return this.#ms;
  }
}

/** The window of observations: at least this many milliseconds, and this much work. */
const WINDOW_MS = 100;
const WINDOW_PIECES = 8;
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
  /** The work that may always run, in units of cost. */
  least?: number | undefined;
  clock?: LiveClock;
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
  readonly #limit: AdaptiveLimit;
  readonly #queue = new FairQueue<WaitingWork>();
  readonly #observer: LimiterObserver | undefined;
  #running = 0;
  #isPaused = false;
  /** The throughput while work waited, of which shared work counts for each that waited; unknown until some has. */
  #rates: [number, number] | undefined;
  #ratesAt = 0;
  /** That of the last window, whether work waited or not. */
  #lastRate = 0;
  #meanMs = FIRST_LATENCY_MS;
  /**
   * The window: its start, the cost that ended in it, the cost that its runs served, the work that began and ended in it, and
   * whether work waited for some or all of it.
   */
  #since = performance.now();
  #cost = 0;
  #served = 0;
  #pieces = 0;
  #latencyMs = 0;
  #isLimited = false;
  #isSaturated = false;
  readonly #clock: LiveClock;
  /** When work ended, or began with nothing else running, by that clock. */
  #progressAt = 0;

  /** `observe` makes the observer of this limiter, which may ask for its usage. */
  constructor(
    { maxQueueMs, least = 4, clock = new LiveClock() }: LimiterOptions,
    observe?: (usage: () => LimiterUsage) => LimiterObserver | undefined,
  ) {
    this.#maxQueueMs = maxQueueMs;
    this.#clock = clock;
    this.#limit = new AdaptiveLimit(least);
    this.#observer = observe?.(() => ({
      running: this.#running,
      capacity: this.#limit.value,
      waiting: this.#queue.size,
    }));
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
    const stalledMs = this.#running === 0 ? 0 : this.#clock.ms - this.#progressAt;
    const waitMs = Math.max(this.#queue.costUntil(caller, cost) / rate, stalledMs);
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
    if (!this.#isLimited && !this.#isPaused) this.#startWindow(performance.now(), true);
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
    if (this.#rates && this.#clock.ms - this.#ratesAt < RATES_VALID_MS) return this.#rates;
    const begun = this.#isSaturated ? this.#served / Math.max(performance.now() - this.#since, 1) : 0;
    return [this.#limit.usual / this.#meanMs, begun, this.#lastRate];
  }

  /** Work that costs more than the limit runs alone. */
  #hasRoom(cost: number): boolean {
    if (this.#maxQueueMs === undefined) return true;
    return this.#queue.size === 0 && !this.#isPaused && this.#fits(cost);
  }

  #fits(cost: number): boolean {
    return this.#running === 0 || this.#running + cost <= this.#limit.value;
  }

  async #do<T>(cost: number, work: () => Promise<T>): Promise<T> {
    const began = performance.now();
    if (this.#running === 0) this.#progressAt = this.#clock.ms;
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
    this.#progressAt = this.#clock.ms;
    this.#cost += cost;
    this.#served += cost;
    this.#meanMs += LATENCY_WEIGHT * (now - began - this.#meanMs);
    // Work that began earlier reflects the limit of that time.
    if (began >= this.#since) {
      this.#pieces += 1;
      this.#latencyMs += now - began;
    }
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
    const ms = now - this.#since;
    this.#limit.note({ ms: this.#latencyMs / this.#pieces, rate: this.#cost / ms, isLimited: this.#isLimited });
    const rate = this.#served / ms;
    this.#lastRate = rate;
    if (this.#isSaturated) {
      this.#ratesAt = this.#clock.ms;
      const [fast, slow] = this.#rates ?? [rate, rate];
      this.#rates = [fast + WEIGHTS[0] * (rate - fast), slow + WEIGHTS[1] * (rate - slow)];
    }
    this.#startWindow(now, this.#queue.size > 0);
    this.#beginNext();
  }

  #startWindow(now: number, isLimited: boolean): void {
    this.#since = now;
    this.#pieces = 0;
    this.#cost = 0;
    this.#served = 0;
    this.#latencyMs = 0;
    this.#isLimited = isLimited;
    this.#isSaturated = isLimited;
  }
}
