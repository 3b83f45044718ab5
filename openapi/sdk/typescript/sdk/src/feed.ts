// {{#events}}
import { FAILURE } from './call.js';
import type { Call, EventStream, Operation, StreamOptions } from './call.js';
import { ApiError, ApiTimeoutError, GatewayError, UnexpectedReplyError } from './errors.js';
import type { CallOptions } from './options.js';
import { checkTimeout } from './settings.js';
import { waitAfter } from './wire/retry.js';
import { NoMessageError } from './wire/stream.js';

/** What following a stream may set. */
export interface TailOptions extends CallOptions {
  /** How long the stream may be silent before it is opened anew, in milliseconds. The service says something every 10 s. Default: 30 000. */
  silenceMs?: number | undefined;
}

/** What following a feed may set. */
export interface FollowOptions extends TailOptions {
  /** How long to wait where no more is there yet, before asking again, in milliseconds, if there is no stream. Default: 1 000. */
  pollMs?: number | undefined;
}

/**
 * What happens, one by one, without an end: `for await` waits for what comes next. It begins when it is iterated, and goes on
 * where it was when it is iterated again, also after an error. To leave the loop closes its connection.
 */
export interface Feed<T> {
  /**
   * From where to go on after a restart, as `after`: all before it has been taken. It moves on when you ask for more, so after a
   * restart some may come again. Undefined before it first does.
   */
  readonly cursor: string | undefined;
  /** Resolves with what comes next. Rejects with what a call rejects with; asked again, it tries again. */
  next: () => Promise<IteratorYieldResult<T>>;
  /** Closes the connection, until it is asked for more. */
  return: () => Promise<IteratorReturnResult<undefined>>;
  /** This feed. */
  [Symbol.asyncIterator]: () => Feed<T>;
}

/** What the output of a feed has. */
interface FeedOutput<T> {
  items: T[];
  nextCursor: string;
  hasMore: boolean;
}

/** Something that came; or how far all that came before has been taken. */
type Step<T> = { readonly value: T } | { readonly cursor: string };

/** The parameters of a feed that say from where. */
interface FeedInput {
  after?: string | undefined;
  start?: string | undefined;
  limit?: number | undefined;
}

const POLL_MS = 1000;
const SILENCE_MS = 30_000;
/** The first message comes at once, unless something on the way holds it back. */
const FIRST_MESSAGE_MS = 10_000;
/** After how many pages to see whether there is a stream now. */
const POLLS_UNTIL_STREAM = 30;
/** From so many milliseconds on, a stream says that it fails for a longer time. */
const LONG_RETRY_MS = 60_000;

/** A place in a feed, and the stream that leads on from there. */
class Place {
  cursor: string | undefined;
  stream: EventStream | undefined;

  /** The input of what follows. */
  inputFrom({ start, ...input }: FeedInput): FeedInput {
    if (this.cursor !== undefined) return { ...input, after: this.cursor };
    return { ...input, ...(input.after === undefined && { start: start ?? 'latest' }) };
  }
}

/** What a stream brings until it breaks, and the wait until the next. @throws GatewayError if it tells of a failure that won't pass */
async function* stepsOf<T>(
  call: Call,
  stream: EventStream,
  signal: AbortSignal | undefined,
): AsyncGenerator<Step<T>, void> {
  const { messages } = stream;
  for (let message = await messages.next(); message; message = await messages.next()) {
    if (message.event === FAILURE) {
      const { error, wait } = stream.failureIn(message);
      messages.close();
      if (wait === null) throw error;
    } else if (message.event === '' || message.event === 'message') {
      const value = stream.read(message.data);
      if (!value) throw stream.unreadable(message.data);
      yield { value: value as T };
    }
    if (message.id !== undefined) yield { cursor: message.id };
  }
  if (messages.isLeft) return;
  const { retryMs = LONG_RETRY_MS } = messages;
  const backoff = 1000 * (waitAfter(1, null) ?? 0);
  await call.wait(retryMs < LONG_RETRY_MS ? retryMs : backoff, signal);
}

