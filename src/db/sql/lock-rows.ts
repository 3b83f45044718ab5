import { isDeepStrictEqual } from 'node:util';
import { sleep } from '../../base/runtime.ts';
import { ForeignKeyError, type Transaction } from '../connection.ts';
import type { Bytes } from '../values.ts';
import type { WorkloadPool } from '../workload-pool.ts';
import { inList, partsOf } from './in-list.ts';

/** Far longer than a commit usually takes from its first shard to its last. */
const SETTLE_MS = 250;

/**
 * Locks rows with these ids in the order of the ids, which prevents deadlocks. On shards it locks them one by one: a
 * statement for several shards locks on all of them at once. @returns the ids of the existing rows
 */
export const lockRows = async <Id extends Bytes | number>(
  tx: Transaction,
  table: string,
  ids: readonly Id[],
): Promise<Id[]> => {
  const { forUpdate, isSharded } = tx.dialect;
  const inOrder = ids.toSorted((a, b) =>
    typeof a === 'number' || typeof b === 'number' ? Number(a) - Number(b) : Buffer.compare(a, b),
  );
  const there: Id[] = [];
  for (const some of isSharded ? inOrder.map((id) => [id]) : [inOrder]) {
    const { sql, parameters } = inList(some);
    const rows = await tx.read<{ id: Id }>(
      `SELECT id FROM ${table} WHERE id IN (${sql}) ORDER BY id ${forUpdate}`,
      parameters,
    );
    there.push(...rows.map(({ id }) => id));
  }
  return there;
};

/**
 * On shards, locks rows with these ids in the same way: vtgate removes the lock from a statement with a subquery.
 * @returns the end of the statement that reads the rows: on one server, that statement locks them itself
 */
export const lockingRead = async (
  tx: Transaction,
  table: string,
  ids: readonly (Bytes | number)[],
): Promise<string> => {
  if (!tx.dialect.isSharded) return tx.dialect.forUpdate;
  await lockRows(tx, table, ids);
  return '';
};

/**
 * Locks rows that others will refer to, until these are stored. This is for shards, where no foreign key does it.
 * @throws ForeignKeyError where one is missing
 */
export const lockReferred = async (
  tx: Transaction,
  table: 'users' | 'tags',
  idsOf: () => readonly (Uint8Array | number)[],
): Promise<void> => {
  if (!tx.dialect.isSharded) return;
  const distinct = [
    ...new Map(idsOf().map((id) => [typeof id === 'number' ? id : Buffer.from(id).toString('hex'), id])).values(),
  ];
  let found = 0;
  for (const part of partsOf(distinct)) {
    const { sql, parameters } = inList(part);
    const rows = await tx.read(
      `SELECT id FROM ${table} WHERE id IN (${sql}) ORDER BY id LOCK IN SHARE MODE`,
      parameters,
    );
    found += rows.length;
  }
  if (found < distinct.length) throw new ForeignKeyError(`a row of ${table} that others refer to is gone`);
};

/**
 * Reads rows that the transaction has locked, and counts others. On shards it repeats this until nothing changes: the
 * commit that released the lock may not have reached all shards yet. Further commits wait for this transaction.
 */
export const readUntilStable = async <T>({ dialect }: Transaction, read: () => Promise<T[]>): Promise<T[]> => {
  let found = await read();
  while (dialect.isSharded && found.length > 0) {
    await sleep(SETTLE_MS);
    const again = await read();
    if (isDeepStrictEqual(again, found)) break;
    found = again;
  }
  return found;
};

/**
 * Returns the differences that were seen between rows and others while calls change them. One server sees both sides in
 * one state. On shards the differences may be temporary: `compare` locks and compares the rows again.
 */
export const recheckOnShards = async <T>(
  db: WorkloadPool,
  seen: readonly T[],
  compare: (tx: Transaction, seen: readonly T[]) => Promise<T[]>,
): Promise<readonly T[]> =>
  db.dialect.isSharded && seen.length > 0 ? db.transaction((tx) => compare(tx, seen)) : seen;
