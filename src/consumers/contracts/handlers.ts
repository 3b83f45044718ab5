import type { Contract, InputOf } from '../../../contract/index.ts';
import { deleteOnce, type Writes } from '../../auth/idempotency/writes.ts';
import type { Handlers } from '../../auth/procedure.ts';
import { AppError } from '../../base/errors.ts';
import { version } from '../../base/version.ts';
import type { Database } from '../../db/database.ts';
import { unknownParts } from './known.ts';
import { deleteContract, listContracts, putContract } from './store.ts';

/** The dependencies of the router `consumerContract`. */
interface ConsumerContractContext {
  db: Database;
  now: () => Date;
  writes: Writes;
}

/** Whether a text is this gateway's version or an earlier one, with or without a build after a plus sign. */
const isKnownVersion = (text: string): boolean => {
  const [, known] = /^(\d+\.\d+\.\d+)(?:\+[\w.-]+)?$/.exec(text) ?? [];
  return known !== undefined && known.localeCompare(version, 'en', { numeric: true }) <= 0;
};

/** Refuses a contract that no comparison could judge. @throws AppError CONTRACT_UNKNOWN */
const assertKnown = ({ contract, needs }: InputOf<Contract['consumerContract']['publish']>['contract']): void => {
  const unknown = unknownParts(needs);
  if (unknown.length > 0)
    throw new AppError('CONTRACT_UNKNOWN', { hint: `Nothing was stored. Unknown: ${unknown.join(', ')}.` });
  if (!isKnownVersion(contract))
    throw new AppError('CONTRACT_UNKNOWN', {
      hint: `Nothing was stored. This gateway has version ${version}, and the contract names ${contract}.`,
    });
};

/** The procedures of the router `consumerContract`. Each accesses only the contracts of its caller. */
export const consumerContractHandlers = ({
  db,
  now,
  writes,
}: ConsumerContractContext): Handlers<Contract['consumerContract']> => ({
  publish: (input, call) =>
    writes.do(call, (tx) => {
      assertKnown(input.contract);
      return putContract(tx, { ...input, userId: call.caller.userId }, now());
    }),
  list: async (_, { caller, deadline }) => ({ items: await listContracts(db.within(deadline), caller.userId) }),
  delete: ({ consumer, tag }, call) =>
    deleteOnce(call, 'CONTRACT_NOT_FOUND', () =>
      writes.do(call, async (tx) => {
        await deleteContract(tx, { userId: call.caller.userId, consumer, tag });
        return { consumer, tag };
      }),
    ),
});
