import { performance } from '../base/runtime.ts';
import type { Deadline } from '../base/deadline.ts';
import { AppError } from '../base/errors.ts';

/** @throws AppError OVERLOADED when `most` wait already */
export const assertRoom = (waiting: number, most: number): void => {
  if (waiting >= most) throw new AppError('OVERLOADED');
};

interface Waiting<T> {
  since: number;
  start: (resource: T) => void;
  fail: (error: unknown) => void;
  forgetDeadline: (() => void) | undefined;
}

/** Work that waits for a resource, such as a connection, in the order of arrival, each piece until its deadline. */
export class WaitingQueue<T> {
  readonly #waiting = new Set<Waiting<T>>();
  readonly #most: number;
  readonly #onWaited: (ms: number) => void;

  /**
   * Refuses work while `most` pieces wait: far more than can be served before their deadlines. `onWaited` is called
   * with the wait of each piece that leaves the queue, in milliseconds.
   */
  constructor(most: number, onWaited: (ms: number) => void) {
    this.#most = most;
    this.#onWaited = onWaited;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Adds work. If too much waits already, fails it with the AppError OVERLOADED and returns false. */
  join(deadline: Deadline | undefined, start: (resource: T) => void, fail: (error: unknown) => void): boolean {
    try {
      assertRoom(this.#waiting.size, this.#most);
    } catch (error) {
      fail(error);
      return false;
    }
    const work: Waiting<T> = { since: performance.now(), start, fail, forgetDeadline: undefined };
    this.#waiting.add(work);
    work.forgetDeadline = deadline?.onEnd((error) => this.#fail(work, error));
    return true;
  }

  /** Gives the resource to the first waiting work. Returns whether any waited. */
  serve(resource: T): boolean {
    const [first] = this.#waiting;
    if (!first) return false;
    this.#leave(first);
    first.start(resource);
    return true;
  }

  failFirst(error: unknown): void {
    const [first] = this.#waiting;
    if (first) this.#fail(first, error);
  }

  failAll(error: unknown): void {
    for (const work of this.#waiting) this.#fail(work, error);
  }

  #fail(work: Waiting<T>, error: unknown): void {
    this.#leave(work);
    work.fail(error);
  }

  #leave(work: Waiting<T>): void {
    this.#waiting.delete(work);
    work.forgetDeadline?.();
    this.#onWaited(performance.now() - work.since);
  }
}
