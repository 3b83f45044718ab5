import {
  MAX_CONTRACT_BYTES,
  MAX_CONTRACTS,
  type Contract,
  type InputOf,
  type OutputOf,
} from '../../../contract/index.ts';
import { type ConsumerContract, isConsumerContract } from '../../../contract/consumer-contract.ts';
import { type Actor, recordAll } from '../../auth/audit/log.ts';
import { AppError } from '../../base/errors.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import { lockRows } from '../../db/sql/lock-rows.ts';
import { type Bytes, idFromBytes, storedIdToBytes } from '../../db/values.ts';
import { type ConsumerContractRow, consumerContractsIn } from '../entity.ts';

/** The summary of a contract. */
export type ContractSummary = OutputOf<Contract['consumerContract']['publish']>;
/** A contract of a user, by its name and tag. */
export type ContractName = Pick<ConsumerContractRow, 'userId' | 'consumer' | 'tag'>;
/** A contract to publish. */
export type NewContract = InputOf<Contract['consumerContract']['publish']> & { userId: string };

/** A published contract, and the user who published it. */
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

/** Asserts that a user, who is locked, has room for the contract. @throws AppError CONTRACT_LIMIT */
const assertRoom = async (tx: Transaction, { userId, consumer, tag }: ContractName, bytes: number): Promise<void> => {
  const [others] = await tx.read<{ n: number; bytes: number | string }>(
    `SELECT COUNT(*) AS n, COALESCE(SUM(OCTET_LENGTH(needs)), 0) AS bytes FROM consumer_contracts
      WHERE user_id = ? AND NOT (consumer = ? AND tag = ?)`,
    [storedIdToBytes(userId), consumer, tag],
  );
  const [n, taken] = [Number(others?.n), Number(others?.bytes)];
  if (n < MAX_CONTRACTS && taken + bytes <= MAX_CONTRACT_BYTES) return;
  throw new AppError('CONTRACT_LIMIT', {
    hint: `Nothing was stored. This contract takes ${bytes} bytes, your ${n} others ${taken}, and ${MAX_CONTRACT_BYTES} are the most. Delete those of consumers and tags that are no longer in use.`,
  });
};

/** Stores a contract in place of the previous one. @throws AppError USER_NOT_FOUND, CONTRACT_LIMIT */
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
  // A user's contracts are stored one after another, so that none exceeds the limit.
  const [user] = await lockRows(tx, 'users', [storedIdToBytes(userId)]);
  if (!user) throw new AppError('USER_NOT_FOUND');
  const contracts = consumerContractsIn(tx);
  await assertRoom(tx, name, Buffer.byteLength(JSON.stringify(content.needs)));
  if (await contracts.existsBy(name)) await contracts.update(name, content);
  else await contracts.insert({ ...name, ...content });
  return summaryOf({ ...name, ...content });
};

const briefRows = (reader: Pick<Reader, 'manager'>, wanted: Partial<ContractName>) =>
  consumerContractsIn(reader).find({
    select: { userId: true, consumer: true, tag: true, contract: true, needCount: true, publishedAt: true },
    where: wanted,
    order: { consumer: 'ASC', tag: 'ASC', userId: 'ASC' },
  });

/** The contracts of a user, by their names and tags. */
export const listContracts = async (reader: Pick<Reader, 'manager'>, userId: string): Promise<ContractSummary[]> =>
  (await briefRows(reader, { userId })).map(summaryOf);

/** The summary of a contract, with its user. */
export type OwnedContract = ContractSummary & { userId: string };

/** The contracts of all users, or of a user, consumer and tag, sorted by these. */
export const findContracts = async (
  reader: Pick<Reader, 'manager'>,
  wanted: Partial<ContractName>,
): Promise<OwnedContract[]> =>
  (await briefRows(reader, wanted)).map((row) => ({ userId: row.userId, ...summaryOf(row) }));

/** Deletes a contract. @throws AppError CONTRACT_NOT_FOUND */
export const deleteContract = async (tx: Transaction, name: ContractName): Promise<void> => {
  const { affected } = await consumerContractsIn(tx).delete(name);
  if (affected !== 1) throw new AppError('CONTRACT_NOT_FOUND');
};

/** Deletes contracts of a user, for an operator. Returns the deleted contracts. */
export const deleteContracts = async (
  tx: Transaction,
  wanted: Partial<ContractName> & { userId: string },
  by: Actor,
): Promise<OwnedContract[]> => {
  await lockRows(tx, 'users', [storedIdToBytes(wanted.userId)]);
  const found = await findContracts(tx, wanted);
  await consumerContractsIn(tx).delete(wanted);
  const acts = found.map((before) => ({ action: 'contract delete', subject: `user ${wanted.userId}`, before }));
  if (acts.length > 0) await recordAll(tx, by, acts);
  return found;
};

/** The stored text of a contract; undefined if it was deleted meanwhile. */
const readStored = async (
  reader: Reader,
  { userId, consumer, tag }: ContractName,
): Promise<{ contract: string; needs: string } | undefined> => {
  const [row] = await reader.read<{ contract: string; needs: string }>(
    'SELECT contract, needs FROM consumer_contracts WHERE user_id = ? AND consumer = ? AND tag = ?',
    [storedIdToBytes(userId), consumer, tag],
  );
  return row;
};

const parsedOr = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** Yields the contracts of a user one by one, with all stored data. */
export async function* contractsOf(reader: Reader, userId: string): AsyncGenerator<object> {
  for (const summary of await listContracts(reader, userId)) {
    const stored = await readStored(reader, { userId, ...summary });
    if (stored) yield { ...summary, needs: parsedOr(stored.needs) };
  }
}

/** Called for a contract that is ignored: its user is suspended, or it cannot be read. */
export type PassedOver = (contract: ContractName, why: 'suspended' | 'unreadable') => void;

/** Yields the contracts published under a tag, by name. One at a time: all together may be too many for the memory. */
export async function* publishedContracts(
  reader: Reader,
  tag: string,
  passOver: PassedOver,
): AsyncGenerator<PublishedContract> {
  const rows = await reader.read<{ user_id: Bytes; consumer: string; suspended_at: string | null }>(
    `SELECT c.user_id, c.consumer, u.suspended_at FROM consumer_contracts c JOIN users u ON u.id = c.user_id
      WHERE c.tag = ? ORDER BY c.consumer, c.user_id`,
    [tag],
  );
  for (const { user_id: bytes, consumer, suspended_at: suspendedAt } of rows) {
    const name = { userId: idFromBytes(bytes), consumer, tag };
    if (suspendedAt !== null) {
      passOver(name, 'suspended');
      continue;
    }
    const stored = await readStored(reader, name);
    const contract = stored && { consumer, contract: stored.contract, needs: parsedOr(stored.needs) };
    if (contract && isConsumerContract(contract)) yield { userId: name.userId, ...contract };
    else if (contract) passOver(name, 'unreadable');
  }
}
