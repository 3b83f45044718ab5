import { validateIfSchema, validateResponse } from '@ts-rest/core';
import type { z } from 'zod';
import {
  type Contract,
  type Operation,
  type Procedure as ContractProcedure,
  procedures,
} from '../../contract/index.ts';
import { invalidInput } from '../base/suggestions/input.ts';
import { apiKeyHandlers } from '../consumers/handlers.ts';
import { consumerContractHandlers } from '../consumers/contracts/handlers.ts';
import { eventHandlers } from '../event/handlers.ts';
import { gameHandlers } from '../game/handlers.ts';
import { imageHandlers } from '../image/handlers.ts';
import type { Call, Handlers } from '../auth/procedure.ts';
import { keepJson } from '../http/message/reply.ts';
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

/** The reply of a procedure. `jsonOf` has its JSON. */
export interface Reply {
  result: { data: { json: unknown } };
}

/** The input in an envelope, by ts-rest's check of bodies. @throws AppError VALIDATION_FAILED */
export const parseInput = (
  operation: Pick<Operation, 'id' | 'route' | 'example' | 'inputOptional'>,
  envelope: unknown,
  schema: z.ZodType = operation.route.body,
): unknown => {
  const { value, error } = validateIfSchema(envelope, schema);
  if (error) throw invalidInput(operation, envelope, error.issues as z.core.$ZodIssue[]);
  return inputOf(value);
};

/**
 * The reply with an output, as far as the contract has its members, by ts-rest's check of replies. It is checked here, not by
 * ts-rest's endpoint: before a write commits, and once for all callers who share it.
 * @throws TsRestResponseValidationError for an output that the contract does not allow
 */
export const replyOf = ({ route }: Pick<Procedure, 'route'>, output: unknown): Reply => {
  const response = { status: 200, body: { result: { data: { json: output } } } };
  const reply = validateResponse({ appRoute: route, response }).body as Reply;
  keepJson(reply, Buffer.from(JSON.stringify(reply)));
  return reply;
};

/** A stored answer as a reply, to the byte. */
export const replyAgain = (json: string): Reply => {
  const reply = JSON.parse(json) as Reply;
  keepJson(reply, Buffer.from(json));
  return reply;
};
