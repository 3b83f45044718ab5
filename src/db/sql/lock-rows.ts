import type { Transaction } from '../connection.ts';
import type { Bytes } from '../values.ts';
import { inList } from './in-list.ts';

/**
 * Locks rows with these ids, in the order of the ids, which prevents deadlocks. On shards it locks one after the other: a
 * statement for several shards has all of them lock at once. @returns the ids of those that are there
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
 * Locks rows with these ids likewise, on shards, where vtgate takes the lock from a statement with a subquery. @returns how a
 * statement that reads them has to end: on one server, it locks them itself
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
