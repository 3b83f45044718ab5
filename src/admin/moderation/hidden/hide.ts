import type { Parameter, Transaction } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import { inList } from '../../../db/sql/in-list.ts';
import type { Bytes } from '../../../db/values.ts';
import { findByAuthor } from '../../../content/read/find.ts';
import type { ContentKind } from '../../../content/kind.ts';
import { type RecordToDelete, type RemovableKind, type Removal, removeRecords } from '../../../content/write/remove.ts';
import { tagIdsOf } from '../../../content/tag-ids.ts';
import { keep, type HiddenSnapshot, keptColumns } from './snapshot.ts';

/** Keeps favorites or reactions of a record aside. */
const keepEngagement = async (
  tx: Transaction,
  { favoriteTable, foreignKey }: ContentKind,
  table: string,
  condition: string,
  parameters: readonly Parameter[],
): Promise<void> => {
  const mark = table === favoriteTable ? "'favorite'" : 'type';
  await tx.execute(
    `${tx.dialect.insertIgnore} INTO hidden_marks (record_id, user_id, mark)
    SELECT ${foreignKey}, user_id, ${mark} FROM ${table} WHERE ${condition}`,
    parameters,
  );
};

/** Keeps records aside that are about to go. */
const keepRecords = async (tx: Transaction, kind: ContentKind, records: readonly RecordToDelete[]): Promise<void> => {
  const { sql, parameters } = inList(records.map(({ id }) => id));
  const rows = await tx.read<HiddenSnapshot & { id: Bytes; author_id: Bytes }>(
    `SELECT id, author_id, ${keptColumns(kind).join(', ')}, ${tagIdsOf(kind, kind.table)} AS tag_ids
    FROM ${kind.table} WHERE id IN (${sql}) ORDER BY id`,
    parameters,
  );
  await keep(
    tx,
    kind,
    rows.map(({ id, author_id: authorId, ...kept }) => ({ id, authorId, kept: kept as HiddenSnapshot })),
  );
  for (const table of [kind.favoriteTable, kind.reactionTable]) {
    await keepEngagement(tx, kind, table, `${kind.foreignKey} IN (${sql})`, parameters);
  }
};

/** Hides the records of a kind by an author. To be run again if it was interrupted. @returns how many */
export const hideRecords = async (
  db: Database,
  removable: RemovableKind,
  authorId: Bytes,
  before: (tx: Transaction, records: readonly RecordToDelete[]) => Promise<void>,
): Promise<number> => {
  const { kind } = removable;
  const removal: Removal = {
    before: async (tx, records) => {
      await before(tx, records);
      await keepRecords(tx, kind, records);
    },
    beforeEngagement: async (tx, table, recordId, userIds) => {
      if (userIds.length === 0) return;
      const { sql, parameters } = inList(userIds);
      await keepEngagement(tx, kind, table, `${kind.foreignKey} = ? AND user_id IN (${sql})`, [
        recordId,
        ...parameters,
      ]);
    },
  };
  let hidden = 0;
  for await (const ids of findByAuthor(db, kind, authorId)) hidden += await removeRecords(db, removable, ids, removal);
  return hidden;
};
