import { In } from 'typeorm';
import { currentDate } from '../../base/runtime.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Deadline } from '../../base/deadline.ts';
import type { Database } from '../../db/database.ts';
import { incrementAll } from '../../db/sql/increment.ts';
import { inList, partsOf } from '../../db/sql/in-list.ts';
import { picked, selected } from '../../db/sql/table.ts';
import { type Bytes, idFromBytes, listFromDb, storedIdToBytes } from '../../db/values.ts';
import { enqueueDocuments, keyOf, millisecondsOf } from '../../search/document.ts';
import { forgetReactions, recordEvents } from '../../event/outbox/record.ts';
import { addToCounters, countersOf, subtractFromCounters } from './counters.ts';
import {
  contentColumns,
  countMembers,
  hiddenMarksIn,
  hiddenRecordsIn,
  markCountColumn,
  type EngagementRow,
  engagementIn,
  recordsIn,
  tagLinksIn,
} from '../entity.ts';
import { type ContentKind, tagIdsOf } from '../kind.ts';
import type { StoredContent } from '../records.ts';
import { tally } from '../../base/tally.ts';
import { lockingRead, lockRows } from '../../db/sql/lock-rows.ts';

/** The counter of removed records of a kind, and of changes of tags or types where the kind counts these. */
export const removalCounter = ({ table }: ContentKind): string => `removed:${table}`;

/** Records per transaction: calls that change them or their counters wait for the locks. */
const REMOVED_AT_ONCE = 100;
/** Favorites and reactions per transaction: of one record, hidden or not, and of all records. */
export const MARKS_AT_ONCE = 1000;
const MARKS_OF_ALL = 5000;

/** A locked record that may be removed. */
export type RecordToDelete = Pick<StoredContent, keyof typeof removedColumns | 'tagIds'> & { type?: string | null };

const countsOfMarks = Object.values(countMembers);
const removedColumns = picked(contentColumns, 'id', 'title', 'authorId', 'createdAt', ...countsOfMarks);

/** The hooks of a removal. */
export interface Removal {
  /** Whether to remove a record; called after it is locked. */
  shouldDelete?: (record: RecordToDelete) => boolean;
  /** Runs in each transaction before its records are removed, with at least one record. */
  before?: (tx: Transaction, records: readonly RecordToDelete[]) => Promise<void>;
  /** The user who removes own records; undefined for an operator. */
  actor?: Bytes;
  /** Runs before favorites or reactions in a table are removed: all those of these users. */
  beforeEngagement?: (tx: Transaction, table: string, recordId: Bytes, userIds: readonly Bytes[]) => Promise<void>;
}

/**
 * Removes records with their dependent rows, and decrements their counters, in the lock order of `store` in publish.ts.
 * Tags remain, since publishing relies on that; only their counts fall. SQL: the ids of tags may come from a subquery.
 */
export const removeBatch = async (
  tx: Transaction,
  kind: ContentKind,
  ids: readonly Bytes[],
  { shouldDelete = () => true, before, actor }: Removal,
): Promise<number> => {
  const { table, typeColumn, favoriteTable, reactionTable, countColumn } = kind;
  const among = inList(ids);
  const end = await lockingRead(tx, table, ids);
  const locked = await tx.read<RecordToDelete>(
    `SELECT ${selected(removedColumns, 'r')}, ${tagIdsOf(kind, 'r')} AS tagIds${typeColumn === undefined ? '' : `, ${typeColumn} AS type`}
    FROM ${table} r WHERE id IN (${among.sql}) ORDER BY id ${end}`,
    among.parameters,
  );
  // Another run may have removed a record meanwhile, or its author may have changed the title.
  const rows = locked.filter(shouldDelete);
  if (rows.length === 0) return 0;
  await before?.(tx, rows);
  const authors = new Map(rows.map((row) => [idFromBytes(row.authorId), row.authorId]));
  const byAuthor = tally(rows.map((row) => idFromBytes(row.authorId)));
  await incrementAll(tx, [
    {
      table: 'users',
      column: countColumn,
      additions: [...byAuthor].map(([author, n]) => [authors.get(author) as Bytes, -n]),
    },
  ]);
  const byTag = tally(rows.flatMap(({ tagIds }) => listFromDb(tagIds)));
  if (byTag.size > 0) {
    await incrementAll(tx, [
      { table: 'tags', column: countColumn, additions: [...byTag].map(([tagId, n]) => [tagId, -n] as const) },
    ]);
  }
  const gone = rows.map((row) => idFromBytes(row.id));
  await tagLinksIn(tx, kind).delete({ recordId: In(gone) });
  for (const marks of [favoriteTable, reactionTable]) await engagementIn(tx, marks).delete({ recordId: In(gone) });
  await recordsIn(tx, kind).delete({ id: In(gone) });
  // An empty document, which is never found, replaces the search document of a record.
  const documents = rows.map((row) => ({ key: keyOf(millisecondsOf(row.createdAt), row.id), text: '', labels: [] }));
  await enqueueDocuments(tx, kind.search, documents, true);
  const keys = rows.map(({ id }) => id);
  await forgetReactions(tx, keys);
  const events = keys.map((one) => ({ type: `${kind.router}.deleted` as const, record: one, actor }));
  await recordEvents(tx, events, currentDate());
  await subtractFromCounters(tx, tally(rows.flatMap(({ type = null }) => [table, ...countersOf(kind, type)])));
  await addToCounters(tx, new Map([[removalCounter(kind), rows.length]]));
  return rows.length;
};

