import type { Contract, InputOf, OutputOf } from '../../../contract/index.ts';
import { deleteOnce, type Writes } from '../../auth/idempotency/writes.ts';
import type { Call } from '../../auth/procedure.ts';
import type { Caller } from '../../auth/verifier.ts';
import type { Database } from '../../db/database.ts';
import { type ContractSummary, deleteContract, listContracts, putContract } from './store.ts';

type Router = Contract['consumerContract'];

/** The dependencies of the router `consumerContract`. */
export interface ConsumerContractContext {
  db: Database;
  /** The clock. */
  now: () => Date;
  writes: Writes;
}

/** Keeps a contract of the caller. @throws AppError CONTRACT_LIMIT */
export const publish = (
  { writes, now }: ConsumerContractContext,
  input: InputOf<Router['publish']>,
  call: Call<Caller>,
): Promise<ContractSummary> =>
  writes.do(call, (tx) => putContract(tx, { ...input, userId: call.caller.userId }, now()));

/** The contracts of the caller. */
export const list = ({ db }: ConsumerContractContext, { caller, deadline }: Call<Caller>): Promise<ContractSummary[]> =>
  listContracts(db.within(deadline), caller.userId);

/** Deletes a contract of the caller. @throws AppError CONTRACT_NOT_FOUND */
export const remove = (
  { writes }: ConsumerContractContext,
  { consumer, tag }: InputOf<Router['delete']>,
  call: Call<Caller>,
): Promise<OutputOf<Router['delete']>> =>
  deleteOnce(call, 'CONTRACT_NOT_FOUND', () =>
    writes.do(call, async (tx) => {
      await deleteContract(tx, { userId: call.caller.userId, consumer, tag });
      return { consumer, tag };
    }),
  );
