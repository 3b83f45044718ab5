/** Reads by GET, as tRPC's clients send them: https://trpc.io/docs/rpc */
import type { Request, Response } from 'express';
import { AppError } from '../../errors.ts';
import { etagOf } from '../../http/message/reply.ts';
import { setCommonHeaders } from '../../http/message/reply.ts';

const CACHED = 'public, max-age=1';

/** What a GET carries as `?input=<JSON>`; empty for nothing. @throws AppError MALFORMED_JSON */
export const queryText = ({ query: { input = '' } }: Request): string => {
  if (typeof input !== 'string') throw new AppError('MALFORMED_JSON', { hint: 'Send `input` once.' });
  return input;
};

/**
 * Answers a GET with JSON; what nobody in particular got may be kept for a second. By Express' own means, which know of
 * conditional requests.
 */
export const sendToGet = (response: Response, status: number, json: string | Buffer): void => {
  const isPublic = status === 200 && response.locals.caller === undefined;
  setCommonHeaders(response);
  response
    .status(status)
    .vary('Authorization, trpc-accept')
    .set(isPublic ? { ETag: etagOf(json), 'Cache-Control': CACHED } : { 'Cache-Control': 'no-store' })
    .type('json')
    .send(json);
};
