import type { Request, RequestHandler, Response } from 'express';
import type { Admitted, Calls, Sent } from '../call/calls.ts';
import type { Context } from '../context.ts';
import { parseJson, readText } from './body.ts';
import { queryText, sendToGet } from './get.ts';
import { assertJson, assertMethod, methodsOf } from './guard.ts';
import { sendJson } from './reply.ts';
import { removeUndefined } from './superjson.ts';
import { answerBatch } from './batch.ts';

const API = '/api/trpc/';

/** What a request carries as text. */
const sentAs = (text: string): Sent => ({
  text,
  parse: () => (text === '' ? {} : removeUndefined(parseJson(text))),
});

/**
 * The procedures of the contract: single calls by POST and, for reads, by GET, as tRPC's clients send them; and batches.
 */
export const api = (calls: Calls, { log }: Context): RequestHandler => {
  const batch = answerBatch(calls, log);

  const admit = async (id: string, request: Request, response: Response): Promise<Admitted> => {
    const procedure = calls.find(id);
    response.locals.procedure = id;
    assertMethod(request, response, methodsOf(procedure));
    if (request.method === 'POST') assertJson(request);
    return calls.admit(procedure, request.headers.authorization, (caller) => {
      response.locals.caller = caller;
    });
  };

  const single = async (id: string, request: Request, response: Response): Promise<void> => {
    const admitted = await admit(id, request, response);
    if (request.method === 'POST') {
      const text = await readText(request, response, admitted.procedure.bodyLimit);
      sendJson(response, 200, await calls.perform(admitted, sentAs(text)));
    } else {
      sendToGet(response, 200, await calls.perform(admitted, sentAs(queryText(request))));
    }
  };

  return async (request, response, next) => {
    const { path } = request;
    if (!path.startsWith(API)) next();
    else if (request.url.length > path.length && request.query['batch'] === '1') {
      await batch(path.slice(API.length), request, response);
    } else await single(path.slice(API.length), request, response);
  };
};
