import { parse } from 'content-type';
import type { Request, RequestHandler, Response } from 'express';
import { BODY_CODINGS, MAX_HEADERS, type ProcedureMetadata } from '../../contract/index.ts';
import { AppError } from '../errors.ts';

const READ_METHODS = ['GET', 'HEAD', 'POST'];
const WRITE_METHODS = ['POST'];
const CODINGS: ReadonlySet<string> = new Set(['identity', ...BODY_CODINGS]);
const ACCEPTED_CODINGS = BODY_CODINGS.join(', ');

/**
 * Headers that decide something and have one value: of two, Node and whatever proxy is in front might choose differently.
 * Lists are none of them, which may come in several lines (RFC 9110, section 5.3); on the framing, two lengths or two
 * encodings, Node's parser is strict by itself.
 */
const SINGLE = ['host', 'authorization', 'content-type', 'origin', 'idempotency-key'];

/** What tells names apart at the price of two numbers: their lengths and first letters, of either case. */
const roughly = (name: string): number => ((name.length & 31) << 5) | (name.charCodeAt(0) & 31);
/** A bit for each of `SINGLE`, by its rough name; 0 for all others. */
const BITS = new Uint8Array(1024);
for (const [index, name] of SINGLE.entries()) BITS[roughly(name)] = 1 << index;

/** The first header of `SINGLE` that comes a second time. `rawHeaders` are names and values in turn. */
const repeatedHeader = (rawHeaders: readonly string[]): string | undefined => {
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const bit = BITS[roughly(rawHeaders[index] as string)] as number;
    if ((seen & bit) !== 0) return exactlyRepeated(rawHeaders);
    seen |= bit;
  }
  return undefined;
};

const exactlyRepeated = (rawHeaders: readonly string[]): string | undefined => {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] as string;
    const name = header.toLowerCase();
    if (!SINGLE.includes(name)) continue;
    if (seen.has(name)) return header;
    seen.add(name);
  }
  return undefined;
};

/** A host and a port as a URL has them (RFC 3986, section 3.2.2); both may be empty. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/**
 * Lets through what has no header twice that there is one of, and names a host, as HTTP/1.1 demands (RFC 9112, section
 * 3.2). @throws AppError BAD_HTTP_REQUEST, HEADERS_TOO_LARGE
 */
export const wellFormed: RequestHandler = ({ rawHeaders, headers, httpVersion }, _response, next) => {
  if (rawHeaders.length > 2 * MAX_HEADERS) throw new AppError('HEADERS_TOO_LARGE');
  const repeated = repeatedHeader(rawHeaders);
  if (repeated !== undefined) {
    throw new AppError('BAD_HTTP_REQUEST', { hint: `Send the header \`${repeated}\` once.` });
  }
  if (headers.host === undefined ? httpVersion !== '1.0' : !HOST.test(headers.host)) {
    throw new AppError('BAD_HTTP_REQUEST', { hint: 'Send the header `Host`, a host name with or without a port.' });
  }
  next();
};

/** The methods that a procedure answers to; tRPC clients send reads by GET. */
export const methodsOf = ({ effect }: Pick<ProcedureMetadata, 'effect'>): readonly string[] =>
  effect === 'read' ? READ_METHODS : WRITE_METHODS;

/** @throws AppError METHOD_NOT_SUPPORTED, with the header `Allow`, for a request by another method */
export const assertMethod = (request: Request, response: Response, methods: readonly string[]): void => {
  if (methods.includes(request.method)) return;
  response.setHeader('Allow', methods.join(', '));
  throw new AppError('METHOD_NOT_SUPPORTED');
};

/**
 * @throws AppError UNSUPPORTED_MEDIA_TYPE for a body that is not JSON in UTF-8, or that is encoded in a way we do not
 * know: then, and only then, with the header `Accept-Encoding` (RFC 9110, sections 12.5.3 and 15.5.16)
 */
export const assertJson = ({ headers }: Request, response: Response): void => {
  const { 'content-type': type, 'content-encoding': coding, 'content-length': length } = headers;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(length ?? 0) > 0;
  if (type === undefined ? hasBody : !isJson(type)) throw new AppError('UNSUPPORTED_MEDIA_TYPE');
  if (coding === undefined || CODINGS.has(coding.toLowerCase())) return;
  response.setHeader('Accept-Encoding', ACCEPTED_CODINGS);
  throw new AppError('UNSUPPORTED_MEDIA_TYPE');
};

/** Lets through what only reads, on paths that are no procedures. @throws as `assertMethod` */
export const readOnly: RequestHandler = (request, response, next) => {
  assertMethod(request, response, ['GET', 'HEAD']);
  next();
};

const isJson = (header: string): boolean => {
  // Nearly all callers send it in this form.
  if (header === 'application/json') return true;
  try {
    const { type, parameters } = parse(header);
    return type === 'application/json' && /^utf-?8$/i.test(parameters['charset'] ?? 'utf-8');
  } catch {
    return false;
  }
};
