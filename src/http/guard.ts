import { parse } from 'content-type';
import type { Request, RequestHandler, Response } from 'express';
import type { ProcedureMetadata } from '../../contract/index.ts';
import { AppError } from '../errors.ts';

const READ_METHODS = ['GET', 'HEAD', 'POST'];
const WRITE_METHODS = ['POST'];
const ENCODINGS = new Set(['identity', 'gzip', 'deflate', 'br']);

/** Lets through what names a host, as HTTP/1.1 demands (RFC 9112, section 3.2). @throws AppError BAD_HTTP_REQUEST */
export const requireHost: RequestHandler = (request, _response, next) => {
  if (request.headers.host === undefined && request.httpVersion !== '1.0') throw new AppError('BAD_HTTP_REQUEST');
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

/** @throws AppError UNSUPPORTED_MEDIA_TYPE for a body that is not JSON in UTF-8 */
export const assertJson = ({ headers }: Request): void => {
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = headers;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(length ?? 0) > 0;
  const usable =
    (type === undefined ? !hasBody : isJson(type)) && (encoding === undefined || ENCODINGS.has(encoding.toLowerCase()));
  if (!usable) throw new AppError('UNSUPPORTED_MEDIA_TYPE');
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
