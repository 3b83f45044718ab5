import { AsyncResource } from 'node:async_hooks';
import { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import { assertRoom } from '../waiting-queue.ts';

interface BatchLoaderOptions<Request, Result> {
  /** Answers requests in order. The deadline is the latest of the requests' deadlines; undefined if one has none. */
  run(requests: Request[], deadline: Deadline | undefined): Promise<Result[]>;
  /** The maximum number of concurrent batches of a group. */
  maxRunning?: number;
  /** The maximum number of requests in a batch. */
  maxBatch?: number;
  /** Is called with the number of requests of each batch. */
  note?: ((requests: number) => void) | undefined;
}

interface WaitingLoad<Request, Result> {
  request: Request;
  deadline: Deadline | undefined;
  /** The async context of the request, if its batch begins later. */
  context?: AsyncResource;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

const MAX_RUNNING = 2;
const MAX_BATCH = 64;
/** More requests are refused, to bound the memory: a request past its deadline stays in the queue until its turn. */
const MAX_WAITING = 5000;

/** A copy of a shared query's error: each caller gets its own, to which it may add. */
const ownError = (error: unknown): unknown => {
  if (error instanceof AppError) return new AppError(error.reason, { ...error.details, cause: error });
  return error instanceof Error ? new Error(error.message, { cause: error }) : error;
};

/** Requests that may share a batch. */
interface LoadGroup<Request, Result> {
  readonly waiting: WaitingLoad<Request, Result>[];
  /** The number of running batches. */
  running: number;
}

/**
 * Answers the requests of a group in batches. While fewer than `maxRunning` batches of the group run, a request is sent
 * at once, alone. Later requests wait, and are sent as one batch. A batch starts after all its requests have arrived,
 * so no answer is older than its request.
 */
export class BatchLoader<Request, Result> {
  readonly #options: BatchLoaderOptions<Request, Result> & { maxRunning: number; maxBatch: number };
  readonly #groups = new Map<string, LoadGroup<Request, Result>>();

  constructor(options: BatchLoaderOptions<Request, Result>) {
    this.#options = { maxRunning: MAX_RUNNING, maxBatch: MAX_BATCH, ...options };
  }

  /**
   * Answers a request, which shares batches only with requests of the group `name`. A request is not sent if its
   * deadline ends while it waits. A batch is cancelled when the deadlines of all its requests have ended.
   * @throws AppError OVERLOADED when too many wait, TIMEOUT when its deadline ended, and the error of the batch
   */
  load(request: Request, deadline?: Deadline, name = ''): Promise<Result> {
    const group = this.#groups.get(name) ?? { waiting: [], running: 0 };
    return new Promise((resolve, reject) => {
      assertRoom(group.waiting.length, MAX_WAITING);
      this.#groups.set(name, group);
      if (group.running < this.#options.maxRunning) {
        void this.#run(name, group, [{ request, deadline, resolve, reject }]);
      } else {
        group.waiting.push({ request, deadline, context: new AsyncResource('BATCH_LOADER'), resolve, reject });
      }
    });
  }

  async #run(
    name: string,
    group: LoadGroup<Request, Result>,
    batch: readonly WaitingLoad<Request, Result>[],
  ): Promise<void> {
    group.running += 1;
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
      group.running -= 1;
      this.#startNext(name, group);
    }
  }

  #startNext(name: string, group: LoadGroup<Request, Result>): void {
    while (group.waiting.length > 0) {
      const batch = group.waiting.splice(0, this.#options.maxBatch);
      const wanted = batch.filter(({ deadline }) => !deadline?.error);
      for (const waiting of batch) if (waiting.deadline?.error) waiting.reject(waiting.deadline.error);
      const [first] = wanted;
      if (!first) continue;
      // The batch runs in the context of the request that waited longest, not in that of the batch that just ended.
      void first.context?.runInAsyncScope(() => this.#run(name, group, wanted));
      return;
    }
    if (group.running === 0) this.#groups.delete(name);
  }
}
