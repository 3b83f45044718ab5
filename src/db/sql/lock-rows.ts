import type { Parameter, Transaction } from '../connection.ts';
import { inList } from './in-list.ts';

/**
 * Locks rows with these ids in the order of the ids, which prevents deadlocks.
 * @returns how a statement that reads them has to end: on one server, it locks them itself. On shards they are locked here, one
 * after the other: a statement for several shards has all of them lock at once, and vtgate takes the lock from a statement
 * with a subquery.
 */
export const lockingRead = async (tx: Transaction, table: string, ids: readonly Parameter[]): Promise<string> => {
  if (!tx.dialect.isSharded) return tx.dialect.forUpdate;
  const inOrder = ids.toSorted((a, b) =>
    a instanceof Uint8Array ? Buffer.compare(a, b as Uint8Array) : Number(a) - Number(b),
  );
  for (const id of inOrder) await tx.read(`SELECT id FROM ${table} WHERE id = ? ${tx.dialect.forUpdate}`, [id]);
  return '';
};

/** Locks rows with these ids, likewise. */
export const lockRows = async (tx: Transaction, table: string, ids: readonly Parameter[]): Promise<void> => {
  const end = await lockingRead(tx, table, ids);
  if (end === '') return;
  const { sql, parameters } = inList(ids);
  await tx.read(`SELECT id FROM ${table} WHERE id IN (${sql}) ORDER BY id ${end}`, parameters);
};
