import type { Contract, InputOf, OutputOf } from '../../../contract/index.ts';
import { deleteOnce, type Writes } from '../../auth/idempotency/writes.ts';
import type { Call } from '../../auth/procedure.ts';
import type { Caller } from '../../auth/verifier.ts';
import { AppError } from '../../base/errors.ts';
import { version } from '../../base/version.ts';
import type { Database } from '../../db/database.ts';
import { unknownParts } from './known.ts';
import { type ContractSummary, deleteContract, listContracts, putContract } from './store.ts';

type Router = Contract['consumerContract'];

/** The dependencies of the router `consumerContract`. */
export interface ConsumerContractContext {
  db: Database;
  /** The clock. */
  now: () => Date;
  writes: Writes;
}

/** Whether a text is a version of this gateway, or an earlier one, also with a build behind a plus sign. */
const isKnownVersion = (text: string): boolean => {
  const [, known] = /^(\d+\.\d+\.\d+)(?:\+[\w.-]+)?$/.exec(text) ?? [];
  return known !== undefined && known.localeCompare(version, 'en', { numeric: true }) <= 0;
};

/** Refuses a contract that no comparison could judge. @throws AppError CONTRACT_UNKNOWN */
const assertKnown = ({ contract, needs }: InputOf<Router['publish']>['contract']): void => {
  const unknown = unknownParts(needs);
  if (unknown.length > 0)
    throw new AppError('CONTRACT_UNKNOWN', { hint: `Nothing was stored. Unknown: ${unknown.join(', ')}.` });
  if (!isKnownVersion(contract))
    throw new AppError('CONTRACT_UNKNOWN', {
      hint: `Nothing was stored. This gateway has version ${version}, and the contract names ${contract}.`,
    });
};

/** Keeps a contract of the caller. @throws AppError CONTRACT_UNKNOWN, CONTRACT_LIMIT */
export const publish = async (
  { writes, now }: ConsumerContractContext,
  input: InputOf<Router['publish']>,
  call: Call<Caller>,
): Promise<ContractSummary> =>
  writes.do(call, (tx) => {
    assertKnown(input.contract);
    return putContract(tx, { ...input, userId: call.caller.userId }, now());
  });

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
