import type { Contract, OutputOf } from '../../contract/index.ts';
import type { Writes } from '../auth/idempotency/writes.ts';
import {
  createOwnKey,
  listOwnKeys,
  type OwnKey,
  readOwnKey,
  renameOwnKey,
  revokeOwnKey,
  rotateOwnKey,
} from '../auth/own-keys.ts';
import type { Call, Handlers } from '../auth/procedure.ts';
import type { Caller } from '../auth/verifier.ts';
import type { Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { readFailedCalls } from './use/failed-calls.ts';
import type { UseRecorder } from './use/recorder.ts';
import { keyConsumer, type OperationUse, type PartUse, readConsumerUses } from './use/store.ts';

type Router = Contract['apiKey'];

/** The dependencies of the router `apiKey`. */
export interface ApiKeyContext {
  db: Database;
  /** The clock. */
  now: () => Date;
  writes: Writes;
  /** Undefined where nothing is recorded. */
  uses: UseRecorder | undefined;
}

type OwnWork<T> = (tx: Transaction, caller: Caller, now: Date) => Promise<T>;

/** Does a write for the caller. See `Writes.do` for `look` and `keep`. */
const write = <T extends object>(
  { writes, now }: ApiKeyContext,
  call: Call<Caller>,
  work: OwnWork<T>,
  { look, keep }: { look?: OwnWork<T>; keep?: (output: T) => T } = {},
): Promise<T> => {
  const within = (does: OwnWork<T>) => (tx: Transaction) => does(tx, call.caller, now());
  return writes.do(call, within(work), { look: look && within(look), keep });
};

/** An answer as it is kept for repetitions: a key is shown once. */
const withoutSecret = <T extends { secret: string | null }>(output: T): T => ({ ...output, secret: null });

const partView = ({ name, lastDay, deprecated }: PartUse) => ({ name, lastDay, isDeprecated: deprecated === true });

const operationView = ({ operation, lastDay, deprecated, parts }: OperationUse) => ({
  operation,
  lastDay,
  isDeprecated: deprecated === true,
  parts: parts.map(partView),
});

/** The id of the key that is asked for. @throws AppError API_KEY_NOT_FOUND */
const chosenKey = async ({ db }: ApiKeyContext, id: string | undefined, call: Call<Caller>): Promise<string> =>
  id === undefined ? call.caller.key.id : (await readOwnKey(db.within(call.deadline), id, call.caller)).id;

export const apiKeyHandlers = (c: ApiKeyContext): Handlers<Router> => ({
  list: (input, { caller, deadline }) => listOwnKeys(c.db.within(deadline), caller, input, c.now()),
  usage: async ({ id, days }, call) => {
    const consumers = [keyConsumer(await chosenKey(c, id, call))];
    const reader = c.db.within(call.deadline);
    const [used] = c.uses ? await readConsumerUses(reader, { now: c.now(), days, consumers }) : [];
    const { clients = [], operations = [] } = used ?? {};
    return {
      isRecorded: c.uses !== undefined,
      clients: clients.map(partView),
      operations: operations.map(operationView),
    };
  },
  calls: async ({ id, requestId }, call) => {
    const keyId = await chosenKey(c, id, call);
    if (!c.uses) return { isRecorded: false, items: [] };
    // The caller may ask right after the call failed.
    await call.deadline.race(c.uses.failures.flush());
    const calls = await readFailedCalls(c.db.within(call.deadline), keyId, c.now());
    return { isRecorded: true, items: calls.filter((one) => requestId === undefined || one.requestId === requestId) };
  },
  create: (input, call) =>
    write(c, call, (tx, caller, now): Promise<OutputOf<Router['create']>> => createOwnKey(tx, input, caller, now), {
      keep: withoutSecret,
    }),
  rename: (input, call) => write(c, call, (tx, caller, now): Promise<OwnKey> => renameOwnKey(tx, input, caller, now)),
  rotate: (input, call) =>
    write(c, call, (tx, caller, now): Promise<OutputOf<Router['rotate']>> => rotateOwnKey(tx, input, caller, now), {
      keep: withoutSecret,
    }),
  revoke: ({ id }, call) => write(c, call, (tx, caller, now) => revokeOwnKey(tx, id, caller, now)),
});