/** The column of the count that includes a favorite or reaction. */
export const countColumnOf = ({ type }: EngagementRow): string => markCountColumn(type ?? 'favorite');

/** Removes some favorites or reactions of a record, and updates its counts. Returns whether more may remain. */
const removeEngagement = async (
  tx: Transaction,
  kind: ContentKind,
  table: string,
  id: Bytes,
  beforeEngagement: Removal['beforeEngagement'],
): Promise<boolean> => {
  await lockRows(tx, kind.table, [id]);
  const recordId = idFromBytes(id);
  const rows = await engagementIn(tx, table).find({ where: { recordId }, take: MARKS_AT_ONCE });
  const users = rows.map(({ userId }) => userId);
  await beforeEngagement?.(tx, table, id, users.map(storedIdToBytes));
  for (const part of partsOf(users)) await engagementIn(tx, table).delete({ recordId, userId: In(part) });
  const counts = tally(rows.map(countColumnOf));
  for (const [column, n] of counts)
    await incrementAll(tx, [{ table: kind.table, column, additions: [[id, -n] as const] }]);
  return rows.length === MARKS_AT_ONCE;
};

/**
 * Batches of records to remove together. If a record has very many favorites or reactions, most are removed before it,
 * so that no transaction takes long.
 */
export async function* batchesOf(
  db: Database,
  kind: ContentKind,
  ids: readonly Bytes[],
  { beforeEngagement }: Removal,
  deadline?: Deadline,
): AsyncGenerator<Bytes[]> {
  const { favoriteTable, reactionTable } = kind;
  for (let start = 0; start < ids.length; start += REMOVED_AT_ONCE) {
    const rows = await recordsIn(db, kind).find({
      select: { id: true, favoriteCount: true, likeCount: true, dislikeCount: true },
      where: { id: In(ids.slice(start, start + REMOVED_AT_ONCE).map(idFromBytes)) },
      order: { id: 'ASC' },
    });
    let batch: Bytes[] = [];
    let engagement = 0;
    for (const { id: recordId, favoriteCount, likeCount, dislikeCount } of rows) {
      const id = storedIdToBytes(recordId);
      const counted = [
        [favoriteTable, favoriteCount],
        [reactionTable, likeCount + dislikeCount],
      ] as const;
      for (const [marked, n] of counted) {
        if (n <= MARKS_AT_ONCE) engagement += n;
        else while (await db.transaction((tx) => removeEngagement(tx, kind, marked, id, beforeEngagement), deadline));
      }
      batch.push(id);
      if (engagement < MARKS_OF_ALL) continue;
      yield batch;
      batch = [];
      engagement = 0;
    }
    if (batch.length > 0) yield batch;
  }
}

/**
 * Removes the records of a kind with these ids in batches, each in full or not at all. Safe beside a running service.
 * Can be run again if it was interrupted.
 * @returns how many
 */
export const removeRecords = async (
  db: Database,
  kind: ContentKind,
  ids: readonly Bytes[],
  removal: Removal = {},
): Promise<number> => {
  let removed = 0;
  for await (const batch of batchesOf(db, kind, ids, removal)) {
    removed += await db.transaction((tx) => removeBatch(tx, kind, batch, removal));
  }
  return removed;
};

/** Deletes some of the marks of a hidden record. Returns whether there may be more. */
export const dropEngagement = async (tx: Transaction, id: Bytes): Promise<boolean> => {
  const recordId = idFromBytes(id);
  const marks = hiddenMarksIn(tx);
  const rows = await marks.find({ where: { recordId }, order: { userId: 'ASC' }, take: MARKS_AT_ONCE });
  if (rows.length === 0) return false;
  await marks.delete({ recordId, userId: In(rows.map(({ userId }) => userId)) });
  return rows.length === MARKS_AT_ONCE;
};

/** Deletes the stored data of hidden records. Returns how many. */
export const forget = async (tx: Transaction, ids: readonly Bytes[]): Promise<number> => {
  const { affected } = await hiddenRecordsIn(tx).delete({ recordId: In(ids.map(idFromBytes)) });
  return affected ?? 0;
};
