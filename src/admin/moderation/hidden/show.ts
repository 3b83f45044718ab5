import { In, IsNull } from 'typeorm';
import { currentDate } from '../../../base/runtime.ts';
import type { Transaction } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import { inList } from '../../../db/sql/in-list.ts';
import { incrementAll } from '../../../db/sql/increment.ts';
import { type Bytes, idFromBytes, listFromDb, storedIdToBytes, timeFromDb } from '../../../db/values.ts';
import {
  markCountColumn,
  hiddenMarksIn,
  type HiddenRecordRow,
  hiddenRecordsIn,
  recordsIn,
} from '../../../content/entity.ts';
import { readTags } from '../../../content/tag/service.ts';
import { type ContentKind, ownColumns, typeIn } from '../../../content/kind.ts';
import { type Publication, publishAll } from '../../../content/write/publish.ts';
import { grouped } from '../../../base/tally.ts';
import { hiddenIds } from './read.ts';
import { forget, MARKS_AT_ONCE } from '../../../content/write/remove.ts';
import { keptTagNames, snapshotOf } from './snapshot.ts';
import { recordReactions } from '../../../event/outbox/record.ts';
import { lockRows } from '../../../db/sql/lock-rows.ts';

/** Locks hidden records in the order of their ids; skips records that are shown again or hidden by themselves. */
const lockHidden = (tx: Transaction, ids: readonly Bytes[]): Promise<HiddenRecordRow[]> =>
  hiddenRecordsIn(tx).find({
    where: { recordId: In(ids.map(idFromBytes)), reason: IsNull() },
    order: { recordId: 'ASC' },
    ...tx.dialect.lockingRows,
  });

const publicationOf = (
  kind: ContentKind,
  { recordId: id, authorId, record }: HiddenRecordRow,
  nameOf: ReadonlyMap<number, string>,
): Publication => {
  const kept = snapshotOf(record);
  const type = typeIn(kind, kept) as string | null;
  const names = keptTagNames(kept);
  return {
    id,
    authorId,
    createdAt: new Date(timeFromDb(kept.createdAt)),
    updatedAt: new Date(timeFromDb(kept.updatedAt)),
    draft: {
      title: kept.title,
      tagNames: listFromDb(kept.tagIds)
        .map((tagId, index) => nameOf.get(tagId) ?? names[index] ?? '')
        .filter((name) => name !== ''),
      searchable: kind.searchedTexts(kept as Readonly<Record<string, string | null>>),
      type,
      own: Object.fromEntries(Object.keys(ownColumns(kind)).map((member) => [member, kept[member]])),
    },
    counts: { viewCount: kept.viewCount },
  };
};

/** Publishes hidden records that are not published yet, without favorites and reactions. */
export const publishAgain = async (tx: Transaction, kind: ContentKind, ids: readonly Bytes[]): Promise<void> => {
  const hidden = await lockHidden(tx, ids);
  if (hidden.length === 0) return;
  const there = await recordsIn(tx, kind).find({
    select: { id: true },
    where: { id: In(hidden.map(({ recordId }) => recordId)) },
  });
  const known = new Set(there.map(({ id }) => id));
  const missing = hidden.filter(({ recordId }) => !known.has(recordId));
  if (missing.length === 0) return;
  const tagIds = [...new Set(missing.flatMap(({ record }) => listFromDb(snapshotOf(record).tagIds)))];
  const tags = tagIds.length === 0 ? [] : await readTags(tx, tagIds);
  const nameOf = new Map(tags.map(({ id, name }) => [id, name]));
  const publications = missing.map((row) => publicationOf(kind, row, nameOf));
  await publishAll(tx, kind, publications, { replaces: true });
};

/** Gives republished records some of the marks they had. Returns whether more marks may remain. */
export const showEngagement = async (tx: Transaction, kind: ContentKind, ids: readonly Bytes[]): Promise<boolean> => {
  const { table, foreignKey, favoriteTable, reactionTable } = kind;
  const shown = await lockRows(tx, table, ids);
  // Another run may have hidden them meanwhile.
  if (shown.length === 0) return false;
  const engagement = await hiddenMarksIn(tx).find({
    where: { recordId: In(shown.map(idFromBytes)) },
    order: { recordId: 'ASC', userId: 'ASC' },
    take: MARKS_AT_ONCE,
  });
  for (const [recordId, record] of grouped(engagement, (mark) => mark.recordId)) {
    const id = storedIdToBytes(recordId);
    for (const mark of ['favorite', 'like', 'dislike'] as const) {
      const users = record.filter((row) => row.mark === mark).map(({ userId }) => userId);
      if (users.length === 0) continue;
      const givers = inList(users.map(storedIdToBytes));
      const [into, column, columns, values] =
        mark === 'favorite'
          ? ([favoriteTable, 'favorite_count', `user_id, ${foreignKey}`, 'u.id, ?'] as const)
          : ([reactionTable, markCountColumn(mark), `user_id, ${foreignKey}, type`, `u.id, ?, '${mark}'`] as const);
      // One INSERT … SELECT: some users may be deleted, and some may have set the mark again.
      const set = await tx.execute(
        `${tx.dialect.insertIgnore} INTO ${into} (${columns})
        SELECT ${values} FROM users u WHERE u.id IN (${givers.sql}) ORDER BY u.id`,
        [id, ...givers.parameters],
      );
      if (set > 0) await incrementAll(tx, [{ table, column, additions: [[id, set] as const] }]);
      await hiddenMarksIn(tx).delete({ recordId, mark, userId: In(users) });
    }
  }
  const changed = [...new Set(engagement.map(({ recordId }) => recordId))].map(storedIdToBytes);
  await recordReactions(tx, `${kind.router}.reactionsChanged`, changed, currentDate());
  return engagement.length === MARKS_AT_ONCE;
};

/** Gives republished records the marks they had, and then deletes their hidden copies. @returns how many */
export const finishShowing = async (
  db: Database,
  kind: ContentKind,
  ids: readonly Bytes[],
  before: (tx: Transaction, ids: readonly Bytes[]) => Promise<void> = () => Promise.resolve(),
): Promise<number> => {
  while (await db.transaction((tx) => showEngagement(tx, kind, ids)));
  return db.transaction(async (tx) => {
    const left = (await lockHidden(tx, ids)).map(({ recordId }) => storedIdToBytes(recordId));
    if (left.length === 0) return 0;
    await before(tx, left);
    return forget(tx, left);
  });
};

/**
 * Shows the records of a kind that were hidden with their author, with their favorites and reactions; records that are
 * hidden by themselves stay hidden. Run it again if it was interrupted. `before` runs in the transaction that completes
 * them. @returns how many
 */
export const showRecordsOf = async (
  db: Database,
  kind: ContentKind,
  authorId: Bytes,
  before: (tx: Transaction, ids: readonly Bytes[]) => Promise<void>,
): Promise<number> => {
  let shown = 0;
  const author = idFromBytes(authorId);
  const hidden = hiddenIds(db, () => ({ authorId: author, kind: kind.table, reason: IsNull() }));
  for await (const ids of hidden) {
    await db.transaction((tx) => publishAgain(tx, kind, ids));
    shown += await finishShowing(db, kind, ids, before);
  }
  return shown;
};
