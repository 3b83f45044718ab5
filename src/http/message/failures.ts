import type { ServerResponse } from 'node:http';
import type { ErrorRequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { randomNumber } from '../../base/runtime.ts';
import {
  docsOf,
  errorOf,
  type ErrorResponse,
  failureBody,
  type Reason,
  reasons,
  type StatusOf,
} from '../../../contract/index.ts';
import type { Config } from '../../config/config.ts';
import { AppError, CallerLeft, DATABASE_FAULTS, databaseFaultIn } from '../../base/errors.ts';
import { bodyHeaders, commonHeaders, type HeaderList } from './reply.ts';

/** The shortest time in which a lack of capacity is usually over. */
const LEAST_RETRY_AFTER_S = 1;
/** The jitter of `Retry-After` after a crowd, so that the callers do not all return at once. */
const SPREAD_S = 2;

/** The seconds of `Retry-After`. */
const retryAfterOf = ({ reason, details }: AppError): number => {
  if (details.retryAfter !== undefined) return details.retryAfter;
  return LEAST_RETRY_AFTER_S + (reason === 'OVERLOADED' ? Math.round(randomNumber() * SPREAD_S) : 0);
};

/** A thrown value as an error of the catalogue. */
export const toAppError = (error: unknown): AppError =>
  error instanceof AppError ? error : new AppError('INTERNAL', { cause: error });

/** The statuses of failures. */
export type FailureStatus = StatusOf<Reason>;

/** A failure in its wire format. */
export interface Failure {
  status: FailureStatus;
  headers: Record<string, string>;
  body: ErrorResponse;
}

/** The addresses of the pages about each reason. */
export type ErrorDocs = Readonly<Record<Reason, string>>;

/** The addresses of the pages about each reason, at the service's public address if configured. */
export const errorDocs = ({ publicUrl }: Pick<Config, 'publicUrl'>): ErrorDocs =>
  Object.fromEntries(reasons.map((reason) => [reason, docsOf(reason, publicUrl)])) as ErrorDocs;

/** Converts an error to its wire format: status, headers and the common envelope of all failures. */
export const errorReply = (error: AppError, path: string | null, requestId: string, docs: ErrorDocs): Failure => {
  const { reason, details } = error;
  const { status, shouldRetry: usually } = errorOf(reason);
  const { hint, issues, shouldRetry = usually } = details;
  const isForLater = status === 429 || status === 503 || details.retryAfter !== undefined;
  return {
    status: status as FailureStatus,
    headers: {
      ...(status === 401 && { 'WWW-Authenticate': challenge(reason) }),
      ...(isForLater && { 'Retry-After': String(retryAfterOf(error)) }),
      ...(shouldRetry !== undefined && { 'X-Should-Retry': String(shouldRetry) }),
    },
    body: failureBody(reason, { path, requestId, hint, issues, docs: docs[reason] }),
  };
};

/** RFC 6750, section 3: no error code for a caller that sent no credential. */
const challenge = (reason: AppError['reason']): string =>
  `Bearer realm="content-gateway"${reason === 'KEY_MISSING' ? '' : ', error="invalid_token"'}`;

interface FailedCall {
  /** The called procedure, if any. */
  procedure: string | undefined;
  requestId: string;
  /** The trace that the call belongs to, if known. */
  traceId?: string | undefined;
}

/** The dependencies of failures. */
export interface FailureContext {
  log: Logger;
  docs: ErrorDocs;
}

/** Whether an error is a fault of the service, and neither explains itself nor means that the caller left. */
const isFault = ({ reason, cause }: AppError): boolean =>
  reason === 'INTERNAL' || (cause !== undefined && !(cause instanceof CallerLeft));

/** Converts a thrown value to its wire format. Logs faults of the service. */
export const failureOf = (
  thrown: unknown,
  { procedure, requestId, traceId }: FailedCall,
  { log, docs }: FailureContext,
): Failure => {
  const error = toAppError(thrown);
  const failure = errorReply(error, procedure ?? null, requestId, docs);
  if (failure.status >= 500 && isFault(error)) {
    const cause = databaseFaultIn(error);
    const message = cause ? DATABASE_FAULTS[cause] : 'failed';
    log.error({ cause, err: error.cause ?? error, requestId, traceId, procedure }, message);
  }
  return failure;
};

/** Writes the body of a failure. */
export type FailureText = (body: ErrorResponse) => string;

/** A failure in JSON-RPC's format. `id` is that of the request; null if unknown. */
export const asJsonRpc = ({ error: { json } }: ErrorResponse, id: string | number | null = null): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: json });

/** A failure as headers and text of a reply. `common` holds the headers of every reply, names and values in turn. */
export const failureReply = (
  { headers, body }: Failure,
  common: HeaderList,
  textOf: FailureText = JSON.stringify,
): { headers: string[]; text: string } => {
  const text = textOf(body);
  return { headers: [...common, ...Object.entries(headers).flat(), ...bodyHeaders(text)], text };
};

/** Answers with a failure, in one write. */
export const writeFailure = (
  response: ServerResponse,
  failure: Failure,
  common: HeaderList,
  textOf?: FailureText,
): void => {
  const { headers, text } = failureReply(failure, common, textOf);
  response.writeHead(failure.status, headers);
  response.end(text);
};

/** Answers a request of the app with a failure, and stores its reason for the log. */
export const sendFailure = (response: Response, failure: Failure, textOf?: FailureText): void => {
  response.locals.state.reason = failure.body.error.json.data.reason;
  writeFailure(response, failure, commonHeaders(response), textOf);
};

/** Answers every failure of the app. */
export const errorHandler =
  (failureContext: FailureContext): ErrorRequestHandler =>
  (thrown, _request, response, next) => {
    const { state } = response.locals;
    const failure = failureOf(thrown, state, failureContext);
    if (response.headersSent) {
      state.reason = failure.body.error.json.data.reason;
      // Too late for an answer; Express closes the connection.
      next(thrown);
    } else sendFailure(response, failure);
  };
