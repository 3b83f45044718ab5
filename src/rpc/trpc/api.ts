/**
 * The tRPC transport. ts-rest mounts the contract's own routes for calls by POST. Reads by GET and batches, which the
 * contract does not describe, make the same calls.
 */
import {
  type AppRouteMutationImplementation,
  createExpressEndpoints,
  type RequestValidationError,
  type TsRestRequest,
} from '@ts-rest/express';
import { type NextFunction, type Request, type RequestHandler, type Response, Router } from 'express';
import type { z } from 'zod';
import { contract, type Route } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import { invalidInput } from '../../base/suggestions/input.ts';
import { parametersHint } from '../../base/suggestions/query.ts';
import { type BodyReader, queryText } from '../../http/message/body.ts';
import { errorDocs, errorHandler, toAppError } from '../../http/message/failures.ts';
import { jsonOf, sendJsonAtOnce, sendToGet } from '../../http/message/reply.ts';
import { assertJson, assertMethodOf, assertNoContent, API_PATH } from '../../http/middleware/preconditions.ts';
import { refusalCost } from '../../limits/overload/retry-throttle.ts';
import type { AdmittedCall, BegunCall, Calls } from '../call.ts';
import type { RpcContext, Procedure, Reply } from '../procedures.ts';
import { textPayload } from '../payload.ts';
import { answerBatch } from './batch.ts';
import { type TailOptions, tailTransport } from './tail.ts';

declare global {
  // eslint-disable-next-line typescript/no-namespace -- Express is extended in no other way.
  namespace Express {
    interface Locals {
      /** The call of a request that ts-rest answers: from its beginning, and once its body is read. */
      begun?: BegunCall;
      call?: AdmittedCall;
    }
  }
}

/** Routes of the contract, as ts-rest mounts them. */
type Routes = Record<string, Route>;

/** The error of a call without parameters. If it lacks some, a hint says where they belong. */
const withParametersHint = (error: unknown, procedure: Procedure, { method, query }: Request): unknown => {
  if (!(error instanceof AppError) || error.reason !== 'VALIDATION_FAILED') return error;
  const { input: _, batch: __, ...others } = query;
  const hint = parametersHint(method, others, procedure);
  return hint === undefined ? error : new AppError(error.reason, { ...error.details, hint });
};

/** The last part of a path: the id of a procedure, or the ids of a batch. */
const idsIn = ({ path }: Request): string => path.slice(API_PATH.length);

const isBatch = ({ url, path, query }: Request): boolean => url.length > path.length && query['batch'] === '1';

/** Asserts the method and the content type of a procedure call. */
const accept = (request: Request, response: Response, procedure: Procedure): void => {
  response.locals.state.procedure = procedure.id;
  assertMethodOf(request, response, procedure);
  if (request.method === 'POST') assertJson(request, response);
  else assertNoContent(request, response);
};

/** ts-rest's handler of input faults. */
const refuseInput = (
  { body }: RequestValidationError,
  request: TsRestRequest<Routes>,
  response: Response,
  next: NextFunction,
): void => {
  const { procedure, payload } = response.locals.call as AdmittedCall;
  const error = invalidInput(procedure, payload.envelope, (body?.issues ?? []) as z.core.$ZodIssue[]);
  next(payload.text === '' ? withParametersHint(error, procedure, request) : error);
};

