import { AsyncResource } from 'node:async_hooks';
import { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';

/** A read that is to be done within its time. */
type Read<T> = (deadline: Deadline) => Promise<T>;
/** Does a piece of work in its turn, unless it has begun elsewhere before. May refuse it, by rejecting, until then. */
export type Enter = (work: () => Promise<void>, untilBegun: Deadline) => Promise<void>;

/** Who asks for a read, and until when. */
interface Waiter {
  caller: string;
  deadline: Deadline;
}

/** Removes the other places of a group from the queue. A constant, since creating an error captures a stack. */
const begun = new AppError('TIMEOUT');

/** Equal reads that wait for the run that answers them all. */
class Flight<T> {
  /** The context of the first call, which the run belongs to. */
  readonly context = new AsyncResource('SHARED_READ');
  readonly run: Read<T>;
  readonly deadlines: Deadline[] = [];
  /** A place in the queue for each caller: the first of them to be reached begins the run. */
  readonly entries = new Map<string, Enter>();
  refused = 0;
  /** Ends when the run begins. */
  readonly untilBegun = new Deadline();
  settle!: (answer: Promise<T>) => void;
  readonly answer = new Promise<T>((resolve) => {
    this.settle = resolve;
  });

  constructor(run: Read<T>) {
    this.run = run;
  }
}

/**
 * Answers equal reads that wait together with one run (single flight). Reads wait while their equal runs, or in the queue; a
 * group takes members only until its own run begins, so no answer is older than its request: what was stored before a call,
 * it sees. Nothing is kept once it is answered. There are never more groups than requests under way.
 */
export class SingleFlight<T> {
  /** By their keys. */
  readonly #waiting = new Map<string, Flight<T>>();
  readonly #running = new Set<string>();
  readonly #note: ((outcome: 'made' | 'joined') => void) | undefined;

  /** `note` is told of each read whether it is made or takes the answer to another. */
  constructor(note?: (outcome: 'made' | 'joined') => void) {
    this.#note = note;
  }

  /**
   * The answer of `run`, once `enter` lets it begin, or of the equal one that waits under the same key. Rejects as these do.
   * No caller waits behind another one's place in the queue: each has its own.
   */
  answer(key: string, { caller, deadline }: Waiter, enter: Enter, run: Read<T>): Promise<T> {
    const joined = this.#waiting.get(key);
    this.#note?.(joined ? 'joined' : 'made');
    const group = joined ?? new Flight(run);
    this.#waiting.set(key, group);
    group.deadlines.push(deadline);
    if (!group.entries.has(caller)) {
      group.entries.set(caller, enter);
      if (!this.#running.has(key)) this.#enter(key, group, enter);
    }
    return group.answer;
  }

  #enter(key: string, group: Flight<T>, enter: Enter): void {
    const begin = async (): Promise<void> => {
      if (group.untilBegun.error) return;
      group.untilBegun.end(begun);
      const answer = this.#run(key, group);
      group.settle(answer);
      await answer;
    };
    group.context
      .runInAsyncScope(() => enter(begin, group.untilBegun))
      .catch((error: unknown) => {
        group.refused += 1;
        if (group.untilBegun.error || group.refused < group.entries.size) return;
        this.#close(key, group);
        group.settle(Promise.reject(error));
      });
  }

  async #run(key: string, group: Flight<T>): Promise<T> {
    this.#close(key, group);
    this.#running.add(key);
    const deadline = Deadline.ofAll(group.deadlines) as Deadline;
    try {
      deadline.assert();
      return await group.run(deadline);
    } finally {
      if (group.deadlines.length > 1) deadline.close();
      this.#running.delete(key);
      const next = this.#waiting.get(key);
      if (next) for (const enter of next.entries.values()) this.#enter(key, next, enter);
    }
  }

  /** Lets nobody join any more. */
  #close(key: string, group: Flight<T>): void {
    if (this.#waiting.get(key) === group) this.#waiting.delete(key);
  }
}
