import type { Request, RequestHandler, Response } from 'express';
import type { Admitted, Calls } from '../pipeline.ts';
import { sentText } from '../payload.ts';
import type { RpcContext } from '../context.ts';
import type { Arrival } from '../request-context.ts';
import { AppError } from '../../errors.ts';
import { refusalCost } from '../../overload/retry-throttle.ts';
import type { Bodies } from '../../http/message/body.ts';
import { queryText, sendToGet } from './get.ts';
import { withPlace } from './place.ts';
import { arrivalOf } from '../arrival-of.ts';
import { errorDocs, toAppError } from '../../http/message/failures.ts';
import type { CallWatch } from '../../telemetry/hooks.ts';
import { assertJson, assertMethodOf, assertNoContent } from '../../http/middleware/preconditions.ts';
import { sendJson } from '../../http/message/reply.ts';
import { API_PATH } from '../../http/routes.ts';
import { Standings } from '../../http/message/rate-limit-headers.ts';
import { answerBatch } from './batch.ts';

const isOverload = (error: unknown): boolean => error instanceof AppError && error.reason === 'OVERLOADED';

/**
 * The procedures of the contract: single calls by POST and, for reads, by GET, as tRPC's clients send them; and batches.
 */
export const api = (calls: Calls, bodies: Bodies, { log, protection, config }: RpcContext): RequestHandler => {
  const { requestTimeoutMs } = config;
  const { overload, limits } = protection;
  const batch = answerBatch(calls, bodies, { log, overload, docs: errorDocs(config), timeoutMs: requestTimeoutMs });

  const admit = async (id: string, request: Request, response: Response, arrival: Arrival): Promise<Admitted> => {
    const procedure = calls.find(id);
    response.locals.procedure = id;
    assertMethodOf(request, response, procedure);
    if (request.method === 'POST') assertJson(request, response);
    else assertNoContent(request, response);
    return calls.admit(procedure, arrival);
  };

  /** Makes a call; for whom there is no room, and who is back too soon, waits for that to be said. */
  const perform = async (admitted: Admitted, text: string, request: Request): Promise<Buffer> => {
    try {
      return await calls.perform(admitted, sentText(text));
    } catch (error) {
      if (isOverload(error)) await overload.retries.turn(request.socket, refusalCost.late);
      throw text === '' ? withPlace(error, admitted.procedure, request) : error;
    }
  };

  /** The answer to a call, and what sends it. */
  const answerTo = async (
    id: string,
    { request, response, watch }: { request: Request; response: Response; watch: CallWatch },
  ): Promise<[answer: Buffer, send: typeof sendJson]> => {
    const arrival = arrivalOf(request, response, requestTimeoutMs);
    const admitted = await admit(id, request, response, arrival);
    if (request.method === 'POST') {
      const text = await bodies.read(request, admitted.procedure.bodyLimit).catch((error: unknown) => {
        calls.billBody(arrival, 0);
        throw error;
      });
      calls.billBody(arrival, text.length);
      watch.sent(Buffer.byteLength(text));
      arrival.deadline.restart();
      return [await perform(admitted, text, request), sendJson];
    }
    const text = queryText(request);
    watch.sent(Buffer.byteLength(text));
    return [await perform(admitted, text, request), sendToGet];
  };

  const single = async (id: string, request: Request, response: Response): Promise<void> => {
    const watch = calls.watch(id);
    const [answer, send] = await watch
      .within(() => answerTo(id, { request, response, watch }))
      .catch((error: unknown) => {
        watch.failed(toAppError(error));
        throw error;
      });
    watch.answered(answer.length);
    send(response, 200, answer);
  };

  return async (request, response, next) => {
    const { path } = request;
    if (!path.startsWith(API_PATH)) {
      next();
      return;
    }
    if (limits) response.locals.standings = new Standings(() => limits.rates.standing(response.locals.address));
    if (request.url.length > path.length && request.query['batch'] === '1') {
      await batch(path.slice(API_PATH.length), request, response);
    } else await single(path.slice(API_PATH.length), request, response);
  };
};
