import type { Parameter, Transaction } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import { inList, partsOf } from '../../../db/sql/in-list.ts';
import { type Bytes, listFromDb } from '../../../db/values.ts';
import { findRange } from '../../../content/read/find.ts';
import type { ContentKind } from '../../../content/kind.ts';
import { type RecordToDelete, type Removal, removeRecords } from '../../../content/write/remove.ts';
import { byId, readRowsById } from '../../../content/records.ts';
import { readTags } from '../../../content/tag/service.ts';
import { type HideCause, keep, type HiddenSnapshot, keptMembers } from './snapshot.ts';

/** Sets favorites or reactions of a record aside, by one INSERT … SELECT: a record may have very many. */
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

/** Sets records aside before their deletion. */
const keepRecords = async (
  tx: Transaction,
  kind: ContentKind,
  records: readonly RecordToDelete[],
  cause: HideCause | undefined,
): Promise<void> => {
  const ids = records.map(({ id }) => id);
  const rows = await readRowsById<HiddenSnapshot>(tx, kind, { detail: true, viewerId: undefined }, ids);
  const tagIds = [...new Set(rows.flatMap((row) => listFromDb(row.tagIds)))];
  const names = new Map<number, string>();
  for (const part of partsOf(tagIds)) for (const { id, name } of await readTags(tx, part)) names.set(id, name);
  await keep(
    tx,
    kind,
    rows.toSorted(byId).map((row) => ({
      id: row.id,
      authorId: row.authorId,
      kept: Object.assign(
        Object.fromEntries([...keptMembers(kind), 'tagIds'].map((member) => [member, row[member]])) as HiddenSnapshot,
        { tagNames: JSON.stringify(listFromDb(row.tagIds).map((tagId) => names.get(tagId) ?? '')) },
      ),
      cause,
    })),
  );
  const { sql, parameters } = inList(ids);
  for (const table of [kind.favoriteTable, kind.reactionTable]) {
    await keepEngagement(tx, kind, table, `${kind.foreignKey} IN (${sql})`, parameters);
  }
};

/** The way in which records are hidden. */
interface Hiding {
  /** Runs in each transaction before its records are hidden. */
  before: (tx: Transaction, records: readonly RecordToDelete[]) => Promise<void>;
  /** The reason why they are hidden by themselves; without one, they are hidden with their author. */
  cause?: HideCause;
}

/** Hides records of a kind. Run it again if it was interrupted. @returns how many */
export const hideRecords = (
  db: Database,
  kind: ContentKind,
  ids: readonly Bytes[],
  { before, cause }: Hiding,
): Promise<number> => {
  const removal: Removal = {
    before: async (tx, records) => {
      await before(tx, records);
      await keepRecords(tx, kind, records, cause);
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
  return removeRecords(db, kind, ids, removal);
};

/** Hides an author's records of a kind, with the author. Run it again if it was interrupted. @returns how many */
export const hideRecordsOf = async (
  db: Database,
  kind: ContentKind,
  authorId: Bytes,
  before: Hiding['before'],
): Promise<number> => {
  let hidden = 0;
  for await (const ids of findRange(db, kind, { authorId })) {
    hidden += await hideRecords(db, kind, ids, { before });
  }
  return hidden;
};
