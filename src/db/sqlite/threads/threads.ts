import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { clearTimeout, setTimeout } from '../../../base/runtime.ts';
import type { Deadline } from '../../../base/deadline.ts';
import type { Parameter } from '../../connection.ts';
import type { PoolObserver, PoolUsage } from '../../../base/observer.ts';
import { type RowMaker, rowMaker } from '../binding/binding.ts';
import { WaitingQueue } from '../../waiting-queue.ts';
import { FileFault } from '../errors.ts';
import { unpack } from '../binding/rows.ts';
import type { ThreadAnswer, Question } from './thread.ts';

/** One thread per core, within bounds: each has its own page cache, and lists are read four at a time. */
const THREADS = Math.min(Math.max(availableParallelism(), 2), 4);
/** The maximum number of reads that wait for a thread. */
const MAX_WAITING = 5000;
/** How long an abandoned statement may run before its thread is replaced. */
const GRACE_MS = 1000;
/** The maximum number of replacement threads, while others run abandoned statements. */
const MOST_EXTRA = 2;
const REMEMBERED = 1000;

// When the service runs from its sources, as in tests, the thread runs the compiled file in `dist`.
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? '../../../../dist/src/db/sqlite/threads/thread.js' : './thread.js',
  import.meta.url,
);

interface Job {
  take: (answer: ThreadAnswer) => void;
  fail: (error: unknown) => void;
}

interface Thread {
  worker: Worker;
  job: Job | undefined;
  late: NodeJS.Timeout | undefined;
}

const isIdle = ({ job }: Thread): boolean => job === undefined;

/** An error of a thread, as SQLite's binding throws it. */
const errorOf = ({ message, errcode }: { message: string; errcode?: number }): Error =>
  Object.assign(new Error(message), errcode === undefined ? {} : { errcode });

/**
 * Threads that read an SQLite file, started on demand, each with one statement at a time. A statement cannot be
 * cancelled: at the deadline its caller gets an error at once. If the statement still runs `GRACE_MS` later, an extra
 * thread may start. Surplus threads end after their statements.
 */
export class ReadingThreads {
  readonly #file: string;
  readonly #note: (sql: string, ms: number) => void;
  readonly #threads = new Set<Thread>();
  /** Threads that have been running an abandoned statement for long. */
  readonly #lost = new Set<Thread>();
  readonly #queue: WaitingQueue<Thread>;
  readonly #makers = new LRUCache<string, RowMaker>({ max: REMEMBERED });
  readonly #observer: PoolObserver | undefined;
  /** The usual number of threads. */
  readonly #usual: number;

  /** `note` is called with the duration of each statement, in milliseconds. */
  constructor(file: string, note: (sql: string, ms: number) => void, observer?: PoolObserver, usual = THREADS) {
    this.#file = file;
    this.#note = note;
    this.#observer = observer;
    this.#usual = usual;
    this.#queue = new WaitingQueue(MAX_WAITING, (ms) => observer?.waited(ms));
  }

  /** The current usage. */
  get usage(): PoolUsage {
    const used = [...this.#threads].filter(({ job }) => job !== undefined).length;
    return { used, idle: this.#threads.size - used, limit: this.#most(), waiting: this.#queue.size };
  }

  /** Returns the rows of a SELECT. @throws AppError OVERLOADED when too many wait, and the error of the deadline */
  async read(sql: string, parameters: readonly Parameter[], deadline?: Deadline): Promise<Record<string, unknown>[]> {
    deadline?.assert();
    const watch = this.#observer?.statement(sql);
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        watch?.end(error);
        reject(error);
      };
      const run = (thread: Thread): void => {
        watch?.sent();
        let isLeft = false;
        const forget = deadline?.onEnd((error) => {
          isLeft = true;
          thread.late = setTimeout(() => this.#lose(thread), GRACE_MS).unref();
          fail(error);
        });
        const ended =
          <V>(settle: (value: V) => void) =>
          (value: V): void => {
            forget?.();
            if (!isLeft) settle(value);
          };
        const take = (answer: ThreadAnswer): void => {
          if ('error' in answer) {
            fail(errorOf(answer.error));
            return;
          }
          watch?.end();
          this.#note(sql, answer.ms);
          resolve(unpack(answer.packed).map(this.#maker(sql, answer.columns)));
        };
        this.#give(thread, { sql, parameters }, { take: ended(take), fail: ended(fail) });
      };
      const thread = this.#free();
      if (!thread) {
        this.#queue.join(deadline, run, fail);
        return;
      }
      this.#observer?.waited(0);
      run(thread);
    });
  }

  /** Ends all threads. Waiting and running jobs are rejected. */
  async close(): Promise<void> {
    const closed = new FileFault('the database was closed');
    this.#queue.failAll(closed);
    const threads = [...this.#threads];
    for (const { job } of threads) job?.fail(closed);
    await Promise.all(threads.map((thread) => this.#end(thread)));
  }

  #maker(sql: string, columns: readonly string[]): RowMaker {
    const known = this.#makers.get(sql);
    if (known) return known;
    const maker = rowMaker(columns);
    this.#makers.set(sql, maker);
    return maker;
  }

  #free(): Thread | undefined {
    const idle = [...this.#threads].find(isIdle);
    if (idle || this.#threads.size >= this.#most()) return idle;
    return this.#start();
  }

  #most(): number {
    return this.#usual + Math.min(this.#lost.size, MOST_EXTRA);
  }

  #start(): Thread {
    const worker = new Worker(THREAD, { workerData: { file: this.#file } });
    const thread: Thread = { worker, job: undefined, late: undefined };
    this.#threads.add(thread);
    worker.unref();
    worker.on('message', (answer: ThreadAnswer) => this.#answered(thread, answer));
    worker.on('error', (error) => this.#failed(thread, error));
    worker.on('exit', () => this.#failed(thread, new Error('a thread that reads the database has ended')));
    return thread;
  }

  #give(thread: Thread, question: Question, job: Job): void {
    thread.job = job;
    // A pending answer keeps the process alive.
    thread.worker.ref();
    thread.worker.postMessage(question, []);
  }

  #lose(thread: Thread): void {
    this.#lost.add(thread);
    this.#next();
  }

  #answered(thread: Thread, answer: ThreadAnswer): void {
    const { job } = thread;
    thread.job = undefined;
    clearTimeout(thread.late);
    this.#lost.delete(thread);
    thread.worker.unref();
    if (this.#threads.size > this.#most()) void this.#end(thread);
    this.#next();
    job?.take(answer);
  }

  #failed(thread: Thread, error: Error): void {
    if (!this.#threads.delete(thread)) return;
    clearTimeout(thread.late);
    this.#lost.delete(thread);
    thread.job?.fail(error);
    this.#next();
  }

  #next(): void {
    while (this.#queue.size > 0) {
      const thread = this.#free();
      if (!thread) return;
      this.#queue.serve(thread);
    }
  }

  async #end(thread: Thread): Promise<void> {
    this.#threads.delete(thread);
    this.#lost.delete(thread);
    clearTimeout(thread.late);
    // Terminating a thread during a statement would crash the process, so it may finish, up to `GRACE_MS`.
    if (thread.job) await this.#ends(thread);
    await thread.worker.terminate();
  }

  /** Asks a thread to end after its current statement, and waits for its end, up to `GRACE_MS`. */
  async #ends({ worker }: Thread): Promise<void> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), GRACE_MS);
    worker.postMessage(undefined, []);
    await once(worker, 'exit', { signal: late.signal }).catch(() => undefined);
    clearTimeout(timer);
  }
}
