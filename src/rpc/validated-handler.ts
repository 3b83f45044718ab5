import { createExpressEndpoints, RequestValidationError } from '@ts-rest/express';
import type { Request, RequestHandler, Response, Router } from 'express';
import type { z } from 'zod';
import { AppError } from '../base/errors.ts';
import { invalidInput, unusableId } from '../base/suggestions/input.ts';
import type { ValidatedHandler } from './pipeline.ts';
import type { Procedure, Procedures } from './procedures.ts';
import type { Call } from '../call/procedure.ts';

interface Envelope {
  json?: unknown;
}

const implementation =
  ({ handle }: Procedure) =>
  async ({ body: { json }, res }: { body: Envelope; res: Response }) => ({
    status: 200 as const,
    body: { result: { data: { json: await handle(json, (res as unknown as CurrentCall).locals.call) } } },
  });

/** An error of the catalogue, with what the input says about its cause. */
const asOurs = (error: unknown, procedure: Procedure, payload: unknown): unknown => {
  if (error instanceof AppError && error.details.hint === undefined) {
    const hint = unusableId(error.reason, (payload as Envelope | undefined)?.json);
    return hint === undefined ? error : new AppError(error.reason, { ...error.details, hint, cause: error });
  }
  if (!(error instanceof RequestValidationError)) return error;
  return invalidInput(procedure, payload, (error.body?.issues ?? []) as unknown as z.core.$ZodIssue[]);
};

/**
 * ts-rest's handlers for Express, which parse by the contract, call the procedure, and check and strip its reply. They
 * are collected by path instead of mounted: a map is faster than Express' routes, and calls of a batch, which have no
 * Express request of their own, use the same handlers.
 */
export const validatedHandler = (procedures: Procedures): ValidatedHandler => {
  const handlers = new Map<string, RequestHandler>();
  const collector = {
    post: (path: string, ...added: RequestHandler[]) => handlers.set(path, added.at(-1) as RequestHandler),
    use: () => undefined,
  };
  const all = [...procedures.values()];
  createExpressEndpoints(
    Object.fromEntries(all.map(({ id, route }) => [id, route])),
    Object.fromEntries(all.map((procedure) => [procedure.id, implementation(procedure)])) as never,
    collector as unknown as Router,
    { responseValidation: true },
  );

  const run: ValidatedHandler = (procedure, payload, call) =>
    new Promise((resolve, reject) => {
      const response = new CurrentCall(call, resolve);
      const handle = handlers.get(procedure.route.path) as RequestHandler;
      void handle({ body: payload } as Request, response as unknown as Response, reject);
    });

  return (procedure, payload, call) =>
    // Not in ts-rest's callback, which does not await: an error would end the process.
    run(procedure, payload, call).catch((error: unknown) => {
      throw asOurs(error, procedure, payload);
    });
};

/** Receives the reply of ts-rest. */
class CurrentCall {
  readonly locals: { call: Call };
  readonly json: (body: unknown) => void;

  constructor(call: Call, json: (body: unknown) => void) {
    this.locals = { call };
    this.json = json;
  }

  status(): this {
    return this;
  }
}
