import { ApiConnectionError, ApiTimeoutError, UnexpectedReplyError, apiErrorClassOf } from './errors.js';
import type { FailedCall, FailedReply, GatewayError } from './errors.js';
import { connectionFaultOf } from './fault.js';
import { limitsOf, setHeaders } from './options.js';
import type { Limits, Settings, WriteOptions } from './options.js';
import { FOREIGN, readFailure, readOutput, readRateLimit } from './reply.js';
import type { GatewayReply } from './reply.js';
import { mayPass, retryAfterOf, waitAfter } from './retry.js';

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
export type Call = <T>(operation: Operation, input: object, options?: WriteOptions) => Promise<GatewayReply<T>>;

/** How an attempt ended: with the output, or with an error and, if another attempt may help, after how many seconds. */
type Outcome =
  { readonly reply: GatewayReply<unknown> } | { readonly error: GatewayError; readonly wait: number | null };

/** Sends a request. Returns the whole reply, the body as text. @throws whatever kept it from that */
const exchange = async (
  { send }: Settings,
  url: string,
  request: { headers: Headers; body: string; signal: AbortSignal },
  connectTimeoutMs: number,
): Promise<FailedReply> => {
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
  return { status: response.status, headers, body: await response.text() };
};

/** What a whole reply means. */
const outcomeOf = (
  operation: Operation,
  call: FailedCall,
  reply: FailedReply,
  { settings, cursor }: { settings: Settings; cursor: unknown },
): Outcome => {
  const { status, headers, body } = reply;
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
  signal?.addEventListener('abort', end, { once: true });
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
    signal?.removeEventListener('abort', end);
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
export const createCall =
  (settings: Settings): Call =>
  async <T>(operation: Operation, input: object, options: WriteOptions = {}) => {
    const { signal } = options;
    const limits = limitsOf(options, settings.limits);
    const headers = headersOf(settings, operation, options);
    const body = JSON.stringify({ json: input });
    const { cursor } = input as { cursor?: unknown };
    const idempotencyKey = operation.writes ? headers.get('Idempotency-Key') : null;
    const numbered = !headers.has('X-Retry-Count');

    for (let attempts = 1; ; attempts += 1) {
      if (numbered && attempts > 1) headers.set('X-Retry-Count', String(attempts - 1));
      const call = { operation: operation.id, origin: settings.origin, attempts, idempotencyKey };
      const outcome = await attempt(settings, operation, call, { headers, body, cursor, limits, signal });
      if ('reply' in outcome) return outcome.reply as GatewayReply<T>;
      if (outcome.wait === null || attempts > limits.maxRetries) throw outcome.error;
      await settings.clock.sleep(outcome.wait * 1000, signal);
      signal?.throwIfAborted();
    }
  };
