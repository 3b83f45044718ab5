import { createExpressEndpoints } from '@ts-rest/express';
import express, { type RequestHandler, type Response, type Router } from 'express';
import type { Context } from '../context.ts';
import { AppError } from '../errors.ts';
import type { KeyVerifier } from '../key/verifier.ts';
import { authorise } from './auth.ts';
import { readBody } from './body.ts';
import { allowMethods, methodsOf, requireJson } from './guard.ts';
import { type Envelope, type Procedure, reply, servedProcedures } from './procedures.ts';
import { answerBatch, answerRead } from './trpc.ts';

const API = '/api/trpc/';

/** The checks of a procedure, in the order of their precedence, then ts-rest: parse, handle, check the reply. */
const procedureRouter = (keys: KeyVerifier, procedure: Procedure): Router => {
  const { id, access, bodyLimit, route } = procedure;
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(
    (_request, response, next) => {
      response.locals.procedure = id;
      next();
    },
    allowMethods(...methodsOf(procedure)),
  );
  if (procedure.effect === 'read') router.get(route.path, authorise(keys, access), answerRead(procedure));
  router.use(requireJson, authorise(keys, access), readBody(bodyLimit));
  const implementation = async ({ body, res }: { body: Envelope; res: Response }) => ({
    status: 200 as const,
    body: await reply(procedure, body, res.locals.caller),
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
  const procedures = servedProcedures(c);
  const routers = new Map(
    [...procedures.values()].map((procedure) => [procedure.route.path, procedureRouter(c.keys, procedure)]),
  );
  const batch = answerBatch(procedures, c);
  return async (request, response, next) => {
    const { path } = request;
    if (!path.startsWith(API)) {
      next();
      return;
    }
    if (request.query['batch'] === '1') {
      await batch(path.slice(API.length), request, response);
      return;
    }
    const router = routers.get(path);
    if (!router) throw new AppError('PROCEDURE_NOT_FOUND');
    router(request, response, next);
  };
};
