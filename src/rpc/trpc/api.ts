import { ContractNoBody, initContract } from '@ts-rest/core';
import { createExpressEndpoints } from '@ts-rest/express';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import { contract } from '../../../contract/index.ts';
import type { AuthorizedCall, RpcPipeline } from '../pipeline.ts';
import { textPayload } from '../payload.ts';
import type { RpcContext } from '../context.ts';
import { AppError } from '../../base/errors.ts';
import { parametersHint } from '../../base/suggestions/query.ts';
import type { Procedure } from '../procedures.ts';
import { refusalCost } from '../../limits/overload/retry-throttle.ts';
import type { BodyReader } from '../../http/message/body.ts';
import { queryText, sendToGet } from './get.ts';
import { type RequestContext, requestContextOf } from '../request-context.ts';
import { errorDocs, toAppError } from '../../http/message/failures.ts';
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

/** The last part of a path: the id of a procedure, or those of a batch. */
const idsIn = ({ path }: Request): string => path.slice(API_PATH.length);

const isOverload = (error: unknown): boolean => error instanceof AppError && error.reason === 'OVERLOADED';

const c = initContract();

/**
 * A route of a procedure as it is mounted: its body is read in its turn, and its handler sends the reply, in one write; ts-rest
 * ends it once more, which does nothing. By Express' own means, as ts-rest would send it, it takes a tenth of a short call.
 */
const mounted = ({ route: { method, path, summary } }: Procedure) =>
  ({
    method,
    path,
    summary,
    body: c.type<unknown>(),
    responses: { 200: ContractNoBody },
  }) as const;

/** The tRPC transport: single calls by POST and, for reads, by GET; and batches. */
export const trpcTransport = (
  calls: RpcPipeline,
  bodies: BodyReader,
  rpc: RpcContext,
  tailOptions: TailOptions,
): RequestHandler => {
  const { log, protection, config } = rpc;
  const { overload, limits } = protection;
  const batch = answerBatch(calls, bodies, { log, overload, docs: errorDocs(config), config });

  /** Runs a call. It delays the 503 for clients that ignored `Retry-After`. */
  const perform = async (authorized: AuthorizedCall, text: string, request: Request): Promise<Buffer> => {
    try {
      return await calls.invoke(authorized, textPayload(text));
    } catch (error) {
      if (isOverload(error)) await overload.retries.turn(request.socket, refusalCost.late);
      throw text === '' ? withParametersHint(error, authorized.procedure, request) : error;
    }
  };

  const readText = async ({ procedure, context }: AuthorizedCall, request: Request): Promise<string> => {
    if (request.method !== 'POST') return queryText(request);
    const text = await bodies.read(request, procedure.bodyLimit).catch((error: unknown) => {
      calls.chargeBody(context, 0);
      throw error;
    });
    calls.chargeBody(context, text.length);
    return text;
  };

  /** The answer to a call of the procedure with this id, by the steps of a call in their order. */
  const answerTo = async (id: string, request: Request, response: Response): Promise<Buffer> => {
    const observation = calls.observe(id);
    let context: RequestContext | undefined;
    const steps = async (): Promise<Buffer> => {
      const procedure = calls.find(id);
      response.locals.procedure = id;
      assertMethodOf(request, response, procedure);
      if (request.method === 'POST') assertJson(request, response);
      else assertNoContent(request, response);
      context = requestContextOf(request, response, config);
      const authorized = await calls.authorize(procedure, context);
      const text = await readText(authorized, request);
      observation.sent(Buffer.byteLength(text));
      if (request.method === 'POST') context.deadline.restart();
      return perform(authorized, text, request);
    };
    try {
      const answer = await observation.within(steps);
      observation.answered(answer.length);
      return answer;
    } catch (error) {
      observation.failed(toAppError(error));
      if (context) calls.noteFailure({ id }, context, error);
      throw error;
    }
  };

  /** Mounts the procedures of the contract. */
  const mount = (router: Router): void => {
    const routes = Object.fromEntries(calls.procedures.map((procedure) => [procedure.id, mounted(procedure)]));
    const handlers = Object.fromEntries(
      calls.procedures.map(({ id }) => [
        id,
        async ({ req, res }: { req: Request; res: Response }) => {
          sendJson(res, 200, await answerTo(id, req, res));
          return { status: 200 as const, body: undefined };
        },
      ]),
    );
    createExpressEndpoints(routes, handlers, router, { logInitialization: false });
  };

  const withRateLimits: RequestHandler = (_request, response, next) => {
    if (limits) response.locals.rateLimits = new RateLimitHeaders(() => limits.limiter.status(response.locals.address));
    next();
  };
  const batches: RequestHandler = (request, response, next) =>
    request.url.length > request.path.length && request.query['batch'] === '1'
      ? batch(idsIn(request), request, response)
      : next();
  /** Reads by GET, and what cannot be called. */
  const others: RequestHandler = (request, response) =>
    answerTo(idsIn(request), request, response).then((answer) => sendToGet(response, 200, answer));

  const router = Router({ caseSensitive: true, strict: true });
  router.all(contract.event.tail.path, tailTransport(calls, bodies, rpc, tailOptions));
  router.use(withRateLimits, batches);
  mount(router);
  router.use(others);
  return (request, response, next) => {
    if (request.path.startsWith(API_PATH)) router(request, response, next);
    else next();
  };
};
