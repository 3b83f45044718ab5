import { validateIfSchema, validateResponse } from '@ts-rest/core';
import type { z } from 'zod';
import {
  type Contract,
  type Operation,
  type Procedure as ContractProcedure,
  procedures,
  type Access,
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
import { inputOf } from './payload.ts';
import { webhookHandlers } from '../event/webhook/handlers.ts';
import { AppError } from '../base/errors.ts';
import { credentialMistake } from '../auth/credential-hints.ts';
import type { RequestState } from '../http/message/request-state.ts';
import type { Logger } from 'pino';
import type { UseRecorder } from '../consumers/use/recorder.ts';
import type { KeyVerifier } from '../auth/verifier.ts';
import type { Config } from '../config/config.ts';
import type { Maintenance } from './maintenance/maintenance.ts';
import type { OverloadProtection } from '../limits/overload/overload-protection.ts';
import type { Limits } from '../limits/rate-limit/limits.ts';
import type { Observer } from '../base/observer.ts';

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

/** A procedure and how to serve it. */
export interface Procedure extends ContractProcedure {
  handle: (input: unknown, call: Call) => Promise<unknown>;
}

/** The served procedures by their ids. */
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

/** The reply of a procedure. `jsonOf` returns its JSON. */
export interface Reply {
  result: { data: { json: unknown } };
}

/** Returns the input in an envelope after ts-rest's check of bodies. @throws AppError VALIDATION_FAILED */
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
 * Builds the reply with the output's members in the contract, by ts-rest's check of replies. It runs here instead of in
 * ts-rest's endpoint: before a write commits, and once for all callers who share the reply.
 * @throws TsRestResponseValidationError for an output that the contract does not allow
 */
export const replyOf = ({ route }: Pick<Procedure, 'route'>, output: unknown): Reply => {
  const response = { status: 200, body: { result: { data: { json: output } } } };
  const reply = validateResponse({ appRoute: route, response }).body as Reply;
  keepJson(reply, Buffer.from(JSON.stringify(reply)));
  return reply;
};

/** Returns a stored answer as a reply, byte for byte. */
export const replyAgain = (json: string): Reply => {
  const reply = JSON.parse(json) as Reply;
  keepJson(reply, Buffer.from(json));
  return reply;
};

const BEARER = /^Bearer +([^ ]+)$/i;

/**
 * Returns the key in an `Authorization` header. Public procedures refuse an invalid credential, too, so that no caller
 * is taken for anonymous by mistake.
 * @throws AppError KEY_MALFORMED
 */
export const keyIn = (authorization: string): string => {
  const key = BEARER.exec(authorization)?.[1];
  if (key === undefined) throw new AppError('KEY_MALFORMED', { hint: credentialMistake(authorization) });
  return key;
};

/** The error of a call without a credential. `elsewhere` names a place that holds a key and is not read. */
const keyMissing = (elsewhere: string | undefined): AppError =>
  new AppError('KEY_MISSING', {
    ...(elsewhere !== undefined && {
      hint: `A key is not read from ${elsewhere}. Send it in the header \`Authorization: Bearer <API_KEY>\`.`,
    }),
  });

/** Refuses a caller who may not call a procedure of this access. @throws AppError KEY_MISSING, SCOPE_MISSING */
export const assertAccess = (access: Access, request: RequestState): void => {
  if (access === 'public') return;
  const { caller } = request;
  if (!caller) throw keyMissing(request.keyElsewhere());
  const { scopes } = caller.key;
  if (!scopes.includes(access)) {
    throw new AppError('SCOPE_MISSING', {
      hint: `This operation needs the scope ${access}; the key has ${scopes.join(', ')}.`,
    });
  }
};

/** The dependencies of calls by any transport. */
export interface RpcContext {
  config: Config;
  log: Logger;
  /** Verifies API keys, and records the use of the API if recording is on. */
  auth: { keys: KeyVerifier; uses: UseRecorder | undefined };
  /** Limits callers. Without `limits` they have no rates and quotas; during maintenance they cannot write. */
  protection: { limits: Limits | undefined; overload: OverloadProtection; maintenance: Maintenance };
  /** Observes the service; undefined without telemetry. */
  observer: Observer | undefined;
}
