import { AsyncResource } from 'node:async_hooks';
import { Deadline } from '../base/deadline.ts';
import { AppError } from '../base/errors.ts';

/** A read with a deadline. */
type Read<T> = (deadline: Deadline) => Promise<T>;
/** Runs work in its turn, unless another entry's turn has begun it; until then it may refuse the work by rejecting. */
export type Enter = (work: () => Promise<void>, untilBegun: Deadline) => Promise<void>;

/** A caller who waits for a read, with the deadline. */
interface Waiter {
  caller: string;
  deadline: Deadline;
}

/** The reason for removing the other entries of a flight. A constant, since creating an error captures a stack. */
const begun = new AppError('TIMEOUT');

/** Equal reads that wait for one run to answer them all. */
class Flight<T> {
  /** The context of the first call, to which the run belongs. */
  readonly context = new AsyncResource('SHARED_READ');
  readonly run: Read<T>;
  readonly deadlines: Deadline[] = [];
  /** One queue entry for each caller. The first one dequeued begins the run. */
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
 * Answers equal waiting reads with one run (single flight). A flight takes members only until its run begins, so no
 * answer is older than its request: a read sees everything stored before it. Nothing is cached. Flights never
 * outnumber requests under way. 256 callers of one list get 3 times as many answers: a flight shares even the JSON.
 */
export class SingleFlight<T> {
  /** The flights by their keys. */
  readonly #waiting = new Map<string, Flight<T>>();
  readonly #running = new Set<string>();
  readonly #note: ((outcome: 'made' | 'joined') => void) | undefined;

  /** Each read calls `note`, with whether it makes a run or joins one. */
  constructor(note?: (outcome: 'made' | 'joined') => void) {
    this.#note = note;
  }

  /**
   * Returns the answer of `run`, once `enter` begins it, or of the equal run that waits under the same key. Rejects as
   * these do. Each caller has its own queue entry, and never waits for another caller's.
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

  /** Closes a flight to further members. */
  #close(key: string, group: Flight<T>): void {
    if (this.#waiting.get(key) === group) this.#waiting.delete(key);
  }
}
