import type { Transaction } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import { type Bytes, idFromBytes } from '../../../db/values.ts';
import { hiddenRecordsIn } from '../../../content/entity.ts';
import { dropEngagement, forget } from '../../../content/write/remove.ts';
import type { ContentKind } from '../../../content/kind.ts';
import { hiddenIds } from './read.ts';
import type { HiddenSnapshot } from './snapshot.ts';

/** Deletes the hidden records of an author, and the data stored with them. @returns how many */
export const deleteHidden = async (
  db: Database,
  authorId: Bytes,
  before: (tx: Transaction, ids: readonly Bytes[]) => Promise<void>,
): Promise<number> => {
  let deleted = 0;
  const condition = { authorId: idFromBytes(authorId) };
  for await (const ids of hiddenIds(db, () => condition)) {
    for (const id of ids) while (await db.transaction((tx) => dropEngagement(tx, id)));
    deleted += await db.transaction(async (tx) => {
      await before(tx, ids);
      return forget(tx, ids);
    });
  }
  return deleted;
};

/** Deletes a hidden record of a kind; `before` runs in the same transaction. Returns whether the record existed. */
export const deleteHiddenRecord = async (
  db: Database,
  { table }: ContentKind,
  id: Bytes,
  before: (tx: Transaction, record: { title: string; authorId: string }) => Promise<void>,
): Promise<boolean> => {
  const which = { recordId: idFromBytes(id), kind: table };
  if (!(await hiddenRecordsIn(db).existsBy(which))) return false;
  while (await db.transaction((tx) => dropEngagement(tx, id)));
  return db.transaction(async (tx) => {
    const row = await hiddenRecordsIn(tx).findOne({ where: which, ...tx.dialect.lockingRows });
    if (!row) return false;
    await before(tx, { title: (JSON.parse(row.record) as HiddenSnapshot).title, authorId: row.authorId });
    return (await forget(tx, [id])) > 0;
  });
};
