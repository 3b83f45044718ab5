import { performance } from '../../base/runtime.ts';
import type { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import type { MysqlSession } from './session.ts';

/** The maximum number of waiting calls; more are refused. It is far more than can be served before their deadlines. */
const MAX_WAITING = 1000;

export type UseSession = (session: MysqlSession) => void;

interface WaitingCall {
  since: number;
  use: UseSession;
  fail: (error: unknown) => void;
  forgetDeadline: (() => void) | undefined;
}

/** The calls that wait for a session of a pool, in the order of arrival, each until its deadline. */
export class SessionQueue {
  readonly #waiting = new Set<WaitingCall>();
  readonly #onWaited: (ms: number) => void;

  /** `onWaited` is called with the wait of each call that leaves the queue, in milliseconds. */
  constructor(onWaited: (ms: number) => void) {
    this.#onWaited = onWaited;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Adds a call. If too many wait already, fails it with the AppError OVERLOADED and returns false. */
  join(deadline: Deadline | undefined, use: UseSession, fail: (error: unknown) => void): boolean {
    if (this.#waiting.size >= MAX_WAITING) {
      fail(new AppError('OVERLOADED'));
      return false;
    }
    const call: WaitingCall = { since: performance.now(), use, fail, forgetDeadline: undefined };
    this.#waiting.add(call);
    call.forgetDeadline = deadline?.onEnd((error) => this.#fail(call, error));
    return true;
  }

  /** Gives a session to the first call. Returns whether there was one. */
  serve(session: MysqlSession): boolean {
    const [first] = this.#waiting;
    if (!first) return false;
    this.#leave(first);
    first.use(session);
    return true;
  }

  failFirst(error: unknown): void {
    const [first] = this.#waiting;
    if (first) this.#fail(first, error);
  }

  failAll(error: unknown): void {
    for (const call of this.#waiting) this.#fail(call, error);
  }

  #fail(call: WaitingCall, error: unknown): void {
    this.#leave(call);
    call.fail(error);
  }

  #leave(call: WaitingCall): void {
    this.#waiting.delete(call);
    call.forgetDeadline?.();
    this.#onWaited(performance.now() - call.since);
  }
}
