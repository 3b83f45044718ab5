import type { Contract, OutputOf } from '../../contract/index.ts';
import { withoutSecret, type Writes } from '../auth/idempotency/writes.ts';
import { createOwnKey, listOwnKeys, renameOwnKey, revokeOwnKey, rotateOwnKey } from '../auth/own-keys.ts';
import { readKey } from '../auth/service.ts';
import type { Call, Handlers } from '../auth/procedure.ts';
import type { Caller } from '../auth/verifier.ts';
import type { Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { readFailedCalls } from './use/failed-calls.ts';
import type { UseRecorder } from './use/recorder.ts';
import { keyConsumer, type OperationUse, type PartUse, readConsumerUses } from './use/store.ts';

/** The dependencies of the router `apiKey`. */
interface ApiKeyContext {
  db: Database;
  now: () => Date;
  writes: Writes;
  /** Undefined if recording is off. */
  uses: UseRecorder | undefined;
}

/** A key with its secret, which callers see once. */
type NewKey = OutputOf<Contract['apiKey']['create']>;

const partView = ({ name, lastDay, deprecated }: PartUse) => ({ name, lastDay, isDeprecated: deprecated === true });

const operationView = ({ operation, lastDay, deprecated, parts }: OperationUse) => ({
  operation,
  lastDay,
  isDeprecated: deprecated === true,
  parts: parts.map(partView),
});

/** The procedures of the router `apiKey`. Each accesses only the keys of its caller. */
export const apiKeyHandlers = ({ db, now, writes, uses }: ApiKeyContext): Handlers<Contract['apiKey']> => {
  /** Returns the id of the requested key, by default the call's own key. @throws AppError API_KEY_NOT_FOUND */
  const chosenKey = async (id: string | undefined, { caller, deadline }: Call<Caller>): Promise<string> =>
    id === undefined ? caller.key.id : (await readKey(db.within(deadline), id, { owner: caller.userId })).id;

  /** Makes a write for the caller. See `Writes.do` for `keep`. */
  const write = <T extends object>(
    call: Call<Caller>,
    work: (tx: Transaction, caller: Caller, at: Date) => Promise<T>,
    keep?: (output: T) => T,
  ): Promise<T> => writes.do(call, (tx) => work(tx, call.caller, now()), { keep });

  return {
    list: (input, { caller, deadline }) => listOwnKeys(db.within(deadline), caller, input, now()),
    usage: async ({ id, days }, call) => {
      const consumers = [keyConsumer(await chosenKey(id, call))];
      if (!uses) return { isRecorded: false, clients: [], operations: [] };
      const [used] = await readConsumerUses(db.within(call.deadline), { now: now(), days, consumers });
      const { clients = [], operations = [] } = used ?? {};
      return { isRecorded: true, clients: clients.map(partView), operations: operations.map(operationView) };
    },
    calls: async ({ id, requestId }, call) => {
      const keyId = await chosenKey(id, call);
      if (!uses) return { isRecorded: false, items: [] };
      // The caller may ask immediately after the call failed.
      await call.deadline.race(uses.failures.flush());
      const failed = await readFailedCalls(db.within(call.deadline), keyId, now());
      return {
        isRecorded: true,
        items: requestId === undefined ? failed : failed.filter((one) => one.requestId === requestId),
      };
    },
    create: (input, call) =>
      write<NewKey>(call, (tx, caller, at) => createOwnKey(tx, input, caller, at), withoutSecret),
    rename: (input, call) => write(call, (tx, caller, at) => renameOwnKey(tx, input, caller, at)),
    rotate: (input, call) =>
      write<OutputOf<Contract['apiKey']['rotate']>>(
        call,
        (tx, caller, at) => rotateOwnKey(tx, input, caller, at),
        withoutSecret,
      ),
    revoke: (input, call) => write(call, (tx, caller, at) => revokeOwnKey(tx, input, caller, at)),
  };
};
