import { z } from 'zod';
import {
  ANSWER_LIMIT,
  BATCH_BODY_LIMIT,
  BODY_CODINGS,
  HEADERS_LIMIT,
  HEADERS_SECONDS,
  IDEMPOTENCY_HOURS,
  inBytes,
  KEY_LENGTH,
  KEY_PREFIX,
  lengths,
  MAX_BATCH_CALLS,
  MAX_HEADERS,
  MAX_PAGE_DEPTH,
  READ_BODY_LIMIT,
  REQUEST_SECONDS,
  WRITE_BODY_LIMIT,
} from './limits.ts';

/**
 * The error catalogue: every `data.reason` the service can answer, with what goes on the wire for it.
 *
 * `number` is the JSON-RPC style number in `error.json.code`; `code` is the tRPC code in `error.json.data.code`.
 * A `hint` here is the default; whoever raises the error may give a more precise one.
 */
interface CatalogueEntry {
  readonly status: number;
  readonly code: string;
  readonly number: number;
  readonly message: string;
  readonly hint?: string;
  /** Whether the same request may succeed when it is repeated, where the status alone misleads: `X-Should-Retry`. */
  readonly shouldRetry?: boolean;
}

const badRequest = { status: 400, code: 'BAD_REQUEST', number: -32600 } as const;
const unauthorized = { status: 401, code: 'UNAUTHORIZED', number: -32001 } as const;
const forbidden = { status: 403, code: 'FORBIDDEN', number: -32003 } as const;
const notFound = { status: 404, code: 'NOT_FOUND', number: -32004 } as const;
const unavailable = { status: 503, code: 'SERVICE_UNAVAILABLE', number: -32603 } as const;

export const errors = {
  MALFORMED_JSON: {
    status: 400,
    code: 'PARSE_ERROR',
    number: -32700,
    message: 'The request body is not valid JSON.',
    hint: 'Send {"json": {…}} encoded as UTF-8.',
  },
  VALIDATION_FAILED: {
    ...badRequest,
    message: 'The input does not match the schema of this operation.',
    hint: 'Every fault is listed in `issues`; `path` is a JSON pointer into `json`.',
  },
  PAGE_TOO_DEEP: {
    ...badRequest,
    message: `Pages end at page × limit = ${MAX_PAGE_DEPTH}.`,
    hint: 'Walk deeper with `cursor`: pass the `nextCursor` of the previous reply.',
  },
  CURSOR_INVALID: {
    ...badRequest,
    message: 'The cursor is malformed or belongs to other filters or another sort mode.',
    hint: 'Pass `nextCursor` unchanged, with the same search, filters, timeRange and sortBy that produced it.',
  },
  KEY_MISSING: {
    ...unauthorized,
    message: 'This operation needs an API key.',
    hint: 'Send the header `Authorization: Bearer <API_KEY>`.',
  },
  KEY_MALFORMED: {
    ...unauthorized,
    message: 'The Authorization header does not hold a well-formed API key.',
    hint: `A key is \`${KEY_PREFIX}\` followed by ${KEY_LENGTH} letters and digits, sent as \`Authorization: Bearer <API_KEY>\`. Check for a typo.`,
  },
  KEY_UNKNOWN: { ...unauthorized, message: 'This API key does not exist.' },
  KEY_EXPIRED: { ...unauthorized, message: 'This API key has expired.', hint: 'Ask the operator for a new key.' },
  KEY_REVOKED: {
    ...unauthorized,
    message: 'This API key has been revoked.',
    hint: 'Ask the operator for a new key.',
  },
  SCOPE_MISSING: { ...forbidden, message: 'The API key lacks the scope that this operation needs.' },
  NOT_OWNER: { ...forbidden, message: 'Only the author may change this record.' },
  GAME_NOT_FOUND: { ...notFound, message: 'There is no game with this id.' },
  IMAGE_POST_NOT_FOUND: { ...notFound, message: 'There is no image post with this id.' },
  USER_NOT_FOUND: { ...notFound, message: 'There is no user with this id.' },
  PROCEDURE_NOT_FOUND: {
    ...notFound,
    message: 'There is no such procedure.',
    hint: 'Procedure names are case-sensitive; `/docs` lists them all.',
  },
  ROUTE_NOT_FOUND: {
    ...notFound,
    message: 'There is nothing at this path.',
    hint: 'The API lives under `/api/trpc/`, its documentation under `/docs`.',
  },
  METHOD_NOT_SUPPORTED: {
    status: 405,
    code: 'METHOD_NOT_SUPPORTED',
    number: -32005,
    message: 'This path does not support this HTTP method.',
    hint: 'The header `Allow` names what it supports.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    code: 'PAYLOAD_TOO_LARGE',
    number: -32013,
    message: 'The request body is too large.',
    hint: `The limit is ${inBytes(READ_BODY_LIMIT)} for what reads, ${inBytes(WRITE_BODY_LIMIT)} for what writes, and ${inBytes(BATCH_BODY_LIMIT)} for batchCreate and for batches that write.`,
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    number: -32015,
    message: 'The media type, charset or content encoding of the request body is not supported.',
    hint: `Send \`Content-Type: application/json\` in UTF-8, plain or encoded with ${BODY_CODINGS.join(' or ')}.`,
  },
  BAD_HTTP_REQUEST: {
    ...badRequest,
    message: 'The request is not well-formed HTTP.',
  },
  HEADERS_TOO_LARGE: {
    ...badRequest,
    status: 431,
    message: 'The request headers are too large.',
    hint: `The limit is ${HEADERS_LIMIT / 1024} KiB in all, and ${MAX_HEADERS} headers.`,
  },
  REQUEST_TIMEOUT: {
    status: 408,
    code: 'TIMEOUT',
    number: -32008,
    message: 'The request took too long to arrive.',
    hint: `Send the headers within ${HEADERS_SECONDS} seconds, the whole request within ${REQUEST_SECONDS}.`,
  },
  IDEMPOTENCY_KEY_INVALID: {
    ...badRequest,
    message: 'The `Idempotency-Key` is not usable.',
    hint: `Send 1 to ${lengths.idempotencyKey} printable ASCII characters, such as a UUID.`,
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    code: 'CONFLICT',
    number: -32009,
    message: 'A request with the same `Idempotency-Key` is being worked on.',
    hint: 'Repeat this one after the number of seconds in `Retry-After`: it then gets the answer of the other one.',
    shouldRetry: true,
  },
  IDEMPOTENCY_MISMATCH: {
    status: 422,
    code: 'UNPROCESSABLE_CONTENT',
    number: -32022,
    message: 'The `Idempotency-Key` was used before, with another input.',
    hint: `Nothing was stored by this call. Send a new \`Idempotency-Key\` for another input; a used one is kept for ${IDEMPOTENCY_HOURS} hours.`,
    shouldRetry: false,
  },
  BATCH_TOO_LARGE: {
    ...badRequest,
    message: `A batch holds at most ${MAX_BATCH_CALLS} calls.`,
    hint: 'Send several batches: tRPC clients take the option `maxItems` of their batch links.',
  },
  ANSWER_TOO_LARGE: {
    status: 413,
    code: 'PAYLOAD_TOO_LARGE',
    number: -32013,
    message: `The answers to the calls of a batch are larger than ${inBytes(ANSWER_LIMIT)} together.`,
    hint: 'Nothing was stored by this call. Ask for less at once: a smaller `limit`, or fewer calls in a batch.',
  },
  RATE_LIMITED: {
    status: 429,
    code: 'TOO_MANY_REQUESTS',
    number: -32029,
    message: 'Too many requests.',
    hint: 'Wait for the number of seconds in `Retry-After`.',
  },
  OVERLOADED: {
    ...unavailable,
    message: 'The service is too busy to complete this request.',
    hint: 'Nothing was stored. Retry after the number of seconds in `Retry-After`.',
  },
  DATABASE_UNAVAILABLE: {
    ...unavailable,
    message: 'The database cannot be reached.',
    hint: 'Retry after the number of seconds in `Retry-After`.',
  },
  TIMEOUT: {
    ...unavailable,
    message: 'The service could not complete this request in time.',
    hint: 'Nothing was stored. Retry after the number of seconds in `Retry-After`.',
  },
  OUTCOME_UNKNOWN: {
    ...unavailable,
    message: 'The connection to the database broke while this was stored, so it may or may not be.',
    hint: 'Repeat the request with the same `Idempotency-Key`: what is stored is then answered, not stored again.',
  },
  INTERNAL: {
    status: 500,
    code: 'INTERNAL_SERVER_ERROR',
    number: -32603,
    message: 'Something went wrong on our side.',
    hint: 'Quote `requestId` when you report it.',
  },
} as const satisfies Record<string, CatalogueEntry>;

