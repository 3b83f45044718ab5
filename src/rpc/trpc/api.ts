import type { Request, RequestHandler, Response } from 'express';
import { contract } from '../../../contract/index.ts';
import type { AuthorizedCall, RpcPipeline } from '../pipeline.ts';
import { textPayload } from '../payload.ts';
import type { RpcContext } from '../context.ts';
import type { RequestContext } from '../request-context.ts';
import { AppError } from '../../base/errors.ts';
import { parametersHint } from '../../base/suggestions/query.ts';
import type { Procedure } from '../procedures.ts';
import { refusalCost } from '../../limits/overload/retry-throttle.ts';
import type { BodyReader } from '../../http/message/body.ts';
import { queryText, sendToGet } from './get.ts';
import { requestContextOf } from '../request-context.ts';
import { errorDocs, toAppError } from '../../http/message/failures.ts';
import type { CallObservation } from '../../telemetry/hooks.ts';
import { assertJson, assertMethodOf, assertNoContent } from '../../http/middleware/preconditions.ts';
import { sendJson } from '../../http/message/reply.ts';
import { API_PATH } from '../../http/routes.ts';
import { RateLimitHeaders } from '../../http/message/rate-limit-headers.ts';
import { answerBatch } from './batch.ts';
import { type TailOptions, tailTransport } from './tail.ts';

/** The error of a call without parameters, with a hint on where they go, if it lacks some. */
const withParametersHint = (error: unknown, procedure: Procedure, { method, query }: Request): unknown => {
  if (!(error instanceof AppError) || error.reason !== 'VALIDATION_FAILED') return error;
  const { input: _, batch: __, ...others } = query;
  const hint = parametersHint(method, others, procedure);
  return hint === undefined ? error : new AppError(error.reason, { ...error.details, hint });
};

const isOverload = (error: unknown): boolean => error instanceof AppError && error.reason === 'OVERLOADED';

/** The tRPC transport: single calls by POST and, for reads, by GET; and batches. */
export const trpcTransport = (
  calls: RpcPipeline,
  bodies: BodyReader,
  rpc: RpcContext,
  tailOptions: TailOptions,
): RequestHandler => {
  const { log, protection, config } = rpc;
  const tail = tailTransport(calls, bodies, rpc, tailOptions);
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

  /** Runs a call. It delays the 503 for clients that ignored `Retry-After`. */
  const perform = async (authorized: AuthorizedCall, text: string, request: Request): Promise<Buffer> => {
    try {
      return await calls.invoke(authorized, textPayload(text));
    } catch (error) {
      if (isOverload(error)) await overload.retries.turn(request.socket, refusalCost.late);
      throw text === '' ? withParametersHint(error, authorized.procedure, request) : error;
    }
  };

  /** The answer to a call, and the function that sends it. */
  const answerTo = async (
    id: string,
    { request, response, observation }: { request: Request; response: Response; observation: CallObservation },
  ): Promise<[answer: Buffer, send: typeof sendJson]> => {
    const context = requestContextOf(request, response, requestTimeoutMs);
    const authorized = await admit(id, request, response, context);
    if (request.method === 'POST') {
      const text = await bodies.read(request, authorized.procedure.bodyLimit).catch((error: unknown) => {
        calls.chargeBody(context, 0);
        throw error;
      });
      calls.chargeBody(context, text.length);
      observation.sent(Buffer.byteLength(text));
      context.deadline.restart();
      return [await perform(authorized, text, request), sendJson];
    }
    const text = queryText(request);
    observation.sent(Buffer.byteLength(text));
    return [await perform(authorized, text, request), sendToGet];
  };

  const single = async (id: string, request: Request, response: Response): Promise<void> => {
    const observation = calls.observe(id);
    const [answer, send] = await observation
      .within(() => answerTo(id, { request, response, observation }))
      .catch((error: unknown) => {
        observation.failed(toAppError(error));
        throw error;
      });
    observation.answered(answer.length);
    send(response, 200, answer);
  };

  return async (request, response, next) => {
    const { path } = request;
    if (!path.startsWith(API_PATH)) {
      next();
      return;
    }
    if (path === contract.event.tail.path) {
      await tail(request, response, next);
      return;
    }
    if (limits) response.locals.rateLimits = new RateLimitHeaders(() => limits.limiter.status(response.locals.address));
    if (request.url.length > path.length && request.query['batch'] === '1') {
      await batch(path.slice(API_PATH.length), request, response);
    } else await single(path.slice(API_PATH.length), request, response);
  };
};
