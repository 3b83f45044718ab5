/**
 * The tRPC transport. ts-rest mounts the contract's own routes, for calls by POST; reads by GET and batches, which the contract
 * does not describe, make the same calls.
 */
import {
  type AppRouteMutationImplementation,
  createExpressEndpoints,
  type RequestValidationError,
  type TsRestRequest,
} from '@ts-rest/express';
import {
  type ErrorRequestHandler,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from 'express';
import type { z } from 'zod';
import { contract, errorOf, type ErrorResponse, type Route } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import { invalidInput } from '../../base/suggestions/input.ts';
import { parametersHint } from '../../base/suggestions/query.ts';
import type { BodyReader } from '../../http/message/body.ts';
import { errorDocs, failureOf, type FailureStatus, toAppError } from '../../http/message/failures.ts';
import { jsonOf, sendJsonAtOnce } from '../../http/message/reply.ts';
import { assertJson, assertMethodOf, assertNoContent } from '../../http/middleware/preconditions.ts';
import { API_PATH } from '../../http/routes.ts';
import { refusalCost } from '../../limits/overload/retry-throttle.ts';
import type { AdmittedCall, BegunCall, Calls } from '../call.ts';
import type { RpcContext } from '../context.ts';
import { textPayload } from '../payload.ts';
import type { Procedure, Reply } from '../procedures.ts';
import { answerBatch } from './batch.ts';
import { queryText, sendToGet } from './get.ts';
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

/** Any routes of the contract, as ts-rest mounts them. */
type Routes = Record<string, Route>;
/** The replies of any route: its own, or a failure with a status of the catalogue. */
type Answer = { status: 200; body: Reply } | { status: FailureStatus; body: ErrorResponse };

/** The error of a call without parameters, with a hint on where they go, if it lacks some. */
const withParametersHint = (error: unknown, procedure: Procedure, { method, query }: Request): unknown => {
  if (!(error instanceof AppError) || error.reason !== 'VALIDATION_FAILED') return error;
  const { input: _, batch: __, ...others } = query;
  const hint = parametersHint(method, others, procedure);
  return hint === undefined ? error : new AppError(error.reason, { ...error.details, hint });
};

/** The last part of a path: the id of a procedure, or those of a batch. */
const idsIn = ({ path }: Request): string => path.slice(API_PATH.length);

/** Asserts the method and the content of a call of a procedure. */
const accept = (request: Request, response: Response, procedure: Procedure): void => {
  response.locals.state.procedure = procedure.id;
  assertMethodOf(request, response, procedure);
  if (request.method === 'POST') assertJson(request, response);
  else assertNoContent(request, response);
};

/** ts-rest's handler of the faults that it finds in an input. */
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

/** The tRPC transport: single calls by POST and, for reads, by GET; and batches. */
export const trpcTransport = (
  calls: Calls,
  bodies: BodyReader,
  rpc: RpcContext,
  tailOptions: TailOptions,
): RequestHandler => {
  const { log, protection, config } = rpc;
  const { retries } = protection.overload;
  const failureContext = { log, docs: errorDocs(config) };
  const batch = answerBatch(calls, bodies, rpc);

  /** Delays the 503 of a call for clients that ignored `Retry-After`. */
  const delayRefusal = async (error: unknown, { socket }: Request): Promise<void> => {
    if (toAppError(error).reason === 'OVERLOADED') await retries.turn(socket, refusalCost.late);
  };

  /** ts-rest's middleware: the steps of a call until its input, which ts-rest checks next. */
  const admit = (request: TsRestRequest<Routes>, response: Response, next: NextFunction): void => {
    const { state } = response.locals;
    const begun = calls.observe(request.tsRestRoute.metadata.id, state);
    response.locals.begun = begun;
    sendJsonAtOnce(response);
    const steps = async (): Promise<void> => {
      try {
        const procedure = calls.find(begun.id);
        accept(request, response, procedure);
        const call = await calls.admit(begun, procedure, async ({ observation }) => {
          const text = await bodies.readForCall(request, procedure.bodyLimit);
          observation.sent(Buffer.byteLength(text));
          return textPayload(text);
        });
        response.locals.call = call;
        request.body = call.payload.envelope as typeof request.body;
      } catch (error) {
        next(error);
        return;
      }
      next();
    };
    void begun.observation.within(steps);
  };

  /** The last steps of a call. A failure whose status the contract does not have for the route is left to the app. */
  const endpoint = async ({
    body: { json },
    req,
    res,
  }: Parameters<AppRouteMutationImplementation<Route>>[0]): Promise<Answer> => {
    const { state } = res.locals;
    const call = res.locals.call as AdmittedCall;
    try {
      return { status: 200, body: await calls.invoke(call, json) };
    } catch (error) {
      const { reason } = toAppError(error);
      if (!(errorOf(reason).status in call.procedure.route.responses)) throw error;
      calls.noteFailure(call, error);
      await delayRefusal(error, req);
      const { status, headers, body } = failureOf(error, state, failureContext);
      state.reason = reason;
      res.set(headers);
      return { status, body };
    }
  };

  const noteFailure: ErrorRequestHandler = (error, _request, response, next) => {
    const { begun } = response.locals;
    if (begun) calls.noteFailure(begun, error);
    next(error);
  };

  /** Mounts the routes of the contract. */
  const mount = (router: Router): void => {
    const routes: Routes = Object.fromEntries(calls.procedures.map(({ id, route }) => [id, route]));
    const endpoints = Object.fromEntries(calls.procedures.map(({ id }) => [id, endpoint]));
    createExpressEndpoints(routes, endpoints, router, {
      logInitialization: false,
      globalMiddleware: [admit],
      requestValidationErrorHandler: refuseInput,
    });
    router.use(noteFailure);
  };

  const expectCalls: RequestHandler = (request, response, next) => {
    const { state } = response.locals;
    state.expectCalls(request, response, config);
    calls.showRateLimits(state);
    next();
  };

  const batches: RequestHandler = (request, response, next) =>
    request.url.length > request.path.length && request.query['batch'] === '1'
      ? batch(idsIn(request), request, response)
      : next();

  /** Answers a read by GET, and a request that is no call. */
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

  const router = Router({ caseSensitive: true, strict: true });
  router.use(expectCalls);
  router.all(contract.event.tail.path, tailTransport(calls, bodies, rpc, tailOptions));
  router.use(batches);
  mount(router);
  router.use((request, response) => answerOther(request, response));
  return (request, response, next) => {
    if (request.path.startsWith(API_PATH)) router(request, response, next);
    else next();
  };
};
