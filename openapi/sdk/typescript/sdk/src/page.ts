import type { Call, Operation } from './call.js';
import type { CallOptions, ListAllOptions } from './options.js';
import { gatewayPromise } from './promise.js';
import type { GatewayPromise } from './promise.js';
import { UsageError } from './usage-error.js';
import type { GatewayReply } from './wire/reply.js';

/** What the output of a list has. */
interface ListOutput {
  items: unknown[];
  nextCursor: string | null;
}

/** The parameters of a list that say which page. */
interface ListInput {
  page?: number | undefined;
  limit?: number | undefined;
  cursor?: string | undefined;
}

/** A page of a list: the output, and the way to the next page. */
export type Page<O> = O & {
  /** Whether there is a next page. */
  readonly hasNextPage: boolean;
  /** Fetches the next page, with the same parameters and options. Rejects with a `UsageError` if there is none. */
  nextPage: () => GatewayPromise<Page<O>>;
};

/** How many records a page has where the caller doesn't say. */
const RECORDS_PER_PAGE = 20;

/** How many records are fetched at once for a walk where the caller doesn't say. */
const RECORDS_PER_PAGE_OF_WALK = 100;

/** What a page is fetched with. */
interface Request {
  readonly operation: Operation;
  readonly input: ListInput;
  readonly options: CallOptions | undefined;
}

const nextOf = ({ operation, input, options }: Request, cursor: string | null): Request => {
  if (cursor === null) throw new UsageError(`${operation.id}: there is no next page: hasNextPage says so`);
  const { page } = input;
  return { operation, input: { ...input, cursor, ...(page !== undefined && { page: page + 1 }) }, options };
};

/** The input with what the service wants to be told. A list begins at its first page, unless it begins at a cursor. */
const completed = (given: ListInput | null, perPage: number): ListInput => {
  const input = given ?? {};
  const { page = input.cursor === undefined ? 1 : undefined, limit = perPage } = input;
  return { ...input, page, limit };
};

/** The way to the next page isn't enumerable: as JSON, a page is what the service sent. */
const replyWithPage = async <O extends ListOutput>(call: Call, request: Request): Promise<GatewayReply<Page<O>>> => {
  const reply = await call<O>(request.operation, request.input, request.options);
  const { nextCursor } = reply.data;
  const fetchNext = async (): Promise<GatewayReply<Page<O>>> => replyWithPage<O>(call, nextOf(request, nextCursor));
  Object.defineProperties(reply.data, {
    hasNextPage: { value: nextCursor !== null },
    nextPage: { value: () => gatewayPromise(fetchNext()) },
  });
  return reply as GatewayReply<Page<O>>;
};

/** Fetches a page of a list. */
export const fetchPage = <O extends ListOutput>(
  call: Call,
  operation: Operation,
  input: ListInput,
  options?: CallOptions,
): GatewayPromise<Page<O>> =>
  gatewayPromise(replyWithPage<O>(call, { operation, input: completed(input, RECORDS_PER_PAGE), options }));

/** Iterates over the pages of a list, from the first anew each time. A page is fetched when it is asked for. */
export const iteratePages = <O extends ListOutput>(
  call: Call,
  operation: Operation,
  input: ListInput,
  options?: CallOptions,
): AsyncIterable<Page<O>> => ({
  async *[Symbol.asyncIterator]() {
    let request: Request = { operation, input: completed(input, RECORDS_PER_PAGE_OF_WALK), options };
    for (;;) {
      const { data } = await replyWithPage<O>(call, request);
      yield data;
      if (!data.hasNextPage) return;
      request = nextOf(request, data.nextCursor);
    }
  },
});

/** @throws UsageError if it is no whole number from 1 */
const checkMaxRecords = (maxRecords: number): void => {
  if (maxRecords !== Infinity && !(Number.isInteger(maxRecords) && maxRecords >= 1)) {
    throw new UsageError(`maxRecords must be a whole number from 1, and is ${maxRecords}`);
  }
};

/** Iterates over the records of a list, from the first page anew each time. A page is fetched when its first record is asked for. */
export const iterate = <T>(
  call: Call,
  operation: Operation,
  input: ListInput,
  given?: ListAllOptions | null,
): AsyncIterable<T> => ({
  async *[Symbol.asyncIterator]() {
    const { maxRecords = Infinity, ...options } = given ?? {};
    checkMaxRecords(maxRecords);
    let left = maxRecords;
    for await (const { items } of iteratePages<{ items: T[]; nextCursor: string | null }>(
      call,
      operation,
      input,
      options,
    )) {
      yield* items.slice(0, left);
      left -= items.length;
      if (left <= 0) return;
    }
  },
});
