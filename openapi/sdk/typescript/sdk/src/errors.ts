import type { Issue } from './generated/types.js';
import { mediaTypeOf } from './wire/reply.js';

/** The call that failed. */
export interface FailedCall {
  /** The procedure, such as `game.create`. */
  readonly operation: string;
  /** Where the request went, such as `{{homepage}}`. */
  readonly origin: string;
  /** How many attempts were made. */
  readonly attempts: number;
  /** What the service knows a repeated write by; null of reads. */
  readonly idempotencyKey: string | null;
  /** Whether it had a key. Default: true. */
  readonly hasKey?: boolean | undefined;
}

/** The reply that it failed with. */
export interface FailedReply {
  /** The HTTP status. */
  readonly status: number;
  /** The headers. */
  readonly headers: Headers;
  /** The body as it came. */
  readonly body: string;
}

/** What the service says of a failure. */
export interface Failure {
  /** The failure in words. */
  readonly message: string;
  /** The stable cause. */
  readonly reason: string;
  /** The kind. */
  readonly code: string | null;
  /** Every fault of the input. */
  readonly issues: readonly Issue[];
  /** What to do about it. */
  readonly hint: string | null;
  /** The page about the reason. */
  readonly docs?: string | null;
  /** Finds the request in the operator's log. */
  readonly requestId: string | null;
}

const MAX_ISSUES = 10;
const MAX_BODY = 500;

/** The end of a text: which request it was, and after how many attempts, if there were more than one. */
const tailOf = (requestId: string | null, attempts: number): string => {
  const request = requestId ? [`request ${requestId}`] : [];
  const after = attempts > 1 ? [`after ${attempts} attempts`] : [];
  const parts = [...request, ...after];
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
};

const retryOf = (retryAfter: number | null): string =>
  retryAfter !== null && retryAfter > 0 ? ` Retry after ${Math.ceil(retryAfter)} s.` : '';

/** The service's hint, unless the SDK knows better what its caller can do. */
const hintOf = ({ reason, hint }: Failure, { hasKey = true }: FailedCall): string => {
  const ours = reason === 'KEY_MISSING' && !hasKey ? 'Give apiKey, or set {{environment}}_API_KEY.' : hint;
  return ours ? ` Hint: ${ours}` : '';
};

const attemptsOf = (attempts: number): string => `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`;

const issuesOf = (issues: readonly Issue[]): string => {
  if (issues.length === 0) return '';
  const texts = issues.slice(0, MAX_ISSUES).map(({ path, message }) => `${path || '(input)'}: ${message}`);
  const more = issues.length > MAX_ISSUES ? [`and ${issues.length - MAX_ISSUES} more`] : [];
  return ` Issues: ${[...texts, ...more].join('; ')}.`;
};

/** Where a redirect leads, if this is one. A browser tells neither its status nor its target. */
const redirectOf = ({ status, headers }: FailedReply): string | undefined => {
  const location = headers.get('Location');
  if (status === 0) return 'a redirect, which is not followed: give the base URL that it leads to if that';
  if (status < 300 || status >= 400 || location === null) return undefined;
  return `${status} to ${location}, which is not followed: give that base URL if it`;
};

const textOf = (
  call: FailedCall,
  reply: FailedReply,
  failure: Failure | null,
  { requestId, retryAfter }: { requestId: string | null; retryAfter: number | null },
): string => {
  const head = `${call.operation}: ${reply.status}`;
  const end = retryOf(retryAfter) + tailOf(requestId, call.attempts);
  if (!failure) {
    const type = mediaTypeOf(reply.headers) ?? 'no content type';
    return `${head} without the gateway's error envelope (${type}). Is ${call.origin} {{service}}?${end}`;
  }
  return `${head} ${failure.reason}: ${failure.message}${issuesOf(failure.issues)}${hintOf(failure, call)}${end}`;
};

/**
 * A call that failed: the base of every error but those of wrong usage, `UsageError`, and of cancelling, which is
 * the reason of your signal.
 */
export abstract class GatewayError extends Error {
  override readonly name: string = 'GatewayError';
  /** The procedure, such as `game.create`. */
  readonly operation: string;
  /** How many attempts were made. */
  readonly attempts: number;
  /** What the service knows a repeated write by: give it to repeat the call without doing it twice. Null of reads. */
  readonly idempotencyKey: string | null;

  /** For tests; else the SDK makes it. */
  constructor(message: string, { operation, attempts, idempotencyKey }: FailedCall, options?: ErrorOptions) {
    super(message.replaceAll(/\s*\n\s*/g, ' ').trim(), options);
    this.operation = operation;
    this.attempts = attempts;
    this.idempotencyKey = idempotencyKey;
  }
}

