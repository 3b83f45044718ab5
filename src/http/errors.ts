import { RequestValidationError } from '@ts-rest/express';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { errorOf, type ErrorResponse, issuesOf, MAX_ISSUES } from '../../contract/index.ts';
import { AppError, CallerLeft } from '../errors.ts';
import { sendJson } from './reply.ts';

/** What makes us refuse for want of capacity is mostly over by then. */
const LEAST_RETRY_AFTER_S = 1;
/** Up to how much longer whoever came in a crowd is to stay away, so that it does not come back as one. */
const SPREAD_S = 2;

/** After how many seconds to come back. */
const retryAfterOf = ({ reason, details }: AppError): number => {
  if (details.retryAfter !== undefined) return details.retryAfter;
  return LEAST_RETRY_AFTER_S + (reason === 'OVERLOADED' ? Math.round(Math.random() * SPREAD_S) : 0);
};

/** The faults that zod found in a request, as an error of the catalogue. */
const validationError = (found: readonly z.core.$ZodIssue[]): AppError => {
  const issues = issuesOf(found);
  return new AppError('VALIDATION_FAILED', {
    issues,
    ...(issues.length === MAX_ISSUES && { hint: `Only the first ${MAX_ISSUES} faults are listed in \`issues\`.` }),
  });
};

/** Whatever was thrown, as an error of the catalogue. */
export const toAppError = (error: unknown): AppError => {
  if (error instanceof AppError) return error;
  if (error instanceof RequestValidationError) {
    return validationError((error.body?.issues ?? []) as unknown as z.core.$ZodIssue[]);
  }
  return new AppError('INTERNAL', { cause: error });
};

/** A failure as it goes on the wire. */
export interface Failure {
  status: number;
  headers: Record<string, string>;
  body: ErrorResponse;
}

/** An error as it goes on the wire: status, headers and the one envelope of all failures. */
export const errorReply = (error: AppError, path: string | null, requestId: string): Failure => {
  const { reason, details } = error;
  const { status, code, number, message, ...usual } = errorOf(reason);
  const { hint, shouldRetry } = { ...usual, ...details };
  const isForLater = status === 429 || status === 503 || details.retryAfter !== undefined;
  return {
    status,
    headers: {
      ...(status === 401 && { 'WWW-Authenticate': challenge(reason) }),
      ...(isForLater && { 'Retry-After': String(retryAfterOf(error)) }),
      ...(shouldRetry !== undefined && { 'X-Should-Retry': String(shouldRetry) }),
    },
    body: {
      error: {
        json: {
          message,
          code: number,
          data: {
            code,
            httpStatus: status,
            path,
            reason,
            requestId,
            ...(details.issues && { issues: details.issues }),
            ...(hint !== undefined && { hint }),
          },
        },
      },
    },
  };
};

/** RFC 6750, section 3: no error code for a caller that sent no credential. */
const challenge = (reason: AppError['reason']): string =>
  `Bearer realm="content-gateway"${reason === 'KEY_MISSING' ? '' : ', error="invalid_token"'}`;

interface Place {
  /** The procedure called, if one was. */
  procedure: string | undefined;
  requestId: string;
}

/** Whether an error is ours to look into: none is that says of itself all there is to know, nor that a caller left. */
const isFault = ({ reason, cause }: AppError): boolean =>
  reason === 'INTERNAL' || (cause !== undefined && !(cause instanceof CallerLeft));

/** Whatever was thrown, as it goes on the wire. Our own faults go to the log. */
export const failureOf = (thrown: unknown, { procedure, requestId }: Place, log: Logger): Failure => {
  const error = toAppError(thrown);
  const failure = errorReply(error, procedure ?? null, requestId);
  if (failure.status >= 500 && isFault(error)) log.error({ err: error.cause ?? error, requestId, procedure });
  return failure;
};

/** Answers every failure of the app. */
export const errorHandler =
  (log: Logger): ErrorRequestHandler =>
  (thrown, _request, response, next) => {
    const { requestId, procedure } = response.locals;
    const { status, headers, body } = failureOf(thrown, { procedure, requestId }, log);
    response.locals.reason = body.error.json.data.reason;
    if (response.headersSent) {
      // Too late for an answer; Express closes the connection.
      next(thrown);
      return;
    }
    sendJson(response, status, JSON.stringify(body), Object.entries(headers).flat());
  };