/** Makes a feed of steps, which begin anew after an error. */
const feedOf = <T>(place: Place, begin: () => AsyncGenerator<Step<T>, never>): Feed<T> => {
  let steps: AsyncGenerator<Step<T>, never> | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  const take = async (): Promise<IteratorYieldResult<T>> => {
    steps ??= begin();
    try {
      for (;;) {
        const { value: step } = await steps.next();
        if ('value' in step) return { done: false, value: step.value };
        place.cursor = step.cursor;
      }
    } catch (error) {
      place.stream?.messages.close();
      steps = undefined;
      throw error;
    }
  };

  const feed: Feed<T> = {
    get cursor() {
      return place.cursor;
    },
    next: () => {
      const result = turn.then(take);
      turn = result.catch(() => {});
      return result;
    },
    return: async () => {
      place.stream?.messages.leave();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => feed,
  };
  return feed;
};

const optionsOf = (given: TailOptions | null | undefined): StreamOptions => {
  const { silenceMs = SILENCE_MS, ...options } = given ?? {};
  checkTimeout('silenceMs', silenceMs);
  return { ...options, silenceMs };
};

/** Follows a stream. @throws UsageError if `silenceMs` is out of range */
export const tail = <T>(call: Call, operation: Operation, input: FeedInput | null, options?: TailOptions): Feed<T> => {
  const place = new Place();
  const all = optionsOf(options);
  return feedOf<T>(place, async function* () {
    for (;;) {
      place.stream = await call.open(operation, place.inputFrom(input ?? {}), all);
      yield* stepsOf<T>(call, place.stream, all.signal);
    }
  });
};

/** Whether a service, or what is between, has no streams at all. */
const hasNoStreams = (error: GatewayError): boolean =>
  error instanceof UnexpectedReplyError ||
  (error instanceof ApiError && (error.status === 404 || error.status === 405)) ||
  (error instanceof ApiTimeoutError && error.cause === undefined) ||
  error.cause instanceof NoMessageError;

/** Follows a feed by its stream, or page by page while there is none. @throws UsageError if an option is out of range */
export const follow = <T>(
  call: Call,
  operations: { list: Operation; tail: Operation },
  given: FeedInput | null,
  followOptions?: FollowOptions | null,
): Feed<T> => {
  const { limit, ...input } = given ?? {};
  const { pollMs = POLL_MS, ...options } = followOptions ?? {};
  checkTimeout('pollMs', pollMs);
  const { silenceMs: _, ...common } = options;
  const place = new Place();
  const all = optionsOf(options);
  const opening = { ...all, maxRetries: 0, openingMs: FIRST_MESSAGE_MS };
  let pollsUntilStream = 0;

  const streamIfThereIsOne = async (): Promise<EventStream | undefined> => {
    try {
      return await call.open(operations.tail, place.inputFrom(input), opening);
    } catch (error) {
      // What is wrong with the call itself, the pages tell.
      if (!(error instanceof GatewayError)) throw error;
      pollsUntilStream = hasNoStreams(error) ? Infinity : POLLS_UNTIL_STREAM;
      return undefined;
    }
  };

  return feedOf<T>(place, async function* () {
    for (;;) {
      place.stream = pollsUntilStream === 0 ? await streamIfThereIsOne() : undefined;
      if (place.stream) {
        yield* stepsOf<T>(call, place.stream, all.signal);
        continue;
      }
      const page = await call<FeedOutput<T>>(operations.list, { ...place.inputFrom(input), limit }, common);
      pollsUntilStream -= 1;
      const { items, nextCursor, hasMore } = page.data;
      for (const value of items) yield { value };
      yield { cursor: nextCursor };
      if (!hasMore) await call.wait(pollMs, all.signal);
    }
  });
};
// {{/events}}
