/** Reads by GET, as tRPC's clients send them: https://trpc.io/docs/rpc */
import type { Request, Response } from 'express';
import { AppError } from '../../base/errors.ts';
import { etagOf, setCommonHeaders } from '../../http/message/reply.ts';

const CACHED = 'public, max-age=1';

/** The input of a GET, `?input=<JSON>`; empty for none. @throws AppError MALFORMED_JSON */
export const queryText = ({ query: { input = '' } }: Request): string => {
  if (typeof input !== 'string') throw new AppError('MALFORMED_JSON', { hint: 'Send `input` once.' });
  return input;
};

/**
 * Answers a GET with JSON. Anonymous answers may be cached for a second. Express' own means handle conditional
 * requests.
 */
export const sendToGet = (response: Response, status: number, json: Buffer): void => {
  const isPublic = status === 200 && response.locals.state.caller === undefined;
  setCommonHeaders(response);
  response
    .status(status)
    .vary('Authorization, trpc-accept')
    .set(isPublic ? { ETag: etagOf(json), 'Cache-Control': CACHED } : { 'Cache-Control': 'no-store' })
    .type('json')
    .send(json);
};
