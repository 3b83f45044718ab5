import { AsyncResource } from 'node:async_hooks';
import { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';

/** Calls done together. */
const MAX_GROUP = 64;
/** Calls that wait, for whatever they concern. */
const MAX_WAITING = 10_000;

interface Waiting<Call, Result> {
  call: Call;
  deadline: Deadline;
  /** The context of the call. */
  context: AsyncResource;
  /** Whether it is being done, by itself or with others. */
  running: 'alone' | 'together' | undefined;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Does some calls, all or none, and returns their results in order. */
type DoAll<Call, Result> = (calls: readonly Call[], deadline: Deadline | undefined) => Promise<readonly Result[]>;

/** Resolves with `work`, or after `ms`. */
const orLate = async (work: Promise<void>, ms: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
};

/**
 * Stores calls that concern the same thing one group after the other: a call that finds nothing under way is done at once,
 * alone; those that come meanwhile are done together as soon as it is over. Rows that they all change are so locked, and
 * commits written to the disk, once for all of them.
 */
export class GroupCommit<Call, Result> {
  readonly #doAll: DoAll<Call, Result>;
  /** Who waits, for each thing that is being worked on. */
  readonly #queues = new Map<string, Waiting<Call, Result>[]>();
  readonly #overtakeMs: number | undefined;
  #waiting = 0;

  /** `overtakeMs`: after how many milliseconds the next group no longer waits for the one under way; without, it always waits. */
  constructor(doAll: DoAll<Call, Result>, { overtakeMs }: { overtakeMs?: number } = {}) {
    this.#doAll = doAll;
    this.#overtakeMs = overtakeMs;
  }

  /**
   * Does a call that concerns `key`. One whose deadline ends while it waits is not done.
   * @throws AppError TIMEOUT, OUTCOME_UNKNOWN when the deadline ends while others are served together with it, OVERLOADED
   * when too many wait, and whatever doing it throws
   */
  do(key: string, call: Call, deadline: Deadline): Promise<Result> {
    return new Promise((resolve, reject) => {
      const forget = deadline.onEnd((error) => {
        // What is done alone has this deadline, and finds out whether it is stored.
        if (member.running !== 'alone') reject(member.running ? new AppError('OUTCOME_UNKNOWN') : error);
      });
      const member: Waiting<Call, Result> = {
        call,
        deadline,
        context: new AsyncResource('GROUP_COMMIT'),
        running: undefined,
        resolve: (result) => {
          forget();
          resolve(result);
        },
        reject: (error) => {
          forget();
          reject(error);
        },
      };
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
      const members = group.filter(({ deadline }) => !deadline.error);
      // What is done together belongs to the call that has waited longest.
      const settled = members[0]?.context.runInAsyncScope(() => this.#settle(members));
      await (this.#overtakeMs === undefined || !settled ? settled : orLate(settled, this.#overtakeMs));
      this.#waiting -= Math.min(queue.length, MAX_GROUP);
    }
    this.#queues.delete(key);
  }

  /** Never rejects. */
  async #settle(group: readonly Waiting<Call, Result>[]): Promise<void> {
    for (const member of group) member.running = group.length > 1 ? 'together' : 'alone';
    const deadline = Deadline.ofAll(group.map((member) => member.deadline));
    try {
      const results = await this.#doAll(
        group.map(({ call }) => call),
        deadline,
      );
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result);
    } catch (error) {
      // What we refuse ourselves concerns them all; anything else may be the fault of one.
      if (group.length === 1 || error instanceof AppError) for (const { reject } of group) reject(error);
      else for (const member of group) await this.#settle([member]);
    } finally {
      if (group.length > 1) deadline?.close();
    }
  }
}
