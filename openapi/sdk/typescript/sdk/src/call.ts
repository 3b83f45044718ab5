import { onAbort } from './abort.js';
import { attemptOf, callHooks } from './attempt-hook.js';
import { ApiConnectionError, ApiTimeoutError, UnexpectedReplyError, apiErrorClassOf } from './errors.js';
import type { FailedCall, FailedReply, GatewayError } from './errors.js';
import type { WriteOptions } from './options.js';
import { limitsOf, setHeaders } from './settings.js';
import type { Limits, Settings } from './settings.js';
import { readBody } from './wire/body.js';
import type { Body } from './wire/body.js';
import { connectionFaultOf } from './wire/fault.js';
import { FOREIGN, TOO_LARGE, readFailure, readOutput, readRateLimit } from './wire/reply.js';
import type { GatewayReply } from './wire/reply.js';
import { mayPass, retryAfterOf, waitAfter } from './wire/retry.js';

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

/** Makes a call, with as many attempts as it takes. */
export interface Call {
  <T>(operation: Operation, input: object, options?: WriteOptions): Promise<GatewayReply<T>>;
  /** Waits by the client's clock. @throws the reason of the signal, if that ended it */
  readonly wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** How an attempt ended: with the output, or with an error and, if another attempt may help, after how many seconds. */
type Outcome =
  { readonly reply: GatewayReply<unknown> } | { readonly error: GatewayError; readonly wait: number | null };

/** Sends a request. Returns the reply, the body as text. @throws whatever kept it from that */
const exchange = async (
  { send }: Settings,
  url: string,
  request: { headers: Headers; body: string; signal: AbortSignal },
  connectTimeoutMs: number,
): Promise<FailedReply & Body> => {
  const sent = {
    ...request,
    method: 'POST',
    redirect: 'manual',
    headers: Object.fromEntries(request.headers),
  } as const;
  const response = await send(url, sent, connectTimeoutMs);
  const headers = new Headers();
  // oxlint-disable-next-line unicorn/no-array-for-each -- the one way that every kind of headers has
  response.headers.forEach((value, name) => headers.append(name, value));
  return { status: response.status, headers, ...(await readBody(response)) };
};

/** What a reply means. */
const outcomeOf = (
  operation: Operation,
  call: FailedCall,
  reply: FailedReply & Body,
  { settings, cursor }: { settings: Settings; cursor: unknown },
): Outcome => {
  const { status, headers, body } = reply;
  if (reply.isTooLarge) return { error: new UnexpectedReplyError(call, reply, TOO_LARGE), wait: null };
  if (status >= 400) {
    const failure = readFailure(body, settings.baseUrl);
    // Another server hasn't found the path: this says nothing of a record.
    if (status === 404 && failure === null)
      return { error: new UnexpectedReplyError(call, reply, FOREIGN), wait: null };
    const retryAfter = retryAfterOf(headers, settings.clock.now);
    return {
      error: new (apiErrorClassOf(status))(call, reply, failure, retryAfter),
      wait: mayPass(status, headers, failure?.reason) ? waitAfter(call.attempts, retryAfter) : null,
    };
  }
  const read = readOutput(reply, { ...operation, cursor });
  if ('fault' in read) return { error: new UnexpectedReplyError(call, reply, read.fault), wait: null };
  return {
    reply: {
      data: read.data,
      status,
      headers,
      requestId: headers.get('X-Request-Id'),
      rateLimit: readRateLimit(headers.get('RateLimit')),
      replayed: headers.get('Idempotency-Replayed') === 'true',
      attempts: call.attempts,
      body,
    },
  };
};

/** What it means that there was no whole reply. */
const outcomeWithoutReply = (call: FailedCall, cause: unknown, timedOut: boolean, limits: Limits): Outcome => {
  const { text, isConnectTimeout, isFinal } = connectionFaultOf(cause);
  const wait = waitAfter(call.attempts, null);
  if (timedOut) return { error: new ApiTimeoutError(call, { what: 'reply', ms: limits.timeoutMs }), wait };
  if (isConnectTimeout) {
    return { error: new ApiTimeoutError(call, { what: 'connection', ms: limits.connectTimeoutMs, cause }), wait };
  }
  return { error: new ApiConnectionError(call, { why: text, cause }), wait: isFinal ? null : wait };
};

/** Makes one attempt. @throws the reason of the signal, if that ended it */
const attempt = async (
  settings: Settings,
  operation: Operation,
  call: FailedCall,
  {
    headers,
    body,
    cursor,
    limits,
    signal,
  }: { headers: Headers; body: string; cursor: unknown; limits: Limits; signal: AbortSignal | undefined },
): Promise<Outcome> => {
  signal?.throwIfAborted();
  const ending = new AbortController();
  const end = (): void => ending.abort(signal?.reason);
  const timer = setTimeout(end, limits.timeoutMs);
  const ignore = onAbort(signal, end);
  // A `fetch` of the caller's may not know signals.
  const ended = new Promise<never>((_, reject) => {
    ending.signal.addEventListener('abort', () => reject(ending.signal.reason as Error));
  });
  try {
    const request = { headers, body, signal: ending.signal };
    const sent = exchange(settings, settings.baseUrl + operation.path, request, limits.connectTimeoutMs);
    const reply = await Promise.race([sent, ended]);
    return outcomeOf(operation, call, reply, { settings, cursor });
  } catch (cause) {
    signal?.throwIfAborted();
    return outcomeWithoutReply(call, cause, ending.signal.aborted, limits);
  } finally {
    clearTimeout(timer);
    ignore();
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
  const call = async <T>(operation: Operation, input: object, options: WriteOptions = {}) => {
    const { signal } = options;
    const limits = limitsOf(options, settings.limits);
    const headers = headersOf(settings, operation, options);
    const body = JSON.stringify({ json: input });
    const { cursor } = input as { cursor?: unknown };
    const { id, writes } = operation;
    const idempotencyKey = writes ? headers.get('Idempotency-Key') : null;
    const numbered = !headers.has('X-Retry-Count');
    const facts = { operation: id, origin: settings.origin, idempotencyKey, hasKey: headers.has('Authorization') };

    for (let attempts = 1; ; attempts += 1) {
      if (numbered && attempts > 1) headers.set('X-Retry-Count', String(attempts - 1));
      const began = performance.now();
      const outcome = await attempt(
        settings,
        operation,
        { ...facts, attempts },
        { headers, body, cursor, limits, signal },
      );
      const durationMs = performance.now() - began;
      const isLast = 'reply' in outcome || outcome.wait === null || attempts > limits.maxRetries;
      const waitMs = isLast ? null : outcome.wait * 1000;
      callHooks(settings.hooks, attemptOf(outcome, { operation: id, attempt: attempts, durationMs, waitMs }));
      if ('reply' in outcome) return outcome.reply as GatewayReply<T>;
      if (waitMs === null) throw outcome.error;
      // A hook may have cancelled the call.
      await wait(waitMs, signal);
    }
  };
  return Object.assign(call, { wait });
};
