import type { Transaction } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import { inList } from '../../../db/sql/in-list.ts';
import { type Bytes, idFromBytes } from '../../../db/values.ts';
import type { ContentKind } from '../../../content/kind.ts';
import { findHidden, forget, type HiddenSnapshot, MARKS_AT_ONCE } from './snapshot.ts';

/** Deletes some of the marks of a hidden record. Returns whether there may be more. */
export const dropEngagement = async (tx: Transaction, id: Bytes): Promise<boolean> => {
  const rows = await tx.read<{ user_id: Bytes; mark: string }>(
    `SELECT user_id, mark FROM hidden_marks WHERE record_id = ? ORDER BY user_id LIMIT ${MARKS_AT_ONCE}`,
    [id],
  );
  if (rows.length === 0) return false;
  const { sql, parameters } = inList(rows.map(({ user_id: user }) => user));
  await tx.execute(`DELETE FROM hidden_marks WHERE record_id = ? AND user_id IN (${sql})`, [id, ...parameters]);
  return rows.length === MARKS_AT_ONCE;
};

/** Deletes the hidden records of an author, and what was kept with them. @returns how many */
export const deleteHidden = async (
  db: Database,
  authorId: Bytes,
  before: (tx: Transaction, ids: readonly Bytes[]) => Promise<void>,
): Promise<number> => {
  let deleted = 0;
  for await (const ids of findHidden(db, authorId)) {
    for (const id of ids) {
      while (await db.transaction((tx) => dropEngagement(tx, id)));
    }
    deleted += await db.transaction(async (tx) => {
      await before(tx, ids);
      return forget(tx, ids);
    });
  }
  return deleted;
};

/** Deletes a hidden record of a kind; `before` is done in the same transaction. Returns whether there was one. */
export const deleteHiddenRecord = async (
  db: Database,
  { table }: ContentKind,
  id: Bytes,
  before: (tx: Transaction, record: { title: string; authorId: string }) => Promise<void>,
): Promise<boolean> => {
  const find = (reader: Pick<Transaction, 'read'>, end = ''): Promise<{ author_id: Bytes; record: string }[]> =>
    reader.read(`SELECT author_id, record FROM hidden_records WHERE record_id = ? AND kind = ? ${end}`, [id, table]);
  if ((await find(db)).length === 0) return false;
  while (await db.transaction((tx) => dropEngagement(tx, id)));
  return db.transaction(async (tx) => {
    const [row] = await find(tx, tx.dialect.forUpdate);
    if (!row) return false;
    await before(tx, { title: (JSON.parse(row.record) as HiddenSnapshot).title, authorId: idFromBytes(row.author_id) });
    return (await forget(tx, [id])) > 0;
  });
};
