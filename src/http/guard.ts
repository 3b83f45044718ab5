import { parse } from 'content-type';
import type { RequestHandler } from 'express';
import { AppError } from '../errors.ts';

const ENCODINGS = new Set(['identity', 'gzip', 'deflate', 'br']);

/** Lets through what names a host, as HTTP/1.1 demands (RFC 9112, section 3.2). @throws AppError BAD_HTTP_REQUEST */
export const requireHost: RequestHandler = (request, _response, next) => {
  if (request.headers.host === undefined && request.httpVersion !== '1.0') throw new AppError('BAD_HTTP_REQUEST');
  next();
};

/** Lets through what has one of these methods. @throws AppError METHOD_NOT_SUPPORTED, with the header `Allow` */
export const allowMethods =
  (...methods: string[]): RequestHandler =>
  (request, response, next) => {
    if (!methods.includes(request.method)) {
      response.set('Allow', methods.join(', '));
      throw new AppError('METHOD_NOT_SUPPORTED');
    }
    next();
  };

/** Lets through JSON in UTF-8, and requests without a body. @throws AppError UNSUPPORTED_MEDIA_TYPE */
export const requireJson: RequestHandler = (request, _response, next) => {
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = request.headers;
  const hasBody = request.headers['transfer-encoding'] !== undefined || Number(length ?? 0) > 0;
  const usable =
    (type === undefined ? !hasBody : isJson(type)) && (encoding === undefined || ENCODINGS.has(encoding.toLowerCase()));
  if (!usable) throw new AppError('UNSUPPORTED_MEDIA_TYPE');
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
