import { validateIfSchema, validateResponse } from '@ts-rest/core';
import type { z } from 'zod';
import {
  type Contract,
  type Operation,
  type Procedure as ContractProcedure,
  procedures,
  type ProcedureMetadata,
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
import { webhookHandlers } from '../event/webhook/handlers.ts';
import { randomUUID } from '../base/runtime.ts';
import { jsonHint } from '../base/suggestions/json.ts';
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

type JsonMembers = Record<string, unknown>;

const isMembers = (value: unknown): value is JsonMembers => typeof value === 'object' && value !== null;

/** The parts of a path. superjson first escaped only dots; since its `meta` has a `v`, it also escapes backslashes. */
const pathParts = (v: unknown): RegExp => (Number(v) >= 1 ? /\\([.\\])|\.|[^.\\]+|\\/g : /\\(\.)|\.|[^.\\]+|\\/g);

/** `a.b\\.c` → `['a', 'b.c']` */
const pathOf = (name: string, parts: RegExp): string[] => {
  const path = [''];
  for (const [part, escaped] of name.matchAll(parts)) {
    if (part === '.') path.push('');
    else path.push(path.pop() + (escaped ?? part));
  }
  return path;
};

const follow = (from: unknown, path: readonly string[]): unknown => {
  let value = from;
  for (const member of path) {
    if (!isMembers(value) || !Object.hasOwn(value, member)) return undefined;
    value = value[member];
  }
  return value;
};

/**
 * Reverts superjson's encoding of undefined members: it writes null and names them in `meta.values`. Other annotations
 * are ignored: the API has none, and an input can make superjson's own decoder use unbounded memory. Each annotation is
 * visited once. `meta.values` is `{path: node}` or, for the whole of `json`, a node: `[type]` or `[type, {path:
 * node}]`.
 */
export const removeUndefined = (envelope: unknown): unknown => {
  if (!isMembers(envelope) || !isMembers(envelope['meta'])) return envelope;
  const { values, v } = envelope['meta'];
  const parts = pathParts(v);
  const pending: { parent: JsonMembers; path: string[]; node: unknown }[] = [];
  const addChildren = (parent: unknown, children: unknown): void => {
    if (!isMembers(parent) || !isMembers(children)) return;
    for (const [name, node] of Object.entries(children)) pending.push({ parent, path: pathOf(name, parts), node });
  };

  if (Array.isArray(values)) pending.push({ parent: envelope, path: ['json'], node: values });
  else addChildren(envelope['json'], values);

  for (let next = pending.pop(); next; next = pending.pop()) {
    const { parent, path, node } = next;
    if (!Array.isArray(node)) continue;
    const holder = follow(parent, path.slice(0, -1));
    const name = path.at(-1) ?? '';
    if (!isMembers(holder) || !Object.hasOwn(holder, name)) continue;
    if (node[0] === 'undefined' && holder[name] === null && !Array.isArray(holder)) delete holder[name];
    else addChildren(holder[name], node[1]);
  }
  return envelope;
};

/** The payload of a call. */
export interface Payload {
  /** Equal inputs have equal texts. */
  readonly text: string;
  /** The envelope; `{}` for an empty payload. */
  readonly envelope: unknown;
}

/** Parses JSON. @throws AppError MALFORMED_JSON */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const hint = jsonHint(text);
    throw new AppError('MALFORMED_JSON', { cause, ...(hint !== undefined && { hint }) });
  }
};

/** Returns the payload of a call with its own text; an empty text means no input. @throws AppError MALFORMED_JSON */
export const textPayload = (text: string): Payload => ({
  text,
  envelope: text === '' ? {} : removeUndefined(parseJson(text)),
});

/** Returns equal texts for equal values. A value too deep for `JSON.stringify` gets a unique text. */
const textOf = (value: unknown): string => {
  try {
    return JSON.stringify(value);
  } catch {
    return randomUUID();
  }
};

/** The payload of a call within a batch. */
export const valuePayload = (value: unknown): Payload => {
  const envelope = removeUndefined(value);
  return {
    get text() {
      return textOf(envelope);
    },
    envelope,
  };
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The input in an envelope. */
export const inputOf = (envelope: unknown): unknown =>
  isObject(envelope) && Object.hasOwn(envelope, 'json') ? (envelope as { json?: unknown }).json : undefined;

/** Whether an envelope holds more values than a limit. Counts members and elements at any depth, without `meta`. */
const hasMoreValues = (envelope: unknown, limit: number): boolean => {
  let count = isObject(envelope) ? Object.keys(envelope).length : 0;
  const pending = [inputOf(envelope)];
  while (pending.length > 0 && count <= limit) {
    const next = pending.pop();
    if (!isObject(next)) continue;
    const members: unknown[] = Array.isArray(next) ? next : Object.values(next);
    count += members.length;
    if (count <= limit) pending.push(...members.filter(isObject));
  }
  return count > limit;
};

/** Refuses inputs with far too many values: finding all faults would take long. @throws AppError VALIDATION_FAILED */
export const assertSize = ({ maxValues: limit }: Pick<ProcedureMetadata, 'maxValues'>, envelope: unknown): void => {
  if (!hasMoreValues(envelope, limit)) return;
  const issue = { path: '', code: 'too_big', message: `must not hold more than ${limit} values in all` };
  throw new AppError('VALIDATION_FAILED', { issues: [issue], hint: 'The input is too large to look for its faults.' });
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
