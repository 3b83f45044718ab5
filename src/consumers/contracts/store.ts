import { MAX_CONTRACTS, type Contract, type InputOf, type OutputOf } from '../../../contract/index.ts';
import type { ConsumerContract } from '../../../contract/consumer-contract.ts';
import { AppError } from '../../base/errors.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import { lockRows } from '../../db/sql/lock-rows.ts';
import { storedIdToBytes } from '../../db/values.ts';
import { type ConsumerContractRow, consumerContractsIn } from '../entity.ts';

/** A contract in brief. */
export type ContractSummary = OutputOf<Contract['consumerContract']['publish']>;
/** A contract of a user, by its name and tag. */
export type ContractName = Pick<ConsumerContractRow, 'userId' | 'consumer' | 'tag'>;
/** A contract to publish. */
export type NewContract = InputOf<Contract['consumerContract']['publish']> & { userId: string };

/** A contract that was published, and the user who did it. */
export interface PublishedContract extends ConsumerContract {
  userId: string;
}

const summaryOf = ({
  consumer,
  tag,
  contract,
  needCount,
  publishedAt,
}: Omit<ConsumerContractRow, 'needs'>): ContractSummary => ({
  consumer,
  tag,
  contract,
  needCount,
  publishedAt: publishedAt.toISOString(),
});

/** Keeps a contract, in place of the one before. @throws AppError USER_NOT_FOUND, CONTRACT_LIMIT */
export const putContract = async (
  tx: Transaction,
  { userId, tag, contract: { consumer, contract, needs } }: NewContract,
  now: Date,
): Promise<ContractSummary> => {
  const name = { userId, consumer, tag };
  const content = {
    contract,
    needCount: needs.length,
    needs: needs.map(({ decodes, ...need }) => ({ ...need, ...(decodes && { decodes }) })),
    publishedAt: now,
  };
  // One after the other, so that none passes the limit.
  const [user] = await lockRows(tx, 'users', [storedIdToBytes(userId)]);
  if (!user) throw new AppError('USER_NOT_FOUND');
  const contracts = consumerContractsIn(tx);
  if (await contracts.existsBy(name)) await contracts.update(name, content);
  else if ((await contracts.countBy({ userId })) >= MAX_CONTRACTS) throw new AppError('CONTRACT_LIMIT');
  else await contracts.insert({ ...name, ...content });
  return summaryOf({ ...name, ...content });
};

/** The contracts of a user, by their names and tags. */
export const listContracts = async (reader: Pick<Reader, 'manager'>, userId: string): Promise<ContractSummary[]> => {
  const rows = await consumerContractsIn(reader).find({
    select: { consumer: true, tag: true, contract: true, needCount: true, publishedAt: true },
    where: { userId },
    order: { consumer: 'ASC', tag: 'ASC' },
  });
  return rows.map(summaryOf);
};

/** Deletes a contract. @throws AppError CONTRACT_NOT_FOUND */
export const deleteContract = async (tx: Transaction, name: ContractName): Promise<void> => {
  const { affected } = await consumerContractsIn(tx).delete(name);
  if (affected !== 1) throw new AppError('CONTRACT_NOT_FOUND');
};

/** The contracts of a user, with all that is kept of them. */
export const contractsOf = async (reader: Pick<Reader, 'manager'>, userId: string): Promise<object[]> => {
  const rows = await consumerContractsIn(reader).find({ where: { userId }, order: { consumer: 'ASC', tag: 'ASC' } });
  return rows.map((row) => ({ ...summaryOf(row), needs: row.needs }));
};

/** All contracts that were published under a tag, by their names. */
export const publishedContracts = async (
  reader: Pick<Reader, 'manager'>,
  tag: string,
): Promise<PublishedContract[]> => {
  const rows = await consumerContractsIn(reader).find({ where: { tag }, order: { consumer: 'ASC', userId: 'ASC' } });
  return rows.map(({ userId, consumer, contract, needs }) => ({ userId, consumer, contract, needs }));
};
