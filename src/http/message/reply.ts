import { createHash } from 'node:crypto';
import type { RequestHandler, Response } from 'express';

/** Names and values in turn, as `writeHead` takes them. */
export type HeaderList = readonly string[];

/** Has no cache keep a reply: one to a POST may hold a secret. */
export const NO_STORE: HeaderList = ['Cache-Control', 'no-store'];

/** The headers of every reply, names and values in turn. */
const commonHeaders = ({ locals, req: { method } }: Response): string[] => {
  const headers = [...locals.headers, 'X-Request-Id', locals.requestId, ...(method === 'POST' ? NO_STORE : [])];
  return locals.rateLimits ? headers.concat(locals.rateLimits.headers()) : headers;
};

/** Sets the headers of every reply, for handlers that answer by Express' own means. */
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

/** The headers of a body of JSON, names and values in turn. */
export const bodyHeaders = (body: string | Buffer, type = 'application/json; charset=utf-8'): string[] => [
  'Content-Type',
  type,
  'Content-Length',
  String(Buffer.byteLength(body)),
];

/** Texts from this length on are encoded once before sending, not again while they wait. */
const LONG_TEXT = 64 * 1024;

/**
 * Answers with JSON, headers and body in one write. `headers` are names and values in turn. Express' own `send` costs
 * more than the rest of a small reply.
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