/** The service answered a failure: a status from 400. Those with a type of their own are subclasses. */
export class ApiError extends GatewayError {
  override readonly name: string = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  /** The stable cause to branch on, such as `GAME_NOT_FOUND`; null if the reply isn't the gateway's own. */
  readonly reason: string | null;
  /** The kind of failure, such as `NOT_FOUND`; null if the reply isn't the gateway's own. */
  readonly code: string | null;
  /** The failure in the service's words; `message` has them, too. */
  readonly serviceMessage: string | null;
  /** Every fault of the input, when the reason is `VALIDATION_FAILED`; else empty. */
  readonly issues: readonly Issue[];
  /** What to do about it, if there is something. */
  readonly hint: string | null;
  /** The address of the page about the reason; null if the service names none. */
  readonly docs: string | null;
  /** Finds the request in the operator's log. */
  readonly requestId: string | null;
  /** How many seconds to wait before another call; null if the service doesn't say. */
  readonly retryAfter: number | null;
  /** The headers of the reply. */
  readonly headers: Headers;

  /** For tests; else the SDK makes it. */
  constructor(call: FailedCall, reply: FailedReply, failure: Failure | null, retryAfter: number | null) {
    const requestId = failure?.requestId ?? reply.headers.get('X-Request-Id');
    super(textOf(call, reply, failure, { requestId, retryAfter }), call);
    this.status = reply.status;
    this.reason = failure?.reason ?? null;
    this.code = failure?.code ?? null;
    this.serviceMessage = failure?.message ?? null;
    this.issues = failure?.issues ?? [];
    this.hint = failure?.hint ?? null;
    this.docs = failure?.docs ?? null;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
    this.headers = reply.headers;
  }
}

/** 400: the input is wrong; `issues` say where. */
export class BadRequestError extends ApiError {
  override readonly name = 'BadRequestError';
}

/** 401: the key is missing, unknown, revoked or expired. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError';
}

/** 403: the key lacks a scope, or the record is another user's. */
export class PermissionDeniedError extends ApiError {
  override readonly name = 'PermissionDeniedError';
}

/** 404: there is no such record, or no such procedure. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError';
}

/** 409: another write, or the same one, was under way. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError';
}

/** 413: the request is too large. */
export class PayloadTooLargeError extends ApiError {
  override readonly name = 'PayloadTooLargeError';
}

/** 422: the idempotency key was used for another input. */
export class UnprocessableError extends ApiError {
  override readonly name = 'UnprocessableError';
}

/** 429: too many requests; `retryAfter` says how long to wait. */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError';
}

/** 500 and above: the service failed. */
export class ServerError extends ApiError {
  override readonly name = 'ServerError';
}

/** There was no reply, or not the whole of it. `cause` is what `fetch` said. */
export class ApiConnectionError extends GatewayError {
  override readonly name: string = 'ApiConnectionError';

  /** For tests; else the SDK makes it. */
  constructor(
    call: FailedCall,
    options: ErrorOptions & { why: string },
    text = `no reply from ${call.origin} after ${attemptsOf(call.attempts)}: ${options.why}`,
  ) {
    super(`${call.operation}: ${text}`, call, options);
  }
}

/** There was no whole reply within the timeout, or no connection within its own. */
export class ApiTimeoutError extends ApiConnectionError {
  override readonly name = 'ApiTimeoutError';

  /** For tests; else the SDK makes it. */
  constructor(call: FailedCall, options: ErrorOptions & { what: 'reply' | 'connection'; ms: number }) {
    const { what, ms } = options;
    const where = what === 'reply' ? `reply from ${call.origin}` : `connection to ${call.origin}`;
    super(call, { ...options, why: '' }, `no ${where} within ${ms / 1000} s, ${attemptsOf(call.attempts)}`);
  }
}

/** The reply is none that a gateway sends: a page of a proxy, a redirect, another service. */
export class UnexpectedReplyError extends GatewayError {
  override readonly name = 'UnexpectedReplyError';
  /** The HTTP status; 0 of a redirect in a browser, which doesn't show it. */
  readonly status: number;
  /** The reply's `X-Request-Id`. */
  readonly requestId: string | null;
  /** The first 500 characters of the body. */
  readonly body: string;
  /** The headers of the reply. */
  readonly headers: Headers;

  /** For tests; else the SDK makes it. */
  constructor(call: FailedCall, reply: FailedReply, fault: string) {
    const requestId = reply.headers.get('X-Request-Id');
    const redirect = redirectOf(reply);
    const text = redirect
      ? `${redirect} is right.`
      : `${reply.status} ${mediaTypeOf(reply.headers) ?? '(no content type)'}${fault}. Is ${call.origin} {{service}}?${tailOf(requestId, call.attempts)}`;
    super(`${call.operation}: ${text}`, call);
    this.status = reply.status;
    this.requestId = requestId;
    this.body = reply.body.slice(0, MAX_BODY);
    this.headers = reply.headers;
  }
}

const CLASSES: Record<number, typeof ApiError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  413: PayloadTooLargeError,
  422: UnprocessableError,
  429: RateLimitError,
};

/** The type of error of a status from 400. */
export const apiErrorClassOf = (status: number): typeof ApiError =>
  CLASSES[status] ?? (status >= 500 ? ServerError : ApiError);
