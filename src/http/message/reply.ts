import { createHash } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import type { Policy, RateLimitStatus } from '../../limits/rate-limit/buckets.ts';

/** Names and values in turn, as `writeHead` takes them. */
export type HeaderList = readonly string[];

/** Prevents caches from storing a reply: a reply to a POST may hold a secret. */
export const NO_STORE: HeaderList = ['Cache-Control', 'no-store'];

const MS = 1000;
const items = new Map<Policy, string>();

/** `"read";q=600;w=60` */
const policyItem = (policy: Policy): string => {
  let item = items.get(policy);
  if (item === undefined) {
    const { name, quota, seconds } = policy;
    const unit = name.startsWith('work') ? ';qu="milliseconds"' : '';
    item = `"${name}";q=${quota};w=${seconds}${unit}`;
    items.set(policy, item);
  }
  return item;
};

const isTighter = (a: RateLimitStatus, b: RateLimitStatus): boolean =>
  a.left * b.policy.quota <= b.left * a.policy.quota;

/**
 * The status of a caller under the policies that applied to its request, as the headers `RateLimit-Policy` and
 * `RateLimit`: draft-ietf-httpapi-ratelimit-headers, version 10.
 */
export class RateLimitHeaders {
  readonly #usual: () => RateLimitStatus;
  readonly #noted: RateLimitStatus[] = [];

  /** `usual` is the status if no policy applied to the request. */
  constructor(usual: () => RateLimitStatus) {
    this.#usual = usual;
  }

  /** Adds a status. If several calls add one, the status with the smallest rest counts. */
  add(status: RateLimitStatus): void {
    const index = this.#noted.findIndex(({ policy }) => policy === status.policy);
    if (index === -1) this.#noted.push(status);
    else if (status.left < (this.#noted[index] as RateLimitStatus).left) this.#noted[index] = status;
  }

  /** All policies, and the status under the tightest one: names and values in turn. */
  headers(): string[] {
    const all = this.#noted.length > 0 ? this.#noted : [this.#usual()];
    let tightest = all[0] as RateLimitStatus;
    let policies = policyItem(tightest.policy);
    for (let index = 1; index < all.length; index += 1) {
      const status = all[index] as RateLimitStatus;
      policies += `, ${policyItem(status.policy)}`;
      if (isTighter(status, tightest)) tightest = status;
    }
    const { policy, left, wholeInMs } = tightest;
    return ['RateLimit-Policy', policies, 'RateLimit', `"${policy.name}";r=${left};t=${Math.ceil(wholeInMs / MS)}`];
  }
}

/** The headers of every reply, names and values in turn. */
export const commonHeaders = ({ locals: { state }, req: { method } }: Response): string[] => {
  const headers = [...state.headers, 'X-Request-Id', state.requestId, ...(method === 'POST' ? NO_STORE : [])];
  return state.rateLimits ? headers.concat(state.rateLimits.headers()) : headers;
};

/** Sets the headers of every reply, for handlers that answer by Express itself. */
export const setCommonHeaders = (response: Response): void => {
  const headers = commonHeaders(response);
  for (let index = 0; index < headers.length; index += 2) {
    response.setHeader(headers[index] as string, headers[index + 1] as string);
  }
};

/** A middleware that sets the common headers for all later handlers. */
export const withCommonHeaders: RequestHandler = (_request, response, next) => {
  setCommonHeaders(response);
  next();
};

/** The headers of a JSON body: names and values in turn. */
export const bodyHeaders = (body: string | Buffer, type = 'application/json; charset=utf-8'): string[] => [
  'Content-Type',
  type,
  'Content-Length',
  String(Buffer.byteLength(body)),
];

/** Texts of at least this length are encoded once before sending, and not again while they wait. */
const LONG_TEXT = 64 * 1024;

/**
 * Answers with JSON, with headers and body in one write. `headers` are names and values in turn. Express' own `send`
 * costs more than the other work on a small reply.
 */
export const sendJson = (
  response: Response,
  status: number,
  json: string | Buffer,
  headers: readonly string[] = [],
  type?: string,
): void => {
  const body = json.length < LONG_TEXT || typeof json !== 'string' ? json : Buffer.from(json);
  response.writeHead(status, [...commonHeaders(response), ...headers, ...bodyHeaders(body, type)]);
  response.end(body);
};

/** A strong validator (RFC 9110, section 8.8.3) of a reply. */
export const etagOf = (reply: string | Buffer): string => `"${createHash('sha256').update(reply).digest('base64url')}"`;

/** The JSON of bodies that are sent repeatedly, or whose text already exists. */
const texts = new WeakMap<object, Buffer>();

/** Stores the JSON of a body for `jsonOf`. */
export const keepJson = (body: object, json: Buffer): void => void texts.set(body, json);

/** Returns the JSON of a body: the stored text, or a new one. */
export const jsonOf = (body: object): Buffer => texts.get(body) ?? Buffer.from(JSON.stringify(body));

/** Makes `response.json` send the headers and the body in one write. */
export const sendJsonAtOnce = (response: Response): void => {
  response.json = (body: object) => {
    sendJson(response, response.statusCode, jsonOf(body));
    return response;
  };
};

const CACHED = 'public, max-age=1';

/** Answers a GET with JSON. Caches may store anonymous answers for a second. Express handles conditional requests. */
export const sendToGet = (response: Response, status: number, json: Buffer): void => {
  const isPublic = status === 200 && response.locals.state.caller === undefined;
  setCommonHeaders(response);
  response
    .status(status)
    .vary('Authorization, trpc-accept')
    .set(isPublic ? { ETag: etagOf(json), 'Cache-Control': CACHED } : { 'Cache-Control': 'no-store' })
    .type('json')
    .send(json);
};
