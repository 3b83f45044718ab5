import type { Request, RequestHandler, Response } from 'express';
import type { Admitted, Calls } from '../call/calls.ts';
import { sentText } from '../call/envelope.ts';
import type { Context } from '../context.ts';
import type { Deadline } from '../deadline.ts';
import { Bodies } from './body.ts';
import { queryText, sendToGet } from './get.ts';
import { deadlineOf } from '../http/deadline.ts';
import { assertJson, assertMethod, methodsOf } from '../http/guard.ts';
import { sendJson } from '../http/reply.ts';
import { answerBatch } from './batch.ts';

const API = '/api/trpc/';

/**
 * The procedures of the contract: single calls by POST and, for reads, by GET, as tRPC's clients send them; and batches.
 */
export const api = (calls: Calls, { log, config: { requestTimeoutMs } }: Context): RequestHandler => {
  const bodies = new Bodies();
  const batch = answerBatch(calls, bodies, log, requestTimeoutMs);

  const admit = async (id: string, request: Request, response: Response, deadline: Deadline): Promise<Admitted> => {
    const procedure = calls.find(id);
    response.locals.procedure = id;
    assertMethod(request, response, methodsOf(procedure));
    if (request.method === 'POST') assertJson(request, response);
    return calls.admit(procedure, request.headers.authorization, deadline, (caller) => {
      response.locals.caller = caller;
    });
  };

  const single = async (id: string, request: Request, response: Response): Promise<void> => {
    const deadline = deadlineOf(response, requestTimeoutMs);
    const admitted = await admit(id, request, response, deadline);
    if (request.method === 'POST') {
      const text = await bodies.read(request, admitted.procedure.bodyLimit);
      deadline.restart(requestTimeoutMs);
      sendJson(response, 200, await calls.perform(admitted, sentText(text), deadline));
    } else {
      sendToGet(response, 200, await calls.perform(admitted, sentText(queryText(request)), deadline));
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
