import { parse } from 'content-type';
import type { Request, RequestHandler, Response } from 'express';
import { BODY_CODINGS, excerpt, MAX_HEADERS, type ProcedureMetadata } from '../../../contract/index.ts';
import { AppError } from '../../errors.ts';

const READ_METHODS = ['GET', 'HEAD', 'POST'];
const WRITE_METHODS = ['POST'];
const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
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
const methodsOf = ({ effect }: Pick<ProcedureMetadata, 'effect'>): readonly string[] =>
  effect === 'read' ? READ_METHODS : WRITE_METHODS;

/** `GET, HEAD or POST` */
const either = (methods: readonly string[]): string => methods.join(', ').replace(/, (?=\w+$)/, ' or ');

/**
 * @throws AppError METHOD_NOT_SUPPORTED, with the header `Allow`, for a request by another method; `more` is said besides
 */
export const assertMethod = (request: Request, response: Response, methods: readonly string[], more?: string): void => {
  if (methods.includes(request.method)) return;
  response.setHeader('Allow', methods.join(', '));
  const hint = `Send ${either(methods)}, not ${request.method}.${more === undefined ? '' : ` ${more}`}`;
  throw new AppError('METHOD_NOT_SUPPORTED', { hint });
};

/** Likewise, for a call of a procedure. */
export const assertMethodOf = (
  request: Request,
  response: Response,
  procedure: Pick<ProcedureMetadata, 'effect'>,
): void => {
  const more = procedure.effect === 'write' ? 'The parameters go into the body, as {"json": {…}}.' : undefined;
  assertMethod(request, response, methodsOf(procedure), more);
};

const hasContent = ({ 'transfer-encoding': encoding, 'content-length': length }: Request['headers']): boolean =>
  encoding !== undefined || Number(length ?? 0) > 0;

/**
 * A GET asks by its URL, and content means nothing in it (RFC 9110, section 9.3.1): whoever sends an input so has meant
 * a POST, and is told, rather than answered as if nothing had been sent.
 * @throws AppError METHOD_NOT_SUPPORTED, with the header `Allow`
 */
export const assertNoContent = ({ headers }: Request, response: Response): void => {
  if (!hasContent(headers)) return;
  response.setHeader('Allow', WRITE_METHODS.join(', '));
  throw new AppError('METHOD_NOT_SUPPORTED', { hint: 'Send a body by POST; a GET takes its input as `?input=`.' });
};

const SEND_JSON = 'Send `Content-Type: application/json`';

/** What to do about a body of another media type or charset, or of none that could be read. */
const typeHint = (header: string | undefined): string => {
  if (header === undefined || header === '') return `The body has no \`Content-Type\`. ${SEND_JSON}.`;
  const media = parsed(header);
  if (!media) return `\`${excerpt(header)}\` cannot be read as a media type. ${SEND_JSON}.`;
  const { type, charset } = media;
  if (type === JSON_TYPE) {
    return `The charset \`${excerpt(charset ?? '')}\` is not supported. Send UTF-8, with \`Content-Type: application/json\`.`;
  }
  const whence = type === FORM ? ' (curl sends that unless told otherwise: `-H "Content-Type: application/json"`)' : '';
  return `${SEND_JSON}, not \`${excerpt(type)}\`${whence}.`;
};

/**
 * @throws AppError UNSUPPORTED_MEDIA_TYPE for a body that is not JSON in UTF-8, or that is encoded in a way we do not
 * know: then, and only then, with the header `Accept-Encoding` (RFC 9110, sections 12.5.3 and 15.5.16)
 */
export const assertJson = ({ headers }: Request, response: Response): void => {
  const { 'content-type': type, 'content-encoding': coding } = headers;
  if (type === undefined ? hasContent(headers) : !isJson(type)) {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', { hint: typeHint(type) });
  }
  if (coding === undefined || CODINGS.has(coding.toLowerCase())) return;
  response.setHeader('Accept-Encoding', ACCEPTED_CODINGS);
  const hint = `The content encoding \`${excerpt(coding)}\` is not supported. Send the body plain, or encoded with ${BODY_CODINGS.join(' or ')}.`;
  throw new AppError('UNSUPPORTED_MEDIA_TYPE', { hint });
};

/** Lets through what only reads, on paths that are no procedures. @throws as `assertMethod` */
export const readOnly: RequestHandler = (request, response, next) => {
  assertMethod(request, response, ['GET', 'HEAD']);
  next();
};

/** What a `Content-Type` says, undefined if it cannot be read. */
const parsed = (header: string): { type: string; charset: string | undefined } | undefined => {
  try {
    const { type, parameters } = parse(header);
    return { type, charset: parameters['charset'] };
  } catch {
    return undefined;
  }
};

const isJson = (header: string): boolean => {
  // Nearly all callers send it in this form.
  if (header === JSON_TYPE) return true;
  const media = parsed(header);
  return media?.type === JSON_TYPE && /^utf-?8$/i.test(media.charset ?? 'utf-8');
};
