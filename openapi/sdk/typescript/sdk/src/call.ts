import { onAbort } from './abort.js';
import { attemptOf, callHooks } from './attempt-hook.js';
import { ApiConnectionError, ApiTimeoutError, UnexpectedReplyError, apiErrorClassOf } from './errors.js';
import type { FailedCall, FailedReply, Failure, GatewayError } from './errors.js';
import type { CallOptions, FetchReply, WriteOptions } from './options.js';
import { limitsOf, setHeaders } from './settings.js';
import type { Limits, Settings } from './settings.js';
import { CUT_OFF, readBody, requestBody } from './wire/body.js';
import type { Body } from './wire/body.js';
import { connectionFaultOf } from './wire/fault.js';
import {
  FOREIGN,
  NO_STREAM,
  TOO_LARGE,
  mediaTypeOf,
  readEvent,
  readFailure,
  readOutput,
  readRateLimit,
  readStatus,
} from './wire/reply.js';
import type { GatewayReply } from './wire/reply.js';
import { mayPass, retryAfterOf, waitAfter } from './wire/retry.js';
import { MessageStream } from './wire/stream.js';
import type { Message } from './wire/messages.js';
import type { Turns } from './turns.js';

/** An operation of the contract. */
export interface Operation {
  /** Its id, such as `game.getById`. */
  readonly id: string;
  /** Its path below the base URL. */
  readonly path: string;
  /** Whether it takes an `Idempotency-Key`. */
  readonly writes: boolean;
  /** Whether its output is a page of a list. */
  readonly paged: boolean;
  /** The members that every output has. */
  readonly members: readonly string[];
}

/** What opening a stream may set. */
export interface StreamOptions extends CallOptions {
  /** How long it may be silent, in milliseconds. */
  readonly silenceMs: number;
  /** The longest that an attempt to open it may take, if that is less than the timeout. */
  readonly openingMs?: number;
}

/** A stream that has begun. */
export interface EventStream {
  readonly messages: MessageStream;
  /** The event in a message; undefined if there is none. */
  readonly read: (data: string) => object | undefined;
  /** What a message says that tells of a failure. */
  readonly failureIn: (message: Message) => { readonly error: GatewayError; readonly wait: number | null };
  /** The error of a message that can't be read. */
  readonly unreadable: (data: string) => GatewayError;
}

/** The type of messages that tell of a failure. */
export const FAILURE = 'serialized-error';

