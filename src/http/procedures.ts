import { isAppRoute, type AppRoute, type AppRouter } from '@ts-rest/core';
import type { z } from 'zod';
import { type Contract, contract, type ProcedureMetadata } from '../../contract/index.ts';
import type { Context } from '../context.ts';
import { gameHandlers } from '../game/handlers.ts';
import { imageHandlers } from '../image/handlers.ts';
import type { Caller } from '../key/verifier.ts';
import type { Handlers } from '../procedure.ts';
import { userHandlers } from '../user/handlers.ts';
import { validationError } from './errors.ts';

type AllHandlers = { [Name in keyof Contract]: Handlers<Contract[Name]> };

/** A procedure as it is served. */
export interface Procedure extends ProcedureMetadata {
  route: AppRoute;
  handle: (input: unknown, caller: Caller | undefined) => Promise<unknown>;
}

/** What a request carries: the parameters in `json`. */
export interface Envelope {
  json?: unknown;
}

/** Every procedure of a contract, wherever it is nested. */
export const proceduresOf = (routes: AppRouter): AppRoute[] =>
  Object.values(routes).flatMap((entry) => (isAppRoute(entry) ? [entry] : proceduresOf(entry)));

/** The procedures of the contract with their handlers, by their ids. */
export const servedProcedures = (c: Context): ReadonlyMap<string, Procedure> => {
  const handlers: AllHandlers = { game: gameHandlers(c), image: imageHandlers(c), user: userHandlers(c) };
  return new Map(
    proceduresOf(contract).map((route) => {
      const metadata = route.metadata as ProcedureMetadata;
      const [router, name] = metadata.id.split('.') as [keyof AllHandlers, never];
      return [metadata.id, { ...metadata, route, handle: handlers[router][name] }];
    }),
  );
};

/** What a procedure answers to an envelope that fits its contract. */
export const reply = async ({ handle }: Procedure, { json }: Envelope, caller: Caller | undefined) => ({
  result: { data: { json: await handle(json, caller) } },
});

/**
 * Calls a procedure with whatever was sent, as ts-rest does for single requests: parses by the contract, handles, and
 * checks and strips the reply.
 * @throws AppError VALIDATION_FAILED, and whatever the handler throws
 */
export const call = async (
  procedure: Procedure,
  sent: unknown,
  caller: Caller | undefined,
): Promise<Awaited<ReturnType<typeof reply>>> => {
  const { body, responses } = procedure.route as unknown as {
    body: z.ZodType<Envelope>;
    responses: { 200: z.ZodType };
  };
  const request = body.safeParse(sent);
  if (!request.success) throw validationError(request.error.issues);
  return responses[200].parse(await reply(procedure, request.data, caller)) as Awaited<ReturnType<typeof reply>>;
};
