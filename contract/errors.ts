import { z } from 'zod';
import { docsOf, errorOf, type Reason } from './reasons.ts';

export * from './reasons.ts';

/** The reasons that all operations share. */
export const commonReasons = [
  'MALFORMED_JSON',
  'VALIDATION_FAILED',
  'KEY_MALFORMED',
  'KEY_UNKNOWN',
  'KEY_EXPIRED',
  'KEY_REVOKED',
  'USER_SUSPENDED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
  'INTERNAL',
  'OVERLOADED',
  'DATABASE_UNAVAILABLE',
  'TIMEOUT',
] as const satisfies readonly Reason[];

/** Further reasons of operations that need a scope. */
export const protectedReasons = ['KEY_MISSING', 'SCOPE_MISSING'] as const satisfies readonly Reason[];

/** Further reasons of operations that write. */
export const writingReasons = [
  'MAINTENANCE',
  'OUTCOME_UNKNOWN',
  'IDEMPOTENCY_KEY_INVALID',
  'IDEMPOTENCY_IN_PROGRESS',
  'IDEMPOTENCY_MISMATCH',
] as const satisfies readonly Reason[];

export const Issue = z
  .object({
    path: z.string().describe('JSON pointer (RFC 6901) into `json`; empty for the whole of it'),
    code: z.string().describe('What kind of fault this is, for example `too_big` or `unrecognized_keys`'),
    message: z.string().describe('The fault in words'),
  })
  .meta({ id: 'Issue', description: 'One fault of the input.' });

const ErrorData = z
  .object({
    code: z.string().describe('The tRPC error code, for example `NOT_FOUND`'),
    httpStatus: z.int().min(400).max(599).describe('The HTTP status of this reply'),
    path: z.string().nullable().describe('The procedure called, or null outside of procedures'),
    reason: z.string().describe('The stable cause to branch on, for example `GAME_NOT_FOUND`; new ones may be added'),
    requestId: z.string().describe('The value of the reply header `X-Request-Id`'),
    issues: z.array(Issue).optional().describe('Every fault of the input, with reason `VALIDATION_FAILED`'),
    hint: z.string().optional().describe('What to do about it'),
    docs: z
      .string()
      .optional()
      .describe(
        'The page about this reason: a URI, or a path such as `/errors#GAME_NOT_FOUND` to be appended to the address of the service',
      ),
  })
  .meta({ id: 'ErrorData', description: 'The details of a failure.' });

const ErrorPayload = z
  .object({
    message: z.string().describe('The failure in words, for people'),
    code: z.int().min(-32999).max(-32000).describe('The JSON-RPC style error number'),
    data: ErrorData,
  })
  .meta({ id: 'ErrorPayload', description: 'A failure as tRPC words it.' });

/** The JSON of a failure; in a stream, the `data` of a message `serialized-error`. */
export const ErrorBody = z
  .object({ json: ErrorPayload })
  .meta({ id: 'ErrorBody', description: 'The superjson envelope of a failure.' });

/** The common shape of all failures of the service. */
export const ErrorResponse = z
  .object({ error: ErrorBody })
  .meta({ id: 'ErrorResponse', description: 'The one shape of every failure.' });
export type ErrorResponse = z.output<typeof ErrorResponse>;
export type Issue = z.output<typeof Issue>;

interface Particulars {
  /** The called procedure, if any. */
  path: string | null;
  requestId: string;
  /** The address of the page about the reason. */
  docs?: string | undefined;
  issues?: Issue[] | undefined;
  /** Replaces the hint of the catalogue. */
  hint?: string | undefined;
}

/** The envelope of a failure. */
export const failureBody = (
  reason: Reason,
  { path, requestId, issues, docs = docsOf(reason), hint = errorOf(reason).hint }: Particulars,
): ErrorResponse => {
  const { status, code, number, message } = errorOf(reason);
  const data = {
    code,
    httpStatus: status,
    path,
    reason,
    requestId,
    ...(issues && { issues }),
    hint,
    docs,
  };
  return { error: { json: { message, code: number, data } } };
};
