import { parse } from 'content-type';
import type { Request, RequestHandler, Response } from 'express';
import {
  BODY_CODINGS,
  excerpt,
  MAX_HEADERS,
  type ProcedureMetadata,
  procedures,
  streams,
} from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import type { Route } from '../../base/observer.ts';

/** Below this path are only calls, no pages. */
export const API_PREFIX = '/api/';
/** The paths at which tRPC's clients call procedures: one, or several separated by commas. */
export const API_PATH = '/api/trpc/';
/** The path of the Model Context Protocol. */
export const MCP_PATH = '/mcp';
export const LIVENESS_PATH = '/healthz';
export const READINESS_PATH = '/readyz';

/** The routes by the prefixes of their paths; all other paths are pages. */
const groups: readonly (readonly [prefix: string, route: Route])[] = [
  [API_PREFIX, { group: 'trpc', pattern: `${API_PATH}{procedures}` }],
  [MCP_PATH, { group: 'mcp', pattern: MCP_PATH }],
  [LIVENESS_PATH, { group: 'health' }],
  [READINESS_PATH, { group: 'health' }],
];
const pages: Route = { group: 'site' };

const procedureRoutes: ReadonlyMap<string, Route> = new Map([
  ...procedures.map(({ route: { path } }): [string, Route] => [path, { group: 'trpc', pattern: path }]),
  ...streams.map(({ route: { path } }): [string, Route] => [path, { group: 'stream', pattern: path }]),
]);

/** The path at the beginning of a URL. */
export const pathOf = (url: string): string => {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
};

/** The route of a request, by its URL. */
export const routeOf = (url: string): Route =>
  procedureRoutes.get(pathOf(url)) ?? groups.find(([prefix]) => url.startsWith(prefix))?.[1] ?? pages;

/** Whether a path is a health check, which does not wait behind other requests. */
export const isHealthCheck = (path: string): boolean => path === LIVENESS_PATH || path === READINESS_PATH;

const READ_METHODS = ['GET', 'HEAD', 'POST'];
const WRITE_METHODS = ['POST'];
const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
const CODINGS: ReadonlySet<string> = new Set(['identity', ...BODY_CODINGS]);
const ACCEPTED_CODINGS = BODY_CODINGS.join(', ');

/**
 * Headers with a single value that affects the handling: of two values, Node and a proxy might choose different ones.
 * List headers may have several lines (RFC 9110, section 5.3). Node's parser itself refuses two lengths or two
 * encodings.
 */
const SINGLE = new Set(['host', 'authorization', 'content-type', 'origin', 'idempotency-key']);

/** The first repeated header of `SINGLE`. In `rawHeaders`, names and values alternate. */
const repeatedHeader = (rawHeaders: readonly string[]): string | undefined => {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] as string;
    const name = header.toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (seen.has(name)) return header;
    seen.add(name);
  }
  return undefined;
};

/** A host and a port in the form of a URL (RFC 3986, section 3.2.2); both may be empty. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/**
 * Asserts that no single-valued header is repeated, and that the request names a host, as HTTP/1.1 demands (RFC 9112,
 * section 3.2).
 * @throws AppError BAD_HTTP_REQUEST, HEADERS_TOO_LARGE
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

/** The methods that a procedure accepts; tRPC clients send reads by GET. */
const methodsOf = ({ effect }: Pick<ProcedureMetadata, 'effect'>): readonly string[] =>
  effect === 'read' ? READ_METHODS : WRITE_METHODS;

/** `GET, HEAD or POST` */
const either = (methods: readonly string[]): string => methods.join(', ').replace(/, (?=\w+$)/, ' or ');

/** Refuses other methods; `more` extends the hint. @throws AppError METHOD_NOT_SUPPORTED, with the header `Allow` */
export const assertMethod = (request: Request, response: Response, methods: readonly string[], more?: string): void => {
  if (methods.includes(request.method)) return;
  response.setHeader('Allow', methods.join(', '));
  const hint = `Send ${either(methods)}, not ${request.method}.${more === undefined ? '' : ` ${more}`}`;
  throw new AppError('METHOD_NOT_SUPPORTED', { hint });
};

/** Asserts that the procedure accepts the request's method. @throws AppError METHOD_NOT_SUPPORTED */
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
 * Asserts that a GET has no content, which has no meaning (RFC 9110, section 9.3.1): a caller who sends an input this
 * way meant a POST, and the error says so.
 * @throws AppError METHOD_NOT_SUPPORTED, with the header `Allow`
 */
export const assertNoContent = ({ headers }: Request, response: Response): void => {
  if (!hasContent(headers)) return;
  response.setHeader('Allow', WRITE_METHODS.join(', '));
  throw new AppError('METHOD_NOT_SUPPORTED', { hint: 'Send a body by POST; a GET takes its input as `?input=`.' });
};

const SEND_JSON = 'Send `Content-Type: application/json`';

/** A hint on a body with another media type or charset, or without a readable media type. */
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
 * @throws AppError UNSUPPORTED_MEDIA_TYPE for a body that is not JSON in UTF-8, or that has an unknown coding. Only for
 * the coding, it has the header `Accept-Encoding` (RFC 9110, sections 12.5.3 and 15.5.16)
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

/** Asserts a reading method, on paths that are not procedures. @throws as `assertMethod` */
export const readOnly: RequestHandler = (request, response, next) => {
  assertMethod(request, response, ['GET', 'HEAD']);
  next();
};

/** The parsed `Content-Type`; undefined if malformed. */
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
