import { type Contract, type Procedure as ContractProcedure, procedures } from '../../contract/index.ts';
import type { Context } from '../context.ts';
import { gameHandlers } from '../game/handlers.ts';
import { imageHandlers } from '../image/handlers.ts';
import type { Caller } from '../key/verifier.ts';
import type { Handlers } from '../procedure.ts';
import { userHandlers } from '../user/handlers.ts';
import { validationError } from './errors.ts';

type AllHandlers = { [Name in keyof Contract]: Handlers<Contract[Name]> };

/** A procedure as it is served. */
export interface Procedure extends ContractProcedure {
  handle: (input: unknown, caller: Caller | undefined) => Promise<unknown>;
}

/** What a request carries: the parameters in `json`. */
export interface Envelope {
  json?: unknown;
}

/** The procedures of the contract with their handlers, by their ids. */
export const servedProcedures = (c: Context): ReadonlyMap<string, Procedure> => {
  const handlers: AllHandlers = { game: gameHandlers(c), image: imageHandlers(c), user: userHandlers(c) };
  return new Map(
    procedures.map((procedure) => {
      const { id, router, name } = procedure;
      return [id, { ...procedure, handle: handlers[router as keyof AllHandlers][name as never] }];
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
  const { body, responses } = procedure.route;
  const request = body.safeParse(sent);
  if (!request.success) throw validationError(request.error.issues);
  return responses[200].parse(await reply(procedure, request.data, caller));
};
