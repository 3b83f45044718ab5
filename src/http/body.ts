import { isUtf8 } from 'node:buffer';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { AppError } from '../errors.ts';
import { removeUndefined } from './superjson.ts';

/** Parses JSON. @throws AppError MALFORMED_JSON */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError('MALFORMED_JSON', { cause });
  }
};

/**
 * A function that reads the JSON of a request's body, at most `limit` bytes when unpacked; `{}` for an empty body.
 * @throws AppError MALFORMED_JSON, and what `http/errors.ts` knows of the body parser
 */
export const jsonReader = (limit: number) => {
  const raw = express.raw({ type: () => true, limit });
  return async (request: Request, response: Response): Promise<unknown> => {
    await new Promise<void>((resolve, reject) => {
      raw(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
    });
    const body: unknown = request.body;
    if (!Buffer.isBuffer(body) || body.length === 0) return {};
    // Express' own JSON parser would take broken UTF-8 for replacement characters.
    if (!isUtf8(body)) throw new AppError('MALFORMED_JSON');
    return parseJson(body.toString());
  };
};

/** Reads the body and leaves the request envelope in `request.body`. @throws as `jsonReader` */
export const readBody = (limit: number): RequestHandler => {
  const read = jsonReader(limit);
  return async (request, response, next) => {
    request.body = removeUndefined(await read(request, response));
    next();
  };
};
