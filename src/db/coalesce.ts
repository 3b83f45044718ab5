import { AsyncResource } from 'node:async_hooks';
import { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';

interface Options<Request, Result> {
  /** Answers requests, in their order. The deadline is that of those that asked for it with one, all together. */
  run(requests: Request[], deadline: Deadline | undefined): Promise<Result[]>;
  /** Batches that may be under way at the same time. */
  maxRunning?: number;
  /** Requests in a batch. */
  maxBatch?: number;
  /** Hears how many requests each batch has. */
  note?: ((requests: number) => void) | undefined;
}

interface Waiting<Request, Result> {
  request: Request;
  deadline: Deadline | undefined;
  /** Where it was asked for, if that was before its batch begins. */
  asked?: AsyncResource;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

const MAX_RUNNING = 2;
const MAX_BATCH = 64;
/** Beyond, requests are refused, so that memory has a bound: a deadline ends what waits when its turn comes. */
const MAX_WAITING = 5000;

/** Whoever fails because of another's query gets an error that nobody else adds to. */
const ownError = (error: unknown): unknown => {
  if (error instanceof AppError) return new AppError(error.reason, { ...error.details, cause: error });
  return error instanceof Error ? new Error(error.message, { cause: error }) : error;
};

/**
 * Answers requests that wait for the database together. While few batches are under way a request is sent at once, alone;
 * beyond, those that wait go out as one. A batch starts after each of its requests has arrived, so that no answer is older
 * than its request.
 */
export class Coalescer<Request, Result> {
  readonly #options: Options<Request, Result> & { maxRunning: number; maxBatch: number };
  /** By what may share a batch, in the order of arrival. */
  readonly #groups = new Map<string, Waiting<Request, Result>[]>();
  #waiting = 0;
  #running = 0;

  constructor(options: Options<Request, Result>) {
    this.#options = { maxRunning: MAX_RUNNING, maxBatch: MAX_BATCH, ...options };
  }

  /**
   * The answer to a request, which shares batches with those of its group only. One whose deadline ends while it waits is
   * not sent; a batch is given up when it has ended for each that shares it.
   * @throws AppError OVERLOADED when too many wait, TIMEOUT when its deadline ended, and what the batch failed with
   */
  load(request: Request, deadline?: Deadline, group = ''): Promise<Result> {
    if (this.#waiting >= MAX_WAITING) return Promise.reject(new AppError('OVERLOADED'));
    return new Promise((resolve, reject) => {
      if (this.#running < this.#options.maxRunning) {
        void this.#run([{ request, deadline, resolve, reject }]);
        return;
      }
      const waiting = { request, deadline, asked: new AsyncResource('COALESCER'), resolve, reject };
      const members = this.#groups.get(group);
      if (members) members.push(waiting);
      else this.#groups.set(group, [waiting]);
      this.#waiting += 1;
    });
  }

  async #run(batch: readonly Waiting<Request, Result>[]): Promise<void> {
    this.#running += 1;
    this.#options.note?.(batch.length);
    const deadline = Deadline.ofAll(batch.map((waiting) => waiting.deadline));
    try {
      const results = await this.#options.run(
        batch.map(({ request }) => request),
        deadline,
      );
      for (const [index, waiting] of batch.entries()) waiting.resolve(results[index] as Result);
    } catch (error) {
      for (const waiting of batch) waiting.reject(batch.length === 1 ? error : ownError(error));
    } finally {
      if (batch.length > 1) deadline?.close();
      this.#running -= 1;
      this.#startNext();
    }
  }

  #startNext(): void {
    for (;;) {
      const [next] = this.#groups;
      if (!next) return;
      const [group, members] = next;
      this.#groups.delete(group);
      const batch = members.splice(0, this.#options.maxBatch);
      // What is left has to let the other groups pass.
      if (members.length > 0) this.#groups.set(group, members);
      this.#waiting -= batch.length;
      const wanted = batch.filter(({ deadline }) => !deadline?.error);
      for (const waiting of batch) if (waiting.deadline?.error) waiting.reject(waiting.deadline.error);
      const [first] = wanted;
      if (!first) continue;
      // It belongs to whoever has waited longest, and not to the one whose batch has just ended.
      void first.asked?.runInAsyncScope(() => this.#run(wanted));
      return;
    }
  }
}
