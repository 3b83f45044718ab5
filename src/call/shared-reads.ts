import { AsyncResource } from 'node:async_hooks';
import { Deadline } from '../deadline.ts';

/** A read that is to be done within its time. */
type Run<T> = (deadline: Deadline) => Promise<T>;
/** Does a piece of work when there is room for it. May refuse it, by rejecting, before it has begun. */
type Enter<T> = (work: () => Promise<T>) => Promise<T>;

/** Equal reads that wait for the run that answers them all. */
class Group<T> {
  /** Where it was asked for first, which its run belongs to. */
  readonly asked = new AsyncResource('SHARED_READ');
  readonly enter: Enter<T>;
  readonly run: Run<T>;
  readonly deadlines: Deadline[] = [];
  settle!: (answer: Promise<T>) => void;
  readonly answer = new Promise<T>((resolve) => {
    this.settle = resolve;
  });

  constructor(enter: Enter<T>, run: Run<T>) {
    this.enter = enter;
    this.run = run;
  }
}

/**
 * Answers equal reads that wait together with one run. Reads wait while their equal runs, or for room; a group takes
 * members only until its own run begins, so no answer is older than its request: what was stored before somebody asked,
 * they see. Nothing is kept once it is answered. There are never more groups than requests under way.
 */
export class SharedReads<T> {
  /** By their keys. */
  readonly #waiting = new Map<string, Group<T>>();
  readonly #running = new Set<string>();
  readonly #note: ((outcome: 'made' | 'joined') => void) | undefined;

  /** `note` hears of each read whether it is made or takes the answer to another. */
  constructor(note?: (outcome: 'made' | 'joined') => void) {
    this.#note = note;
  }

  /**
   * The answer of `run`, once `enter` lets it begin, or of the equal one that waits under the same key. Rejects as these
   * do; who joins a group shares its lot.
   */
  answer(key: string, deadline: Deadline, enter: Enter<T>, run: Run<T>): Promise<T> {
    const joined = this.#waiting.get(key);
    this.#note?.(joined ? 'joined' : 'made');
    if (joined) {
      joined.deadlines.push(deadline);
      return joined.answer;
    }
    const group = new Group(enter, run);
    group.deadlines.push(deadline);
    this.#waiting.set(key, group);
    if (!this.#running.has(key)) this.#start(key, group);
    return group.answer;
  }

  #start(key: string, group: Group<T>): void {
    const answer = group.asked.runInAsyncScope(() => group.enter(() => this.#run(key, group)));
    group.settle(answer);
    // One that is refused never runs.
    answer.catch(() => this.#close(key, group));
  }

  async #run(key: string, group: Group<T>): Promise<T> {
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
      if (next) this.#start(key, next);
    }
  }

  /** Lets nobody join any more. */
  #close(key: string, group: Group<T>): void {
    if (this.#waiting.get(key) === group) this.#waiting.delete(key);
  }
}
