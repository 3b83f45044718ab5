import type { Request, RequestHandler, Response } from 'express';
import type { AuthorizedCall, RpcPipeline } from '../pipeline.ts';
import { textPayload } from '../payload.ts';
import type { RpcContext } from '../context.ts';
import type { RequestContext } from '../request-context.ts';
import { AppError } from '../../errors.ts';
import { refusalCost } from '../../overload/retry-throttle.ts';
import type { BodyReader } from '../../http/message/body.ts';
import { queryText, sendToGet } from './get.ts';
import { withPlace } from './place.ts';
import { requestContextOf } from '../arrival-of.ts';
import { errorDocs, toAppError } from '../../http/message/failures.ts';
import type { CallObservation } from '../../telemetry/hooks.ts';
import { assertJson, assertMethodOf, assertNoContent } from '../../http/middleware/preconditions.ts';
import { sendJson } from '../../http/message/reply.ts';
import { API_PATH } from '../../http/routes.ts';
import { RateLimitHeaders } from '../../http/message/rate-limit-headers.ts';
import { answerBatch } from './batch.ts';

const isOverload = (error: unknown): boolean => error instanceof AppError && error.reason === 'OVERLOADED';

/**
 * The procedures of the contract: single calls by POST and, for reads, by GET, as tRPC's clients send them; and batches.
 */
export const trpcTransport = (
  calls: RpcPipeline,
  bodies: BodyReader,
  { log, protection, config }: RpcContext,
): RequestHandler => {
  const { requestTimeoutMs } = config;
  const { overload, limits } = protection;
  const batch = answerBatch(calls, bodies, { log, overload, docs: errorDocs(config), timeoutMs: requestTimeoutMs });

  const admit = async (
    id: string,
    request: Request,
    response: Response,
    context: RequestContext,
  ): Promise<AuthorizedCall> => {
    const procedure = calls.find(id);
    response.locals.procedure = id;
    assertMethodOf(request, response, procedure);
    if (request.method === 'POST') assertJson(request, response);
    else assertNoContent(request, response);
    return calls.authorize(procedure, context);
  };

  /** Makes a call; for whom there is no room, and who is back too soon, waits for that to be said. */
  const perform = async (authorized: AuthorizedCall, text: string, request: Request): Promise<Buffer> => {
    try {
      return await calls.invoke(authorized, textPayload(text));
    } catch (error) {
      if (isOverload(error)) await overload.retries.turn(request.socket, refusalCost.late);
      throw text === '' ? withPlace(error, authorized.procedure, request) : error;
    }
  };

  /** The answer to a call, and what sends it. */
  const answerTo = async (
    id: string,
    { request, response, watch }: { request: Request; response: Response; watch: CallObservation },
  ): Promise<[answer: Buffer, send: typeof sendJson]> => {
    const context = requestContextOf(request, response, requestTimeoutMs);
    const authorized = await admit(id, request, response, context);
    if (request.method === 'POST') {
      const text = await bodies.read(request, authorized.procedure.bodyLimit).catch((error: unknown) => {
        calls.billBody(context, 0);
        throw error;
      });
      calls.billBody(context, text.length);
      watch.sent(Buffer.byteLength(text));
      context.deadline.restart();
      return [await perform(authorized, text, request), sendJson];
    }
    const text = queryText(request);
    watch.sent(Buffer.byteLength(text));
    return [await perform(authorized, text, request), sendToGet];
  };

  const single = async (id: string, request: Request, response: Response): Promise<void> => {
    const watch = calls.observe(id);
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
    if (limits) response.locals.statuses = new RateLimitHeaders(() => limits.limiter.status(response.locals.address));
    if (request.url.length > path.length && request.query['batch'] === '1') {
      await batch(path.slice(API_PATH.length), request, response);
    } else await single(path.slice(API_PATH.length), request, response);
  };
};
