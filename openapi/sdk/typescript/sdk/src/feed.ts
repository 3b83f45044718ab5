// {{#events}}
import type { Call, Operation } from './call.js';
import type { CallOptions } from './options.js';
import { checkTimeout } from './settings.js';

/** What following a feed may set. */
export interface FollowOptions extends CallOptions {
  /** How long to wait where no more is there yet, before asking again, in milliseconds. Default: 1 000. */
  pollMs?: number | undefined;
}

/**
 * What happens, one by one, without an end: `for await` waits for what comes next. It begins when it is iterated, and goes on
 * where it was when it is iterated again, also after an error.
 */
export interface Feed<T> {
  /**
   * From where to go on after a restart, as `after`: all before it has been taken. It moves on when you ask for more after the
   * last of a page, so after a restart some may come again. Undefined before it first does.
   */
  readonly cursor: string | undefined;
  /** Resolves with what comes next. Rejects with what a call rejects with; asked again, it tries again. */
  next: () => Promise<IteratorYieldResult<T>>;
  /** This feed. */
  [Symbol.asyncIterator]: () => Feed<T>;
}

/** What the output of a feed has. */
interface FeedOutput<T> {
  items: T[];
  nextCursor: string;
  hasMore: boolean;
}

const POLL_MS = 1000;

/** Follows a feed. @throws TypeError if `pollMs` is out of range */
export const follow = <T>(
  call: Call,
  operation: Operation,
  input: object,
  { pollMs = POLL_MS, ...options }: FollowOptions = {},
): Feed<T> => {
  checkTimeout('pollMs', pollMs);
  let cursor: string | undefined;
  let page: FeedOutput<T> | undefined;
  let left: Iterator<T> = [].values();
  let turn: Promise<unknown> = Promise.resolve();

  const fetchNext = async (): Promise<FeedOutput<T>> => {
    const after = cursor === undefined ? {} : { after: cursor };
    return (await call<FeedOutput<T>>(operation, { ...input, ...after }, options)).data;
  };

  const take = async (): Promise<IteratorYieldResult<T>> => {
    for (;;) {
      const { done, value } = left.next();
      if (!done) return { done: false, value };
      const taken = page;
      page = undefined;
      if (taken) cursor = taken.nextCursor;
      if (taken?.hasMore === false) await call.wait(pollMs, options.signal);
      page = await fetchNext();
      left = page.items.values();
    }
  };

  const feed = {
    get cursor() {
      return cursor;
    },
    next: () => {
      const result = turn.then(take);
      turn = result.catch(() => {});
      return result;
    },
    [Symbol.asyncIterator]: () => feed,
  };
  return feed;
};
// {{/events}}
