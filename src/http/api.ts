import { isAppRoute, type AppRoute, type AppRouter } from '@ts-rest/core';
import { createExpressEndpoints } from '@ts-rest/express';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { type Contract, contract, type ProcedureMetadata } from '../../contract/index.ts';
import type { Context } from '../context.ts';
import { AppError } from '../errors.ts';
import { gameHandlers } from '../game/handlers.ts';
import { imageHandlers } from '../image/handlers.ts';
import type { Caller } from '../key/verifier.ts';
import type { Handlers } from '../procedure.ts';
import { userHandlers } from '../user/handlers.ts';
import { authorise } from './auth.ts';
import { readBody } from './body.ts';
import { allowMethods, requireJson } from './guard.ts';

const API = '/api/trpc/';

type AllHandlers = { [Name in keyof Contract]: Handlers<Contract[Name]> };
type AnyHandler = (input: unknown, caller: Caller | undefined) => Promise<unknown>;

/** Every procedure of a contract, wherever it is nested. */
export const proceduresOf = (routes: AppRouter): AppRoute[] =>
  Object.values(routes).flatMap((entry) => (isAppRoute(entry) ? [entry] : proceduresOf(entry)));

/** The checks of a procedure, in the order of their precedence, then ts-rest: parse, handle, check the reply. */
const procedureRouter = (c: Context, route: AppRoute, handle: AnyHandler): Router => {
  const { id, access, bodyLimit } = route.metadata as ProcedureMetadata;
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(
    (_request, response, next) => {
      response.locals.procedure = id;
      next();
    },
    allowMethods('POST'),
    requireJson,
    authorise(c.keys, access),
    ...readBody(bodyLimit),
  );
  const implementation = async ({ body, res }: { body: { json?: unknown }; req: Request; res: Response }) => ({
    status: 200 as const,
    body: { result: { data: { json: await handle(body.json, res.locals.caller) } } },
  });
  createExpressEndpoints({ [id]: route }, { [id]: implementation }, router, {
    responseValidation: true,
    // Only `http/errors.ts` words failures.
    requestValidationErrorHandler: (error, _request, _response, next) => next(error),
  });
  return router;
};

/**
 * The procedures of the contract. A map finds the procedure of a path: the checks that come before the body need it
 * early, and twenty Express routes would be tried one after the other.
 */
export const api = (c: Context): RequestHandler => {
  const handlers: AllHandlers = { game: gameHandlers(c), image: imageHandlers(c), user: userHandlers(c) };
  const routers = new Map(
    proceduresOf(contract).map((route) => {
      const [routerName, name] = (route.metadata as ProcedureMetadata).id.split('.') as [keyof AllHandlers, never];
      return [route.path, procedureRouter(c, route, handlers[routerName][name])];
    }),
  );
  return (request, response, next) => {
    const { path } = request;
    if (!path.startsWith(API)) {
      next();
      return;
    }
    const router = routers.get(path);
    if (!router) throw new AppError('PROCEDURE_NOT_FOUND');
    router(request, response, next);
  };
};
