import { isUtf8 } from 'node:buffer';
import express, { type RequestHandler } from 'express';
import { AppError } from '../errors.ts';
import { removeUndefined } from './superjson.ts';

/**
 * Reads the body, at most `limit` bytes when unpacked, and leaves the request envelope in `request.body`.
 * @throws AppError MALFORMED_JSON, and what `http/errors.ts` knows of the body parser
 */
export const readBody = (limit: number): RequestHandler[] => [express.raw({ type: () => true, limit }), parseBody];

const parseBody: RequestHandler = (request, _response, next) => {
  request.body = removeUndefined(parseJson(request.body));
  next();
};

const parseJson = (body: unknown): unknown => {
  if (!Buffer.isBuffer(body) || body.length === 0) return {};
  // Express' own JSON parser would take broken UTF-8 for replacement characters.
  if (!isUtf8(body)) throw new AppError('MALFORMED_JSON');
  try {
    return JSON.parse(body.toString());
  } catch (cause) {
    throw new AppError('MALFORMED_JSON', { cause });
  }
};
