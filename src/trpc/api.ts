import type { Request, RequestHandler, Response } from 'express';
import type { Admitted, Calls } from '../call/calls.ts';
import { sentText } from '../call/envelope.ts';
import type { Context } from '../context.ts';
import type { Arrival } from '../call/arrival.ts';
import { AppError } from '../errors.ts';
import { refusalCost } from '../admission/pace.ts';
import { Bodies } from './body.ts';
import { queryText, sendToGet } from './get.ts';
import { arrivalOf } from '../http/arrival.ts';
import { assertJson, assertMethod, methodsOf } from '../http/guard.ts';
import { sendJson } from '../http/reply.ts';
import { Standings } from '../http/standings.ts';
import { answerBatch } from './batch.ts';

const API = '/api/trpc/';

const isOverload = (error: unknown): boolean => error instanceof AppError && error.reason === 'OVERLOADED';

/**
 * The procedures of the contract: single calls by POST and, for reads, by GET, as tRPC's clients send them; and batches.
 */
export const api = (calls: Calls, { log, lanes, limits, config: { requestTimeoutMs } }: Context): RequestHandler => {
  const bodies = new Bodies();
  const batch = answerBatch(calls, bodies, { log, lanes, timeoutMs: requestTimeoutMs });

  const admit = async (id: string, request: Request, response: Response, arrival: Arrival): Promise<Admitted> => {
    const procedure = calls.find(id);
    response.locals.procedure = id;
    assertMethod(request, response, methodsOf(procedure));
    if (request.method === 'POST') assertJson(request, response);
    return calls.admit(procedure, arrival);
  };

  /** Makes a call; for whom there is no room, and who is back too soon, waits for that to be said. */
  const perform = async (admitted: Admitted, text: string, { socket }: Request): Promise<Buffer> => {
    try {
      return await calls.perform(admitted, sentText(text));
    } catch (error) {
      if (isOverload(error)) await lanes.pace.turn(socket, refusalCost.late);
      throw error;
    }
  };

  const single = async (id: string, request: Request, response: Response): Promise<void> => {
    const arrival = arrivalOf(request, response, requestTimeoutMs);
    const admitted = await admit(id, request, response, arrival);
    if (request.method === 'POST') {
      const text = await bodies.read(request, admitted.procedure.bodyLimit);
      calls.billBody(arrival, text.length);
      arrival.deadline.restart();
      sendJson(response, 200, await perform(admitted, text, request));
    } else {
      sendToGet(response, 200, await perform(admitted, queryText(request), request));
    }
  };

  return async (request, response, next) => {
    const { path } = request;
    if (!path.startsWith(API)) {
      next();
      return;
    }
    if (limits) response.locals.standings = new Standings(() => limits.rates.standing(request.ip ?? ''));
    if (request.url.length > path.length && request.query['batch'] === '1') {
      await batch(path.slice(API.length), request, response);
    } else await single(path.slice(API.length), request, response);
  };
};
