import { AppError } from '../errors.ts';

/** Calls done together. */
const MAX_GROUP = 64;
/** Calls that wait, for whatever they concern. */
const MAX_WAITING = 10_000;

interface Waiting<Call, Result> {
  call: Call;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Does calls that concern the same thing one after the other: one that finds nobody at work is done at once, those that
 * come meanwhile are done together as soon as it is over. What many want to lock is so locked once for all of them.
 */
export class Groups<Call, Result> {
  /** Does some calls, all or none, and returns their results in order. */
  readonly #doAll: (calls: readonly Call[]) => Promise<readonly Result[]>;
  /** Who waits, for each thing that is being worked on. */
  readonly #queues = new Map<string, Waiting<Call, Result>[]>();
  #waiting = 0;

  constructor(doAll: (calls: readonly Call[]) => Promise<readonly Result[]>) {
    this.#doAll = doAll;
  }

  /** Does a call that concerns `key`. @throws AppError OVERLOADED when too many wait, and whatever doing it throws */
  do(key: string, call: Call): Promise<Result> {
    return new Promise((resolve, reject) => {
      const member = { call, resolve, reject };
      const queue = this.#queues.get(key);
      if (queue && this.#waiting >= MAX_WAITING) {
        reject(new AppError('OVERLOADED'));
      } else if (queue) {
        queue.push(member);
        this.#waiting += 1;
      } else {
        void this.#work(key, member);
      }
    });
  }

  async #work(key: string, first: Waiting<Call, Result>): Promise<void> {
    const queue: Waiting<Call, Result>[] = [];
    this.#queues.set(key, queue);
    for (let group = [first]; group.length > 0; group = queue.splice(0, MAX_GROUP)) {
      await this.#settle(group);
      this.#waiting -= Math.min(queue.length, MAX_GROUP);
    }
    this.#queues.delete(key);
  }

  /** Never rejects. */
  async #settle(group: readonly Waiting<Call, Result>[]): Promise<void> {
    try {
      const results = await this.#doAll(group.map(({ call }) => call));
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result);
    } catch (error) {
      // What we refuse ourselves concerns them all; anything else may be the fault of one.
      if (group.length === 1 || error instanceof AppError) for (const { reject } of group) reject(error);
      else for (const member of group) await this.#settle([member]);
    }
  }
}
