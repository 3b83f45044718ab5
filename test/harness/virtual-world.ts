import { setImmediate as nextTurn } from 'node:timers/promises';
import { V7Generator } from 'uuidv7';
import { replaceRuntime, type Runtime } from '../../src/base/runtime.ts';
import { Random } from '../../src/sandbox/seed/random.ts';

const START = new Date('2026-04-01T09:30:00.000Z');

/** A timer of a virtual world. */
class VirtualTimer {
  at: number;
  readonly #world: VirtualWorld;
  readonly #ms: number;
  readonly #callback: () => void;
  readonly #repeats: boolean;

  constructor(world: VirtualWorld, ms: number, callback: () => void, repeats = false) {
    this.#world = world;
    this.#ms = ms;
    this.#callback = callback;
    this.#repeats = repeats;
    this.at = world.now + ms;
    world.timers.add(this);
  }

  fire(): void {
    this.#world.timers.delete(this);
    if (this.#repeats) this.refresh();
    this.#callback();
  }

  refresh(): this {
    this.at = this.#world.now + this.#ms;
    // Of timers of one instant, the first comes first.
    this.#world.timers.delete(this);
    this.#world.timers.add(this);
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/**
 * A world of its own for the service: time that passes only when it is told to, and random numbers of one seed. It suits what
 * waits for timers alone, such as work on a database in memory: the time does not wait for files and sockets.
 */
export class VirtualWorld {
  now = START.getTime();
  readonly timers = new Set<VirtualTimer>();
  readonly #restore: () => void;

  constructor(seed = 'any') {
    this.#restore = replaceRuntime(this.#runtime(new Random(seed)));
  }

  /** Lets time pass in milliseconds: each timer fires in its turn, and then all that follows from it without a timer. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    do await nextTurn();
    while (this.#fireNext(end));
    this.now = end;
  }

  /** Lets time pass from timer to timer until a promise is settled. */
  async settled<T>(work: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    work.then(settle, settle);
    for (await nextTurn(); !isSettled; await nextTurn()) this.#fireNext();
    return work;
  }

  /** Sets the clocks ahead at once, as a machine that slept: timers that are due then fire with the next ones. */
  leap(ms: number): void {
    this.now += ms;
  }

  /** Gives back the real world. */
  end(): void {
    this.#restore();
  }

  /** Fires the timer that is due next, if it is by `end`. */
  #fireNext(end = Number.POSITIVE_INFINITY): boolean {
    let next: VirtualTimer | undefined;
    for (const timer of this.timers) {
      if (!next || timer.at < next.at) next = timer;
      if (next.at <= this.now) break;
    }
    if (!next || next.at > end) return false;
    this.now = Math.max(this.now, next.at);
    next.fire();
    return true;
  }

  #runtime(random: Random): Runtime {
    const timer = (callback: () => void, ms: number, repeats?: boolean) =>
      new VirtualTimer(this, ms, callback, repeats) as unknown as NodeJS.Timeout;
    const clear = (one: unknown): void => void this.timers.delete(one as VirtualTimer);
    const randomBytes = (size: number): Buffer =>
      Buffer.from(Array.from({ length: size }, () => random.between(0, 255)));
    const setTimeout: Runtime['setTimeout'] = (callback, ms) => timer(callback, Math.max(ms, 1));
    const sleep: Runtime['sleep'] = (ms, value, { signal } = {}) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const one = setTimeout(() => resolve(value!), ms);
        signal?.addEventListener('abort', () => {
          clear(one);
          reject(signal.reason as Error);
        });
      });
    const ids = new V7Generator(random);
    return {
      now: () => this.now,
      performance: { now: () => this.now - START.getTime(), timeOrigin: START.getTime() },
      setTimeout,
      clearTimeout: clear,
      setInterval: (callback, ms) => timer(callback, Math.max(ms, 1), true),
      clearInterval: clear,
      setImmediate: (callback) => timer(callback, 0) as unknown as NodeJS.Immediate,
      clearImmediate: clear,
      sleep,
      nextTurn: () => new Promise((resolve) => timer(resolve, 0)),
      timeoutSignal: (ms) => {
        const controller = new AbortController();
        setTimeout(() => controller.abort(new DOMException('The operation timed out.', 'TimeoutError')), ms);
        return controller.signal;
      },
      randomNumber: () => random.fraction(),
      randomInt: (min, max) => random.between(min, max - 1),
      randomBytes,
      randomUUID: () =>
        randomBytes(16)
          .toString('hex')
          .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
      timedUUID: (ms) => ids.generateOrResetCore(ms, 0).toString(),
    };
  }
}
