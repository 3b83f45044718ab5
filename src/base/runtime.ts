import * as crypto from 'node:crypto';
import * as timers from 'node:timers/promises';
import { V7Generator } from 'uuidv7';

const generator = new V7Generator();
/** An id always holds the same instant as its record's `created_at`, even after the clock was set back. */
const ROLLBACK_ALLOWANCE_MS = 0;

/**
 * Clocks, timers, random numbers and ids: everything that differs from run to run. The service takes them only from
 * this module, so that a simulation can supply its own time and one seed. Names from Node.js have the same meaning
 * here. Each call reads the globals, since tests mock them.
 */
const nodeRuntime = {
  /** Milliseconds since 1970. */
  now: (): number => Date.now(),
  /** The monotonic clock. */
  performance: {
    now: (): number => globalThis.performance.now(),
    get timeOrigin(): number {
      return globalThis.performance.timeOrigin;
    },
  },
  setTimeout: (callback: () => void, ms: number): NodeJS.Timeout => globalThis.setTimeout(callback, ms),
  clearTimeout: (timer: NodeJS.Timeout | number | undefined): void => globalThis.clearTimeout(timer),
  setInterval: (callback: () => void, ms: number): NodeJS.Timeout => globalThis.setInterval(callback, ms),
  clearInterval: (timer: NodeJS.Timeout | undefined): void => globalThis.clearInterval(timer),
  setImmediate: (callback: () => void): NodeJS.Immediate => globalThis.setImmediate(callback),
  clearImmediate: (immediate: NodeJS.Immediate | undefined): void => globalThis.clearImmediate(immediate),
  /** Resolves after milliseconds, like `setTimeout` of `node:timers/promises`. */
  sleep: <T = void>(ms: number, value?: T, options?: { ref?: boolean; signal?: AbortSignal }): Promise<T> =>
    timers.setTimeout(ms, value, options),
  /** Resolves in the next turn of the event loop, like `setImmediate` of `node:timers/promises`. */
  nextTurn: (): Promise<void> => timers.setImmediate(),
  /** A signal that is aborted after milliseconds. */
  timeoutSignal: (ms: number): AbortSignal => AbortSignal.timeout(ms),
  /** At least 0, and less than 1. */
  randomNumber: (): number => Math.random(),
  /** At least `min`, and less than `max`. */
  randomInt: (min: number, max: number): number => crypto.randomInt(min, max),
  randomBytes: (size: number): Buffer => crypto.randomBytes(size),
  randomUUID: (): string => crypto.randomUUID(),
  /** Returns a UUIDv7 of a time in milliseconds. Later ids of the same time sort after it. */
  timedUUID: (ms: number): string => generator.generateOrResetCore(ms, ROLLBACK_ALLOWANCE_MS).toString(),
};
export type Runtime = typeof nodeRuntime;

let runtime = nodeRuntime;

/** Replaces the runtime of this process, for tests and simulations. Returns a function that restores it. */
export const replaceRuntime = (replacement: Runtime): (() => void) => {
  const former = runtime;
  runtime = replacement;
  return () => {
    runtime = former;
  };
};

export const currentTime = (): number => runtime.now();
export const currentDate = (): Date => new Date(runtime.now());
export const performance: Runtime['performance'] = {
  now: () => runtime.performance.now(),
  get timeOrigin() {
    return runtime.performance.timeOrigin;
  },
};
export const setTimeout: Runtime['setTimeout'] = (callback, ms) => runtime.setTimeout(callback, ms);
export const clearTimeout: Runtime['clearTimeout'] = (timer) => runtime.clearTimeout(timer);
export const setInterval: Runtime['setInterval'] = (callback, ms) => runtime.setInterval(callback, ms);
export const clearInterval: Runtime['clearInterval'] = (timer) => runtime.clearInterval(timer);
export const setImmediate: Runtime['setImmediate'] = (callback) => runtime.setImmediate(callback);
export const clearImmediate: Runtime['clearImmediate'] = (immediate) => runtime.clearImmediate(immediate);
export const sleep: Runtime['sleep'] = (ms, value, options) => runtime.sleep(ms, value, options);
export const nextTurn: Runtime['nextTurn'] = () => runtime.nextTurn();
export const timeoutSignal: Runtime['timeoutSignal'] = (ms) => runtime.timeoutSignal(ms);
export const randomNumber: Runtime['randomNumber'] = () => runtime.randomNumber();
export const randomInt: Runtime['randomInt'] = (min, max) => runtime.randomInt(min, max);
export const randomBytes: Runtime['randomBytes'] = (size) => runtime.randomBytes(size);
export const randomUUID: Runtime['randomUUID'] = () => runtime.randomUUID();
export const timedUUID: Runtime['timedUUID'] = (ms) => runtime.timedUUID(ms);

/**
 * Random bytes and numbers for secrets: keys, salts, nonces, challenges. Simulations do not replace them: a seed would
 * reveal the secrets.
 */
export { randomBytes as secureRandomBytes, randomInt as secureRandomInt } from 'node:crypto';
