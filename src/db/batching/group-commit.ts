import { AsyncResource } from 'node:async_hooks';
import { clearTimeout, performance, setTimeout } from '../../base/runtime.ts';
import { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import { assertRoom } from '../waiting-queue.ts';

/** The maximum number of calls in a group. */
const MAX_GROUP = 64;
/** The maximum size of the calls in a group: servers take statements of 16 MiB at most. */
const MAX_SIZE = 1024 * 1024;
/** The maximum number of waiting calls, of all keys; more are refused. */
const MAX_WAITING = 10_000;

interface WaitingWrite<Call, Result> {
  call: Call;
  deadline: Deadline;
  /** The async context of the call. */
  context: AsyncResource;
  /** Whether it is running, alone or in a larger group. */
  running: 'alone' | 'together' | undefined;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Options for groups that may wait for locked rows, and for their size. */
interface GroupCommitOptions<Call> {
  /** The milliseconds after which the next group stops waiting for the running one (default: it always waits). */
  overtakeMs?: number;
  /** With `overtakeMs`: whether the next group begins while one commits. This helps where groups seldom share rows. */
  isPipelined?: boolean;
  /**
   * The milliseconds after which a group that has not begun to commit is cancelled, and each of its calls runs by
   * itself. The time is longer where groups usually take long.
   */
  splitMs?: number;
  /** The size of a call, in characters or bytes; a group holds `MAX_SIZE` at most, or one larger call. */
  sizeOf?: (call: Call) => number;
}

/** For groups that may wait for locked rows: the next group overtakes soon, and later the calls run separately. */
export const AMONG_LOCKS = { overtakeMs: 100, splitMs: 500 } as const;

/** Runs calls, all or none, and returns their results in order. Calls `onCommit` when only the commit is left. */
type DoAll<Call, Result> = (
  calls: readonly Call[],
  deadline: Deadline | undefined,
  onCommit: () => void,
) => Promise<readonly Result[]>;

/** The multiple of the usual duration from which a group counts as waiting for a lock. */
const SLOW = 4;
/** The weight of the last group in the moving average of durations. */
const WEIGHT = 1 / 8;

const halvesOf = <T>(items: readonly T[]): T[][] => {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
};

const ignore = (): void => undefined;

/** Resolves with `work`, or after `ms`. */
const orLate = async (work: Promise<void>, ms: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
};

/**
 * Stores calls with the same key group by group. The first call runs at once, alone; calls that arrive meanwhile run
 * together after it. They lock shared rows once, and one commit writes all of them to the disk.
 */
export class GroupCommit<Call, Result> {
  readonly #doAll: DoAll<Call, Result>;
  /** The waiting calls of each key that has a running group. */
  readonly #queues = new Map<string, WaitingWrite<Call, Result>[]>();
  readonly #options: GroupCommitOptions<Call>;
  #waiting = 0;
  /** The moving average of the durations of groups that succeeded, in milliseconds. */
  #usualMs = 0;

  constructor(doAll: DoAll<Call, Result>, options: GroupCommitOptions<Call> = {}) {
    this.#doAll = doAll;
    this.#options = options;
  }

  /**
   * Runs a call that concerns `key`. A call is not run if its deadline ends while it waits.
   * @throws AppError TIMEOUT, OUTCOME_UNKNOWN when the deadline ends while its group runs, OVERLOADED when too many
   * wait, and the errors of the call itself
   */
  do(key: string, call: Call, deadline: Deadline): Promise<Result> {
    const queue = this.#queues.get(key);
    return new Promise((resolve, reject) => {
      if (queue) assertRoom(this.#waiting, MAX_WAITING);
      const forget = deadline.onEnd((error) => {
        // A call that runs alone has this deadline in its transaction, which knows the outcome.
        if (member.running !== 'alone') reject(member.running ? new AppError('OUTCOME_UNKNOWN') : error);
      });
      const member: WaitingWrite<Call, Result> = {
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
      if (!queue) {
        void this.#work(key, member);
        return;
      }
      queue.push(member);
      this.#waiting += 1;
    });
  }

  async #work(key: string, first: WaitingWrite<Call, Result>): Promise<void> {
    const queue: WaitingWrite<Call, Result>[] = [];
    this.#queues.set(key, queue);
    const { overtakeMs, isPipelined = false } = this.#options;
    for (let group = [first]; group.length > 0; group = this.#take(queue)) {
      const members = group.filter(({ deadline }) => !deadline.error);
      let onCommit: () => void = ignore;
      const commits = new Promise<void>((resolve) => (onCommit = resolve));
      const settled = members.length === 0 ? undefined : this.#settle(members, onCommit);
      const isPassed = isPipelined && settled ? Promise.race([settled, commits]) : settled;
      await (overtakeMs === undefined || !isPassed ? isPassed : orLate(isPassed, overtakeMs));
    }
    this.#queues.delete(key);
  }

  /** Removes the calls of the next group from the queue and returns them; empty only if no call waits. */
  #take(queue: WaitingWrite<Call, Result>[]): WaitingWrite<Call, Result>[] {
    const { sizeOf = () => 0 } = this.#options;
    let size = 0;
    const end = queue.findIndex(
      ({ call }, index) => index === MAX_GROUP || ((size += sizeOf(call)) > MAX_SIZE && index > 0),
    );
    const group = queue.splice(0, end === -1 ? queue.length : end);
    this.#waiting -= group.length;
    return group;
  }

  /** Never rejects. */
  async #settle(group: readonly WaitingWrite<Call, Result>[], onCommit = ignore): Promise<void> {
    for (const member of group) member.running = group.length > 1 ? 'together' : 'alone';
    const deadline = Deadline.ofAll(group.map((member) => member.deadline));
    const { splitMs } = this.#options;
    let isSlow = false;
    // One of the calls may wait for a locked row.
    const giveUp = (): void => {
      isSlow = true;
      deadline?.end();
    };
    const timer =
      splitMs === undefined || group.length === 1
        ? undefined
        : setTimeout(giveUp, Math.max(splitMs, SLOW * this.#usualMs));
    const began = performance.now();
    try {
      const calls = group.map(({ call }) => call);
      const beforeCommit = (): void => {
        clearTimeout(timer);
        onCommit();
      };
      // A group's trace belongs to its call that has waited longest: the first call of a larger group may have ended.
      const results = await group[0]?.context.runInAsyncScope(() => this.#doAll(calls, deadline, beforeCommit));
      this.#usualMs += WEIGHT * (performance.now() - began - this.#usualMs);
      for (const [index, { resolve }] of group.entries()) resolve(results?.[index] as Result);
    } catch (error) {
      // An AppError of the service concerns all calls of the group; one of them may have caused any other error.
      if (isSlow && error === deadline?.error) await Promise.all(group.map((member) => this.#settle([member])));
      else if (group.length === 1 || error instanceof AppError) for (const { reject } of group) reject(error);
      else for (const half of halvesOf(group)) await this.#settle(half);
    } finally {
      clearTimeout(timer);
      if (group.length > 1) deadline?.close();
    }
  }
}
