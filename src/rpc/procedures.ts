import { type Contract, type Procedure as ContractProcedure, procedures } from '../../contract/index.ts';
import { AppError } from '../base/errors.ts';
import { invalidInput, unusableId } from '../base/suggestions/input.ts';
import { apiKeyHandlers } from '../consumers/handlers.ts';
import { consumerContractHandlers } from '../consumers/contracts/handlers.ts';
import { eventHandlers } from '../event/handlers.ts';
import { gameHandlers } from '../game/handlers.ts';
import { imageHandlers } from '../image/handlers.ts';
import type { Call, Handlers } from '../auth/procedure.ts';
import { userHandlers } from '../user/handlers.ts';
import { webhookHandlers } from '../event/webhook/handlers.ts';
import { inputOf } from './payload.ts';

type AllHandlers = { [Name in keyof Contract]: Handlers<Contract[Name]> };

/** The dependencies of each router's handlers. */
export interface Routers {
  game: Parameters<typeof gameHandlers>[0];
  image: Parameters<typeof imageHandlers>[0];
  user: Parameters<typeof userHandlers>[0];
  event: Parameters<typeof eventHandlers>[0];
  webhook: Parameters<typeof webhookHandlers>[0];
  apiKey: Parameters<typeof apiKeyHandlers>[0];
  consumerContract: Parameters<typeof consumerContractHandlers>[0];
}

/** A procedure as it is served. */
export interface Procedure extends ContractProcedure {
  handle: (input: unknown, call: Call) => Promise<unknown>;
}

/** The procedures that are served, by their ids. */
export type Procedures = ReadonlyMap<string, Procedure>;

/** The procedures of the contract with their handlers. */
export const servedProcedures = (c: Routers): Procedures => {
  const handlers: AllHandlers = {
    game: gameHandlers(c.game),
    image: imageHandlers(c.image),
    user: userHandlers(c.user),
    event: eventHandlers(c.event),
    webhook: webhookHandlers(c.webhook),
    apiKey: apiKeyHandlers(c.apiKey),
    consumerContract: consumerContractHandlers(c.consumerContract),
  };
  return new Map(
    procedures.map((procedure) => {
      const { id, router, name } = procedure;
      // The contract's names lead to handlers of many types; `AllHandlers` has checked that each fits its procedure.
      return [id, { ...procedure, handle: handlers[router as keyof AllHandlers][name as never] }];
    }),
  );
};

/** The error of a handler, with what the input says about its cause. */
const explained = (error: unknown, envelope: unknown): unknown => {
  if (!(error instanceof AppError) || error.details.hint !== undefined) return error;
  const hint = unusableId(error.reason, inputOf(envelope));
  return hint === undefined ? error : new AppError(error.reason, { ...error.details, hint, cause: error });
};

/** The JSON of a reply, as far as the contract has its members. @throws ZodError for an output that it does not allow */
export const replyJson = ({ route }: Pick<Procedure, 'route'>, output: unknown): string =>
  JSON.stringify(route.responses[200].parse({ result: { data: { json: output } } }));

/**
 * Makes a call, by whichever transport: parses its envelope by the contract, handles it, and checks and strips the reply.
 * Returns the JSON of the reply.
 * @throws AppError VALIDATION_FAILED, the errors of the handler, and those of `replyJson`
 */
export const checkedCall = async (procedure: Procedure, envelope: unknown, call: Call): Promise<string> => {
  const { success, data, error } = procedure.route.body.safeParse(envelope);
  if (!success) throw invalidInput(procedure, envelope, error.issues);
  try {
    return replyJson(procedure, await procedure.handle(data.json, call));
  } catch (failure) {
    throw explained(failure, envelope);
  }
};
