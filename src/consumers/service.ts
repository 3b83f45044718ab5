import type { Contract, InputOf, OutputOf } from '../../contract/index.ts';
import { withoutSecret, type Writes } from '../auth/idempotency/writes.ts';
import { createOwnKey, listOwnKeys, type OwnKey, renameOwnKey, revokeOwnKey, rotateOwnKey } from '../auth/own-keys.ts';
import type { Call } from '../auth/procedure.ts';
import { readKey } from '../auth/service.ts';
import type { Caller } from '../auth/verifier.ts';
import type { Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { readFailedCalls } from './use/failed-calls.ts';
import type { UseRecorder } from './use/recorder.ts';
import { keyConsumer, type OperationUse, type PartUse, readConsumerUses } from './use/store.ts';

type Router = Contract['apiKey'];
type UserCall = Call<Caller>;

/** The dependencies of the router `apiKey`. */
export interface ApiKeyContext {
  db: Database;
  /** The clock. */
  now: () => Date;
  writes: Writes;
  /** Undefined where nothing is recorded. */
  uses: UseRecorder | undefined;
}

/** The keys of the caller, the latest first. */
export const list = (
  { db, now }: ApiKeyContext,
  input: InputOf<Router['list']>,
  { caller, deadline }: UserCall,
): Promise<OutputOf<Router['list']>> => listOwnKeys(db.within(deadline), caller, input, now());

/** The id of the key that is asked for. @throws AppError API_KEY_NOT_FOUND */
const chosenKey = async ({ db }: ApiKeyContext, id: string | undefined, call: UserCall): Promise<string> =>
  id === undefined
    ? call.caller.key.id
    : (await readKey(db.within(call.deadline), id, { owner: call.caller.userId })).id;

const partView = ({ name, lastDay, deprecated }: PartUse) => ({ name, lastDay, isDeprecated: deprecated === true });

const operationView = ({ operation, lastDay, deprecated, parts }: OperationUse) => ({
  operation,
  lastDay,
  isDeprecated: deprecated === true,
  parts: parts.map(partView),
});

/** The uses of a key of the caller. @throws AppError API_KEY_NOT_FOUND */
export const usage = async (
  c: ApiKeyContext,
  { id, days }: InputOf<Router['usage']>,
  call: UserCall,
): Promise<OutputOf<Router['usage']>> => {
  const consumers = [keyConsumer(await chosenKey(c, id, call))];
  if (!c.uses) return { isRecorded: false, clients: [], operations: [] };
  const [used] = await readConsumerUses(c.db.within(call.deadline), { now: c.now(), days, consumers });
  const { clients = [], operations = [] } = used ?? {};
  return { isRecorded: true, clients: clients.map(partView), operations: operations.map(operationView) };
};

/**
 * The failed calls with a key of the caller, or those of one request, the latest first.
 * @throws AppError API_KEY_NOT_FOUND
 */
export const calls = async (
  c: ApiKeyContext,
  { id, requestId }: InputOf<Router['calls']>,
  call: UserCall,
): Promise<OutputOf<Router['calls']>> => {
  const keyId = await chosenKey(c, id, call);
  if (!c.uses) return { isRecorded: false, items: [] };
  // The caller may ask right after the call failed.
  await call.deadline.race(c.uses.failures.flush());
  const failed = await readFailedCalls(c.db.within(call.deadline), keyId, c.now());
  return {
    isRecorded: true,
    items: requestId === undefined ? failed : failed.filter((one) => one.requestId === requestId),
  };
};

/** Does a write for the caller. See `Writes.do` for `keep`. */
const write = <T extends object>(
  { writes, now }: ApiKeyContext,
  call: UserCall,
  work: (tx: Transaction, caller: Caller, now: Date) => Promise<T>,
  keep?: (output: T) => T,
): Promise<T> => writes.do(call, (tx) => work(tx, call.caller, now()), { keep });

type NewKey = OutputOf<Router['create']>;

/** Makes a key of the caller. @throws AppError API_KEY_WIDER, API_KEY_LIMIT, KEY_REVOKED, KEY_EXPIRED */
export const create = (c: ApiKeyContext, input: InputOf<Router['create']>, call: UserCall): Promise<NewKey> =>
  write(c, call, (tx, caller, now) => createOwnKey(tx, input, caller, now), withoutSecret);

/** Gives a key of the caller another name. @throws AppError API_KEY_NOT_FOUND */
export const rename = (c: ApiKeyContext, input: InputOf<Router['rename']>, call: UserCall): Promise<OwnKey> =>
  write(c, call, (tx, caller, now) => renameOwnKey(tx, input, caller, now));

/**
 * Replaces a key of the caller.
 * @throws AppError API_KEY_NOT_FOUND, API_KEY_WIDER, API_KEY_ENDED, API_KEY_LIMIT, KEY_REVOKED, KEY_EXPIRED
 */
export const rotate = (
  c: ApiKeyContext,
  input: InputOf<Router['rotate']>,
  call: UserCall,
): Promise<OutputOf<Router['rotate']>> =>
  write(c, call, (tx, caller, now) => rotateOwnKey(tx, input, caller, now), withoutSecret);

/** Ends a key of the caller. @throws AppError API_KEY_NOT_FOUND */
export const revoke = (
  c: ApiKeyContext,
  input: InputOf<Router['revoke']>,
  call: UserCall,
): Promise<OutputOf<Router['revoke']>> => write(c, call, (tx, caller, now) => revokeOwnKey(tx, input, caller, now));
