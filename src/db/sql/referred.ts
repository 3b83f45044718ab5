import { ForeignKeyError, type Transaction } from '../connection.ts';
import { inList, partsOf } from './in-list.ts';

/**
 * Locks rows that others are about to refer to, so that they stay until these are stored: on shards, where no foreign key does.
 * @throws ForeignKeyError where one is gone
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
