import { Deadline } from '../deadline.ts';

/** How many different reads run at once: as many lists as the database is asked for. */
const RUNNING = 4;

/** A read that is to be done within its time. */
type Run<T> = (deadline: Deadline) => Promise<T>;

/** Equal reads that wait for the run that answers them all. */
class Group<T> {
  readonly run: Run<T>;
  readonly deadlines: Deadline[] = [];
  settle!: (answer: Promise<T>) => void;
  readonly answer = new Promise<T>((resolve) => {
    this.settle = resolve;
  });

  constructor(run: Run<T>) {
    this.run = run;
  }
}

/**
 * Answers equal reads that wait together with one run. Reads wait while their equal runs, or while many others run; a
 * group takes members only until its own run begins, so no answer is older than its request: what was stored before
 * somebody asked, they see. Nothing is kept once it is answered. There are never more groups than requests under way.
 */
export class SharedReads<T> {
  /** In the order in which their first members came. */
  readonly #waiting = new Map<string, Group<T>>();
  readonly #running = new Set<string>();

  /** The answer of `run`, or of the equal one that waits under the same key. Rejects as that rejects. */
  answer(key: string, deadline: Deadline, run: Run<T>): Promise<T> {
    const joined = this.#waiting.get(key);
    if (joined) {
      joined.deadlines.push(deadline);
      return joined.answer;
    }
    if (this.#running.size < RUNNING && !this.#running.has(key)) return this.#start(key, [deadline], run);
    const group = new Group(run);
    group.deadlines.push(deadline);
    this.#waiting.set(key, group);
    return group.answer;
  }

  async #start(key: string, deadlines: readonly Deadline[], run: Run<T>): Promise<T> {
    const deadline = Deadline.ofAll(deadlines) as Deadline;
    this.#running.add(key);
    try {
      return await run(deadline);
    } finally {
      if (deadlines.length > 1) deadline.close();
      this.#running.delete(key);
      this.#startNext();
    }
  }

  #startNext(): void {
    for (const [key, { run, deadlines, settle }] of this.#waiting) {
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      settle(this.#start(key, deadlines, run));
      return;
    }
  }
}