/** The tRPC transport: single calls by POST, reads also by GET, and batches. */
export const trpcTransport = (
  calls: Calls,
  bodies: BodyReader,
  rpc: RpcContext,
  tailOptions: TailOptions,
): RequestHandler => {
  const { log, protection, config } = rpc;
  const { retries } = protection.overload;
  const failureContext = { log, docs: errorDocs(config) };

  /** Delays the 503 of a call for clients that ignored `Retry-After`. */
  const delayRefusal = async (error: unknown, { socket }: Request): Promise<void> => {
    if (toAppError(error).reason === 'OVERLOADED') await retries.turn(socket, refusalCost.late);
  };

  /** ts-rest's middleware: the steps of a call until its input, which ts-rest checks next. */
  const admit = async (request: TsRestRequest<Routes>, response: Response, next: NextFunction): Promise<void> => {
    const begun = response.locals.begun as BegunCall;
    const procedure = calls.find(begun.id);
    accept(request, response, procedure);
    const call = await calls.admit(begun, procedure, async ({ observation }) => {
      const text = await bodies.readForCall(request, procedure.bodyLimit);
      observation.sent(Buffer.byteLength(text));
      return textPayload(text);
    });
    response.locals.call = call;
    request.body = call.payload.envelope as typeof request.body;
    next();
  };

  /** The last steps of a call. `answerPost` handles its failures. */
  const endpoint = async ({
    body: { json },
    res: { locals },
  }: Parameters<AppRouteMutationImplementation<Route>>[0]): Promise<{ status: 200; body: Reply }> => ({
    status: 200,
    body: await calls.invoke(locals.call as AdmittedCall, json),
  });

  /** The route of a procedure, by ts-rest. Each has its own router: a common one would try their paths in turn. */
  const mounted = ({ id, route }: Procedure): Router => {
    const router = Router({ caseSensitive: true, strict: true });
    const routes: Routes = { [id]: route };
    createExpressEndpoints(routes, { [id]: endpoint }, router, {
      logInitialization: false,
      globalMiddleware: [admit],
      requestValidationErrorHandler: refuseInput,
    });
    return router;
  };
  const routers = new Map(calls.procedures.map((procedure) => [procedure.route.path, mounted(procedure)]));
  const answerFailure = errorHandler(failureContext);

  /** Answers a call by POST. */
  const answerPost = (router: Router, request: Request, response: Response, next: NextFunction): void => {
    const begun = calls.observe(idsIn(request), response.locals.state);
    response.locals.begun = begun;
    sendJsonAtOnce(response);
    const end = async (error: unknown): Promise<void> => {
      calls.noteFailure(begun, error);
      await delayRefusal(error, request);
      // The other layers of the app do not handle calls.
      answerFailure(error, request, response, next);
    };
    begun.observation.within(() => router(request, response, (error: unknown) => void end(error)));
  };

  /** Answers a read by GET, and a request that is not a call. */
  const answerOther = async (request: Request, response: Response): Promise<void> => {
    const { state } = response.locals;
    const id = idsIn(request);
    try {
      const reply = await calls.make(id, state, {
        accept: (procedure) => accept(request, response, procedure),
        read: ({ observation }) => {
          const text = queryText(request);
          observation.sent(Buffer.byteLength(text));
          return textPayload(text);
        },
      });
      sendToGet(response, 200, jsonOf(reply));
    } catch (error) {
      await delayRefusal(error, request);
      const isEmpty = request.query['input'] === undefined || request.query['input'] === '';
      throw isEmpty && state.procedure === id ? withParametersHint(error, calls.find(id), request) : error;
    }
  };

  const batch = answerBatch(calls, bodies, rpc);
  const tail = tailTransport(calls, bodies, rpc, tailOptions);

  /** Answers every request except a single call by POST. */
  const answerRest = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    if (request.path === contract.event.tail.path) await tail(request, response, next);
    else if (isBatch(request)) await batch(idsIn(request), request, response);
    else await answerOther(request, response);
  };

  // Express passes the rejection of an async handler to `next`.
  return (request, response, next) => {
    if (!request.path.startsWith(API_PATH)) return next();
    const { state } = response.locals;
    state.expectCalls(request, response, config);
    calls.showRateLimits(state);
    const router = request.method === 'POST' && !isBatch(request) ? routers.get(request.path) : undefined;
    return router ? answerPost(router, request, response, next) : answerRest(request, response, next);
  };
};
