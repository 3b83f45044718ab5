import { isUtf8 } from 'node:buffer';
import express, { type Request, type Response } from 'express';
import { AppError } from '../errors.ts';

const unpackers = new Map<number, ReturnType<typeof express.raw>>();

/** A body that comes compressed, unpacked. At most `limit` bytes then. */
const unpack = async (request: Request, response: Response, limit: number): Promise<Buffer> => {
  const raw = unpackers.get(limit) ?? express.raw({ type: () => true, limit });
  unpackers.set(limit, raw);
  await new Promise<void>((resolve, reject) => {
    raw(request, response, (error?: Error) => (error ? reject(error) : resolve()));
  });
  const body: unknown = request.body;
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
};

/** A body as it comes: nearly every one. Express' reader would do, at the price of the rest of the request. */
const readPlain = (request: Request, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const fail = (error: Error) => {
      request.removeAllListeners('data');
      reject(error);
    };
    if (Number(request.headers['content-length'] ?? 0) > limit) {
      fail(new AppError('PAYLOAD_TOO_LARGE'));
      return;
    }
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) fail(new AppError('PAYLOAD_TOO_LARGE'));
      else chunks.push(chunk);
    });
    request.once('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    // The connection broke: nobody is left to read the answer.
    request.once('error', (cause) => fail(new AppError('MALFORMED_JSON', { cause })));
  });

/**
 * The text of a request's body, at most `limit` bytes when unpacked; empty for none.
 * @throws AppError PAYLOAD_TOO_LARGE, MALFORMED_JSON for what is not UTF-8, and what `http/errors.ts` knows of the reader
 * of compressed bodies
 */
export const readText = async (request: Request, response: Response, limit: number): Promise<string> => {
  const encoding = request.headers['content-encoding'];
  const isPlain = encoding === undefined || encoding.toLowerCase() === 'identity';
  const body = await (isPlain ? readPlain(request, limit) : unpack(request, response, limit));
  // A decoder would take broken UTF-8 for replacement characters.
  if (!isUtf8(body)) throw new AppError('MALFORMED_JSON');
  return body.toString();
};