/** Makes a call, with as many attempts as it takes. */
export interface Call {
  <T>(operation: Operation, input: object, options?: WriteOptions): Promise<GatewayReply<T>>;
  /** Opens a stream, with as many attempts as it takes. An attempt lasts until the first message. */
  readonly open: (operation: Operation, input: object, options: StreamOptions) => Promise<EventStream>;
  /** Waits by the client's clock. @throws the reason of the signal, if that ended it */
  readonly wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** What an attempt is made with. */
interface Trying {
  readonly headers: Headers;
  readonly call: FailedCall;
  readonly limits: Limits;
  /** Aborted when its time is over, or the caller has cancelled it. */
  readonly ending: AbortController;
}

/** How an attempt ended: with the reply, or with an error and, if another attempt may help, after how many seconds. */
type Outcome<T> = { readonly reply: GatewayReply<T> } | { readonly error: GatewayError; readonly wait: number | null };

/** A failure, and whether another attempt may help. */
type Failed = Extract<Outcome<never>, { readonly error: GatewayError }>;

type Try<T> = (trying: Trying) => Promise<Outcome<T>>;

/** What differs between attempts of calls and of streams. */
interface Kind<T> {
  readonly tried: Try<T>;
  /** What lets an attempt begin. */
  readonly turns?: Pick<Turns, 'take' | 'give'>;
}

const headersIn = (response: FetchReply): Headers => {
  const headers = new Headers();
  // oxlint-disable-next-line unicorn/no-array-for-each -- the one way that every kind of headers has
  response.headers.forEach((value, name) => headers.append(name, value));
  return headers;
};

const bodyOf = async (response: FetchReply): Promise<FailedReply & Body> => ({
  status: response.status,
  headers: headersIn(response),
  ...(await readBody(response)),
});

/** What all replies tell. */
const repliedWith = <T>(
  { attempts }: FailedCall,
  { status, headers, body }: FailedReply,
  data: T,
): { reply: GatewayReply<T> } => ({
  reply: {
    data,
    status,
    headers,
    requestId: headers.get('X-Request-Id'),
    rateLimit: readRateLimit(headers.get('RateLimit')),
    replayed: headers.get('Idempotency-Replayed') === 'true',
    attempts,
    body,
  },
});

const refused = (call: FailedCall, reply: FailedReply, failure: Failure | null, retryAfter: number | null): Failed => ({
  error: new (apiErrorClassOf(reply.status))(call, reply, failure, retryAfter),
  wait: mayPass(reply.status, reply.headers, failure?.reason) ? waitAfter(call.attempts, retryAfter) : null,
});

/** What a reply means that isn't an output; undefined if it may be one. */
const failedOutcomeOf = (
  call: FailedCall,
  reply: FailedReply & Body,
  { baseUrl, clock }: Settings,
): Outcome<never> | undefined => {
  if (reply.isTooLarge) return { error: new UnexpectedReplyError(call, reply, TOO_LARGE), wait: null };
  if (reply.status < 400) return undefined;
  const failure = readFailure(reply.body, baseUrl);
  // Another server hasn't found the path: this says nothing of a record.
  if (reply.status === 404 && failure === null)
    return { error: new UnexpectedReplyError(call, reply, FOREIGN), wait: null };
  return refused(call, reply, failure, retryAfterOf(reply.headers, clock.now));
};

/** Calls an operation that answers once. */
const callOnce = <T>(settings: Settings, operation: Operation, input: object): Try<T> => {
  const body = requestBody(operation.id, input);
  const { cursor } = (input ?? {}) as { cursor?: unknown };
  return async ({ headers, call, limits, ending }) => {
    const request = {
      method: 'POST',
      redirect: 'manual',
      headers: Object.fromEntries(headers),
      body,
      signal: ending.signal,
    } as const;
    const sent = settings.send(settings.baseUrl + operation.path, request, limits.connectTimeoutMs);
    const reply = await bodyOf(await sent);
    const failed = failedOutcomeOf(call, reply, settings);
    if (failed) return failed;
    const read = readOutput(reply, { ...operation, cursor });
    if ('fault' in read) {
      // It broke off on its way, as where a connection breaks.
      const wait = read.fault === CUT_OFF ? waitAfter(call.attempts, null) : null;
      return { error: new UnexpectedReplyError(call, reply, read.fault), wait };
    }
    return repliedWith(call, reply, read.data as T);
  };
};

/** What a failure means that came as a message of a stream. */
const refusedByMessage = (
  call: FailedCall,
  { headers }: FailedReply,
  { data, retryMs }: Message,
  { baseUrl }: Settings,
): Failed => {
  const body = `{"error":${data}}`;
  const failure = readFailure(body, baseUrl);
  const reply = { status: readStatus(body), headers, body };
  const passes = mayPass(reply.status, headers, failure?.reason);
  return refused(call, reply, failure, passes && retryMs !== undefined ? retryMs / 1000 : null);
};

/** Opens a stream, up to its first message. */
const openStream =
  (settings: Settings, operation: Operation, sent: string, { silenceMs, signal }: StreamOptions): Try<EventStream> =>
  async ({ headers, call, limits, ending }) => {
    const query = new URLSearchParams({ input: sent });
    const request = {
      method: 'GET',
      redirect: 'manual',
      headers: Object.fromEntries(headers),
      signal: ending.signal,
    } as const;
    const url = `${settings.baseUrl}${operation.path}?${query.toString()}`;
    const response = await settings.sendForStream(url, request, limits.connectTimeoutMs);
    const told = { status: response.status, headers: headersIn(response), body: '' };
    if (told.status !== 200 || mediaTypeOf(told.headers) !== 'text/event-stream') {
      const reply = await bodyOf(response);
      const failed = failedOutcomeOf(call, reply, settings);
      return failed ?? { error: new UnexpectedReplyError(call, reply, NO_STREAM), wait: null };
    }
    const messages = new MessageStream(response, { silenceMs, signal, ending });
    const failureIn = (message: Message): Failed => refusedByMessage(call, told, message, settings);
    const unreadable = (body: string): GatewayError =>
      new UnexpectedReplyError(call, { ...told, body }, ' with an event that is not readable');
    const first = await messages.begin();
    if (first.event !== FAILURE) return repliedWith(call, told, { messages, read: readEvent, failureIn, unreadable });
    return failureIn(first);
  };

/** What it means that there was no whole reply. */
const outcomeWithoutReply = (call: FailedCall, cause: unknown, timedOut: boolean, limits: Limits): Outcome<never> => {
  const { text, isConnectTimeout, isFinal } = connectionFaultOf(cause);
  const wait = waitAfter(call.attempts, null);
  if (timedOut) return { error: new ApiTimeoutError(call, { what: 'reply', ms: limits.timeoutMs }), wait };
  if (isConnectTimeout) {
    return { error: new ApiTimeoutError(call, { what: 'connection', ms: limits.connectTimeoutMs, cause }), wait };
  }
  return { error: new ApiConnectionError(call, { why: text, cause }), wait: isFinal ? null : wait };
};

/** Makes one attempt. @throws the reason of the signal, if that ended it */
const attempt = async <T>(
  tried: Try<T>,
  trying: Omit<Trying, 'ending'>,
  signal: AbortSignal | undefined,
): Promise<Outcome<T>> => {
  signal?.throwIfAborted();
  const { call, limits } = trying;
  const ending = new AbortController();
  const end = (): void => ending.abort(signal?.reason);
  const timer = setTimeout(end, limits.timeoutMs);
  const ignore = onAbort(signal, end);
  // A `fetch` of the caller's may not know signals.
  const ended = new Promise<never>((_, reject) => {
    ending.signal.addEventListener('abort', () => reject(ending.signal.reason as Error));
  });
  try {
    const outcome = await Promise.race([tried({ ...trying, ending }), ended]);
    // A stream that tells of a failure may stay open.
    if ('error' in outcome) ending.abort();
    return outcome;
  } catch (cause) {
    signal?.throwIfAborted();
    return outcomeWithoutReply(call, cause, ending.signal.aborted, limits);
  } finally {
    clearTimeout(timer);
    ignore();
  }
};

/** Makes one attempt, when it is its turn. Its time begins then. */
const attemptInTurn = async <T>(
  { tried, turns }: Kind<T>,
  trying: Omit<Trying, 'ending'>,
  signal: AbortSignal | undefined,
): Promise<{ outcome: Outcome<T>; durationMs: number }> => {
  await turns?.take(signal);
  const began = performance.now();
  try {
    return { outcome: await attempt(tried, trying, signal), durationMs: performance.now() - began };
  } finally {
    turns?.give();
  }
};

/** The headers of a call, without those that number its attempts. */
const headersOf = (
  { headers: ours }: Settings,
  { writes }: Operation,
  { headers: more, idempotencyKey }: WriteOptions,
): Headers => {
  const headers = new Headers(ours);
  if (writes && (idempotencyKey !== undefined || !headers.has('Idempotency-Key'))) {
    setHeaders(headers, { 'Idempotency-Key': idempotencyKey ?? crypto.randomUUID() });
  }
  setHeaders(headers, more);
  return headers;
};

/**
 * Makes the calls of a client. The loop is our own: the retry libraries there are know neither a clock to test with nor
 * what a reply says of the wait.
 */
export const createCall = (settings: Settings): Call => {
  const wait = async (ms: number, signal: AbortSignal | undefined): Promise<void> => {
    signal?.throwIfAborted();
    await settings.clock.sleep(ms, signal);
    signal?.throwIfAborted();
  };

  const attemptsOf = async <T>(
    operation: Operation,
    headers: Headers,
    options: CallOptions,
    kind: Kind<T>,
  ): Promise<GatewayReply<T>> => {
    const { signal } = options;
    const limits = limitsOf(options, settings.limits);
    const { id, writes } = operation;
    const idempotencyKey = writes ? headers.get('Idempotency-Key') : null;
    const numbered = !headers.has('X-Retry-Count');
    const facts = { operation: id, origin: settings.origin, idempotencyKey, hasKey: headers.has('Authorization') };

    for (let attempts = 1; ; attempts += 1) {
      if (numbered && attempts > 1) headers.set('X-Retry-Count', String(attempts - 1));
      const trying = { headers, call: { ...facts, attempts }, limits };
      const { outcome, durationMs } = await attemptInTurn(kind, trying, signal);
      const isLast = 'reply' in outcome || outcome.wait === null || attempts > limits.maxRetries;
      const waitMs = isLast ? null : outcome.wait * 1000;
      callHooks(settings.hooks, attemptOf(outcome, { operation: id, attempt: attempts, durationMs, waitMs }));
      if ('reply' in outcome) return outcome.reply;
      if (waitMs === null) throw outcome.error;
      // A hook may have cancelled the call.
      await wait(waitMs, signal);
    }
  };

  const call = async <T>(operation: Operation, input: object, given?: WriteOptions | null) => {
    const options = given ?? {};
    const headers = headersOf(settings, operation, options);
    const kind = { tried: callOnce<T>(settings, operation, input), turns: settings.turns };
    return attemptsOf(operation, headers, options, kind);
  };
  const open = async (operation: Operation, input: object, options: StreamOptions): Promise<EventStream> => {
    const headers = headersOf(settings, operation, options);
    headers.delete('Content-Type');
    headers.set('Accept', 'text/event-stream');
    const stream = openStream(settings, operation, requestBody(operation.id, input), options);
    const { timeoutMs } = limitsOf(options, settings.limits);
    const limited = { ...options, timeoutMs: Math.min(timeoutMs, options.openingMs ?? timeoutMs) };
    return (await attemptsOf(operation, headers, limited, { tried: stream })).data;
  };
  return Object.assign(call, { open, wait });
};
