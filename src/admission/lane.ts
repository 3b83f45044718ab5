import { AsyncResource } from 'node:async_hooks';
import type { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';
import type { LaneObserver, LaneUsage } from './observer.ts';

/**
 * A queue stands when nobody has seen it empty for so long, milliseconds: what comes in bursts only empties sooner. It is
 * taken to stand until nobody has been refused for as long.
 */
export const STANDING_MS = 100;

/** How long work may wait to begin, in milliseconds. */
export interface Patience {
  usualMs: number;
  /** While a queue stands. */
  shortMs: number;
  /** By how much the process itself may be late before nothing may wait any more: it has waited for us already. */
  lateMs: number;
  /** After how long a queue stands. */
  standingMs: number;
}

/** Whoever has to be refused hears of it within 50 ms; and what is begun in a crowd has not waited for long. */
export const defaultPatience: Patience = { usualMs: 40, shortMs: 30, lateMs: 30, standingMs: STANDING_MS };
/** How often all that runs is replaced until whoever waits in a queue that stands begins. */
const STANDING_TURNS = 8;

interface Capacity {
  /** Work under way at the same time, in units of cost. */
  running: number;
  /** Work that waits, in pieces, while no queue stands. */
  waiting: number;
}

/** Work that waits. */
interface Waiter {
  cost: number;
  since: number;
  begin: () => void;
  refuse: (error: AppError) => void;
}

/**
 * Has work of one kind begin as there is room, and refuses what would wait for too long: by CoDel (RFC 8289) as servers
 * apply it that may refuse ("Fail at Scale", ACM Queue 13, 8). A queue that empties now and then does no harm, and who is in
 * it may wait; one that stands only adds its length to every answer, so it is cut to what is about to begin.
 */
export class Lane {
  readonly #capacity: Capacity;
  readonly #patience: Patience;
  #running = 0;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiter>();
  /** Since when somebody has been waiting. */
  #busySince = 0;
  #lastRefusal = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  readonly #observer: LaneObserver | undefined;

  /** `observe` makes what hears of work, and may ask how the lane stands. */
  constructor(
    capacity: Capacity,
    patience = defaultPatience,
    observe?: (usage: () => LaneUsage) => LaneObserver | undefined,
  ) {
    this.#capacity = capacity;
    this.#patience = patience;
    this.#observer = observe?.(() => ({
      running: this.#running,
      capacity: capacity.running,
      waiting: this.#waiting.size,
    }));
  }

  /** Whether work that comes now would have to wait. */
  get isBusy(): boolean {
    return this.#waiting.size > 0 || this.#running >= this.#capacity.running;
  }

  /** Whether work that comes now is refused at once. */
  get isFull(): boolean {
    return this.#waiting.size >= (this.isStanding ? this.#standingLength : this.#capacity.waiting);
  }

  /** Whether more comes than is done, and has for a while. */
  get isStanding(): boolean {
    const before = performance.now() - this.#patience.standingMs;
    return this.#lastRefusal > before || (this.#waiting.size > 0 && this.#busySince < before);
  }

  /** Hears of work that was refused before it came here. */
  noteRefusal(): void {
    this.#lastRefusal = performance.now();
  }

  /**
   * Does `work`, which takes up `cost` of the capacity, now or as soon as there is room; none whose deadline ends before it
   * begins. What costs more than there is has the lane for itself.
   * @throws AppError OVERLOADED, what the deadline ends with while it waits, and whatever `work` throws
   */
  run<T>(cost: number, deadline: Deadline | undefined, work: () => Promise<T>): Promise<T> {
    if (deadline?.error) return Promise.reject(deadline.error);
    const taken = Math.min(cost, this.#capacity.running);
    if (this.#waiting.size === 0 && this.#hasRoom(taken)) {
      this.#observer?.began(0);
      return this.#do(taken, work);
    }
    if (this.isFull) return Promise.reject(this.#refusal());
    // Whoever makes room for it is somebody else.
    const asked = new AsyncResource('LANE');
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        stay?.();
        this.#observer?.began(performance.now() - waiter.since);
        this.#do(taken, work).then(resolve, reject);
      };
      const waiter: Waiter = {
        cost: taken,
        since: performance.now(),
        begin: () => asked.runInAsyncScope(begin),
        refuse: (error) => {
          stay?.();
          reject(error);
        },
      };
      const stay = deadline?.onEnd((error) => {
        this.#forget(waiter);
        reject(error);
      });
      if (this.#waiting.size === 0) this.#busySince = waiter.since;
      this.#waiting.add(waiter);
      this.#watch();
    });
  }

  /** A queue that stands holds what is about to begin: fewer would leave nobody to share an answer with. */
  get #standingLength(): number {
    return Math.min(this.#capacity.waiting, STANDING_TURNS * this.#capacity.running);
  }

  #hasRoom(cost: number): boolean {
    return this.#running + cost <= this.#capacity.running;
  }

  async #do<T>(cost: number, work: () => Promise<T>): Promise<T> {
    this.#running += cost;
    try {
      return await work();
    } finally {
      this.#running -= cost;
      this.#beginNext();
    }
  }

  #beginNext(): void {
    if (this.#waiting.size === 0) return;
    this.#refuseLate();
    for (const waiter of this.#waiting) {
      if (!this.#hasRoom(waiter.cost)) return;
      this.#waiting.delete(waiter);
      waiter.begin();
    }
  }

  #forget(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    // It may have been what the others waited behind.
    this.#beginNext();
  }

  /** Sees to it that whoever has waited for too long is told so in time. */
  #watch(): void {
    if (this.#timer) return;
    const [first] = this.#waiting;
    if (!first) return;
    const now = performance.now();
    const { usualMs, shortMs, standingMs } = this.#patience;
    const standsAt = this.isStanding ? now : this.#busySince + standingMs;
    const due = Math.min(first.since + usualMs, Math.max(first.since + shortMs, standsAt));
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#refuseLate();
        this.#watch();
      },
      Math.max(Math.ceil(due - now), 1),
    ).unref();
  }

  #refusal(): AppError {
    this.noteRefusal();
    this.#observer?.refused();
    return new AppError('OVERLOADED');
  }

  #refuseLate(): void {
    const { usualMs, shortMs } = this.#patience;
    const latest = performance.now() - (this.isStanding ? shortMs : usualMs);
    for (const waiter of this.#waiting) {
      if (waiter.since > latest) return;
      this.#waiting.delete(waiter);
      waiter.refuse(this.#refusal());
    }
  }
}