/** A stable, machine-readable cause of a failure: a key of the catalogue. */
export type Reason = keyof typeof errors;
/** The HTTP status of each reason in R. */
export type StatusOf<R extends Reason> = (typeof errors)[R]['status'];

/** The catalogue entry of a reason, typed alike for all reasons. */
export const errorOf = (reason: Reason): CatalogueEntry => errors[reason];

/** What any operation can answer. */
export const commonReasons = [
  'MALFORMED_JSON',
  'VALIDATION_FAILED',
  'KEY_MALFORMED',
  'KEY_UNKNOWN',
  'KEY_EXPIRED',
  'KEY_REVOKED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
  'INTERNAL',
  'OVERLOADED',
  'DATABASE_UNAVAILABLE',
  'TIMEOUT',
] as const satisfies readonly Reason[];

/** What an operation that needs a scope can answer besides. */
export const protectedReasons = ['KEY_MISSING', 'SCOPE_MISSING'] as const satisfies readonly Reason[];

/** What an operation that writes can answer besides. */
export const writingReasons = [
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
  })
  .meta({ id: 'ErrorData', description: 'The details of a failure.' });

const ErrorPayload = z
  .object({
    message: z.string().describe('The failure in words, for people'),
    code: z.int().min(-32999).max(-32000).describe('The JSON-RPC style error number'),
    data: ErrorData,
  })
  .meta({ id: 'ErrorPayload', description: 'A failure as tRPC words it.' });

const ErrorBody = z
  .object({ json: ErrorPayload })
  .meta({ id: 'ErrorBody', description: 'The superjson envelope of a failure.' });

/** The one shape of every failure of the service. */
export const ErrorResponse = z
  .object({ error: ErrorBody })
  .meta({ id: 'ErrorResponse', description: 'The one shape of every failure.' });
export type ErrorResponse = z.output<typeof ErrorResponse>;
export type Issue = z.output<typeof Issue>;
