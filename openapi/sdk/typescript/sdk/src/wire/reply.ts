import type { Failure } from '../errors.js';
import type { Issue } from '../generated/types.js';
import { faultOfJson } from './body.js';

/** What is left of the caller's limit, as the header `RateLimit` says. */
export interface RateLimit {
  /** The name of the limit, such as `read`. */
  readonly policy: string;
  /** How many calls are left. */
  readonly remaining: number;
  /** After how many seconds there are more. */
  readonly resetSeconds: number;
}

/** A success with all that came along. */
export interface GatewayReply<T> {
  /** The output. */
  readonly data: T;
  /** The HTTP status, 200. */
  readonly status: number;
  /** The headers. */
  readonly headers: Headers;
  /** Finds the request in the operator's log. */
  readonly requestId: string | null;
  /** What is left of the caller's limit; null if the service doesn't say. */
  readonly rateLimit: RateLimit | null;
  /** Whether a write had been done before, and this is the answer it got then. */
  readonly replayed: boolean;
  /** How many attempts were made. */
  readonly attempts: number;
  /** The body as it came, JSON. */
  readonly body: string;
}

/** The output in a body, or what is wrong with it: the end of a sentence that begins with the content type. */
export type Read = { readonly data: object } | { readonly fault: string };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member, through as many objects; undefined where there is none. */
const memberOf = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((found, name) => (isObject(found) ? found[name] : undefined), value);

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** The JSON in a text; undefined, which no JSON is, if there is none. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The media type of a body, in lower case. */
export const mediaTypeOf = (headers: Headers): string | undefined =>
  headers.get('Content-Type')?.split(';')[0]?.trim().toLowerCase() || undefined;

export const FOREIGN = ', which is no reply of {{service}}';
export const NO_STREAM = ', which is no stream of events';
export const TOO_LARGE = ' with a body of more than 64 MiB';
const NO_ENVELOPE = " without the gateway's envelope";

/** What is wrong with a body that has no output. */
const faultWithoutOutput = (headers: Headers, body: string, readable: boolean): string => {
  const isJson = (mediaTypeOf(headers) ?? 'application/json') === 'application/json';
  if (!isJson) return readable ? NO_ENVELOPE : FOREIGN;
  return faultOfJson(body, readable) ?? NO_ENVELOPE;
};

/** What is wrong with a page of a list, which was asked for by `cursor`; undefined if nothing is. */
const faultOfPage = ({ items, nextCursor }: Record<string, unknown>, cursor: unknown): string | undefined => {
  if (!Array.isArray(items)) return ' whose output is not readable: items is not a list';
  // Followed, it would lead here for ever.
  if (typeof nextCursor === 'string' && nextCursor === cursor) return ' whose nextCursor is the cursor that was sent';
  if (nextCursor === null || typeof nextCursor === 'string') return undefined;
  return ' whose output is not readable: nextCursor is neither a string nor null';
};

/**
 * Reads a reply below 400. `members` are those that every output has; `paged` says whether it is a page of a list, and
 * `cursor` by which it was asked for.
 */
export const readOutput = (
  { status, headers, body }: { status: number; headers: Headers; body: string },
  { members, paged, cursor }: { members: readonly string[]; paged: boolean; cursor: unknown },
): Read => {
  if (status !== 200) return { fault: FOREIGN };
  const json = parse(body);
  const data = memberOf(json, 'result', 'data', 'json');
  if (!isObject(data)) return { fault: faultWithoutOutput(headers, body, json !== undefined) };
  const lacking = members.find((member) => !Object.hasOwn(data, member));
  const fault = lacking === undefined ? paged && faultOfPage(data, cursor) : ` whose output lacks ${lacking}`;
  return fault ? { fault } : { data };
};

const isIssue = (value: unknown): value is Issue =>
  isObject(value) && typeof value['path'] === 'string' && typeof value['message'] === 'string';

/** The status in the body of a failure; 500 where it names none. */
export const readStatus = (body: string): number => {
  const status = memberOf(parse(body), 'error', 'json', 'data', 'httpStatus');
  return Number.isInteger(status) ? (status as number) : 500;
};

/** The event in a message; undefined if there is none. */
export const readEvent = (data: string): object | undefined => {
  const event = memberOf(parse(data), 'json');
  return isObject(event) ? event : undefined;
};

/** The address of a page that the service names by its own address or by a path. */
const absolute = (docs: string | null, baseUrl: string): string | null =>
  docs?.startsWith('/') ? baseUrl + docs : docs;

/** Reads the body of a failure; null if it isn't in the gateway's envelope. */
export const readFailure = (body: string, baseUrl: string): Failure | null => {
  const failure = memberOf(parse(body), 'error', 'json');
  const details = memberOf(failure, 'data');
  const reason = memberOf(details, 'reason');
  if (typeof reason !== 'string') return null;
  const issues = memberOf(details, 'issues');
  return {
    reason,
    message: textOrNull(memberOf(failure, 'message')) ?? '',
    code: textOrNull(memberOf(details, 'code')),
    issues: Array.isArray(issues) ? issues.filter(isIssue) : [],
    hint: textOrNull(memberOf(details, 'hint')),
    docs: absolute(textOrNull(memberOf(details, 'docs')), baseUrl),
    requestId: textOrNull(memberOf(details, 'requestId')),
  };
};

/** Reads `"read";r=599;t=1`; null if it cannot be read. */
export const readRateLimit = (header: string | null): RateLimit | null => {
  const [, policy, parameters = ''] = /^\s*"([^"]*)"\s*(;[^,]*)/.exec(header ?? '') ?? [];
  const remaining = /;\s*r=(\d+)/.exec(parameters)?.[1];
  const reset = /;\s*t=(\d+)/.exec(parameters)?.[1];
  if (policy === undefined || remaining === undefined || reset === undefined) return null;
  return { policy, remaining: Number(remaining), resetSeconds: Number(reset) };
};
