import type { Parameter, Reader, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { incrementAll } from '../db/increment.ts';
import type { Dialect } from '../db/dialect.ts';
import { chunksOf, inList, partsOf } from '../db/in-list.ts';
import { insertInto, insertValues } from '../db/insert.ts';
import { onceFor } from '../db/texts.ts';
import { type Bytes, idFromBytes, listFromDb, storedIdToBytes, timeFromDb, timeToDb } from '../db/values.ts';
import { readTags } from '../tag/service.ts';
import { findByAuthor } from './find.ts';
import type { ContentKind } from './kind.ts';
import { joinTagIds, type Publication, publishAll, tagsForHidden } from './publish.ts';
import { grouped } from './tally.ts';
import { tagIdsOf } from './tag-ids.ts';
import { type Doomed, type RemovableKind, reactionColumns, type Removal, removeRecords } from './remove.ts';

// Records are hidden by being taken away, as if they were deleted, and kept aside with the favorites and reactions that
// they had: so every list, search and count is right without knowing of it. Whoever asks for one gets a 404.

/** What a hidden record is published from again: columns but the ids, as they are stored. */
type Kept = Record<string, string | number | null> & {
  title: string;
  tag_ids: string;
  view_count: number;
  created_at: string;
  updated_at: string;
};

const keptColumns = ({ summaryColumns, detailColumns }: ContentKind): string[] => [
  'title',
  'view_count',
  'created_at',
  'updated_at',
  ...summaryColumns,
  ...detailColumns,
];

/** One that was being shown again may still be there. */
const insertion = onceFor((dialect: Dialect) =>
  insertInto(
    'hidden_records',
    ['author_id', 'record_id', 'kind', 'record'],
    `${dialect.onConflict('author_id, record_id')} record = ${dialect.inserted('record')}`,
  ),
);

/** Where hidden records are read: those of a kind, a number of them at most. */
interface HiddenRange {
  from: { id: Bytes; isIncluded: boolean };
  upTo: Bytes | undefined;
  limit: number;
}

/** Hidden records of a kind by any authors, in the order of their ids, with the columns they had; no counts of marks. */
export const readHiddenRows = async <Columns>(
  reader: Reader,
  { table }: ContentKind,
  { from, upTo, limit }: HiddenRange,
): Promise<Columns[]> => {
  const rows = await reader.read<{ record_id: Bytes; author_id: Bytes; record: string }>(
    `SELECT record_id, author_id, record FROM hidden_records
    WHERE record_id ${from.isIncluded ? '>=' : '>'} ? ${upTo ? 'AND record_id <= ?' : ''} AND kind = ?
    ORDER BY record_id LIMIT ${limit}`,
    [from.id, ...(upTo ? [upTo] : []), table],
  );
  return rows.map(
    ({ record_id: id, author_id: authorId, record }) =>
      Object.assign(JSON.parse(record) as Kept, { id, author_id: authorId }) as Columns,
  );
};

/** Which of these records are hidden. */
export const findHiddenIds = async (reader: Reader, ids: readonly Bytes[]): Promise<Set<string>> => {
  const found = new Set<string>();
  for (const part of partsOf(ids)) {
    const { sql, parameters } = inList(part);
    const rows = await reader.read<{ id: Bytes }>(
      `SELECT record_id AS id FROM hidden_records WHERE record_id IN (${sql})`,
      parameters,
    );
    for (const { id } of rows) found.add(idFromBytes(id));
  }
  return found;
};

/** Stores records that are hidden from the beginning. */
export const storeHidden = async (
  tx: Transaction,
  kind: ContentKind,
  publications: readonly Publication[],
): Promise<void> => {
  const tags = await tagsForHidden(tx, kind, publications);
  await insertValues(
    tx,
    insertion(tx.dialect),
    publications.map((publication, index) => {
      const { id, authorId, createdAt, updatedAt = createdAt, draft, counts } = publication;
      const kept = {
        title: draft.title,
        tag_ids: joinTagIds(tags[index] ?? []),
        view_count: counts?.viewCount ?? 0,
        created_at: timeToDb(createdAt),
        updated_at: timeToDb(updatedAt),
        ...draft.columns,
      };
      return [storedIdToBytes(authorId), storedIdToBytes(id), kind.table, JSON.stringify(kept)];
    }),
  );
};

/** Stores favorites and reactions of a hidden record, those that are there already excepted. */
export const storeHiddenMarks = async (
  tx: Transaction,
  id: Bytes,
  mark: 'favorite' | 'like' | 'dislike',
  userIds: readonly Bytes[],
): Promise<void> => {
  for (const chunk of chunksOf(userIds)) {
    await tx.execute(
      `${tx.dialect.insertIgnore} INTO hidden_marks (record_id, user_id, mark) VALUES ${chunk.map(() => '(?, ?, ?)').join(', ')}`,
      chunk.flatMap((user) => [id, user, mark]),
    );
  }
};

/** Keeps favorites or reactions of a record aside. */
const keepMarks = async (
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
const keepRecords = async (tx: Transaction, kind: ContentKind, records: readonly Doomed[]): Promise<void> => {
  const { sql, parameters } = inList(records.map(({ id }) => id));
  const rows = await tx.read<Kept & { id: Bytes; author_id: Bytes }>(
    `SELECT id, author_id, ${keptColumns(kind).join(', ')}, ${tagIdsOf(kind, kind.table)} AS tag_ids
    FROM ${kind.table} WHERE id IN (${sql}) ORDER BY id`,
    parameters,
  );
  await insertValues(
    tx,
    insertion(tx.dialect),
    rows.map(({ id, author_id: authorId, ...kept }) => [authorId, id, kind.table, JSON.stringify(kept)]),
  );
  for (const table of [kind.favoriteTable, kind.reactionTable]) {
    await keepMarks(tx, kind, table, `${kind.foreignKey} IN (${sql})`, parameters);
  }
};

/** Hides the records of a kind by an author. To be run again if it was interrupted. @returns how many */
export const hideRecords = async (
  db: Database,
  removable: RemovableKind,
  authorId: Bytes,
  before: (tx: Transaction, records: readonly Doomed[]) => Promise<void>,
): Promise<number> => {
  const { kind } = removable;
  const removal: Removal = {
    before: async (tx, records) => {
      await before(tx, records);
      await keepRecords(tx, kind, records);
    },
    beforeMarks: async (tx, table, recordId, userIds) => {
      if (userIds.length === 0) return;
      const { sql, parameters } = inList(userIds);
      await keepMarks(tx, kind, table, `${kind.foreignKey} = ? AND user_id IN (${sql})`, [recordId, ...parameters]);
    },
  };
  let hidden = 0;
  for await (const ids of findByAuthor(db, kind, authorId)) hidden += await removeRecords(db, removable, ids, removal);
  return hidden;
};

/** Records that come back together, and marks. */
const SHOWN_AT_ONCE = 100;
const MARKS_AT_ONCE = 1000;

interface HiddenRow {
  record_id: Bytes;
  record: string;
}

/** Locks hidden records, in the order of their ids, those that somebody else has shown meanwhile excepted. */
const lockHidden = (tx: Transaction, authorId: Bytes, ids: readonly Bytes[]): Promise<HiddenRow[]> => {
  const { sql, parameters } = inList(ids);
  return tx.read<HiddenRow>(
    `SELECT record_id, record FROM hidden_records WHERE author_id = ? AND record_id IN (${sql})
    ORDER BY record_id ${tx.dialect.forUpdate}`,
    [authorId, ...parameters],
  );
};

const publicationOf = (
  { kind, countersOf }: RemovableKind,
  authorId: Bytes,
  { record_id: id, record }: HiddenRow,
  nameOf: ReadonlyMap<number, string>,
): Publication => {
  const kept = JSON.parse(record) as Kept;
  const type = kind.typeColumn === undefined ? null : (kept[kind.typeColumn] as string | null);
  const own = [...kind.summaryColumns, ...kind.detailColumns];
  return {
    id: idFromBytes(id),
    authorId: idFromBytes(authorId),
    createdAt: new Date(timeFromDb(kept.created_at)),
    updatedAt: new Date(timeFromDb(kept.updated_at)),
    draft: {
      title: kept.title,
      tagNames: listFromDb(kept.tag_ids)
        .map((tagId) => nameOf.get(tagId))
        .filter((name) => name !== undefined),
      searchable: kind.searchedTexts(kept as Readonly<Record<string, string | null>>),
      counters: countersOf(type),
      type,
      columns: Object.fromEntries(own.map((column) => [column, kept[column]])),
    },
    counts: { viewCount: kept.view_count },
  };
};

/** Publishes hidden records again that are not there yet, without favorites and reactions. */
const publishAgain = async (
  tx: Transaction,
  removable: RemovableKind,
  authorId: Bytes,
  ids: readonly Bytes[],
): Promise<void> => {
  const hidden = await lockHidden(tx, authorId, ids);
  if (hidden.length === 0) return;
  const { sql, parameters } = inList(hidden.map(({ record_id: id }) => id));
  const there = await tx.read<{ id: Bytes }>(`SELECT id FROM ${removable.kind.table} WHERE id IN (${sql})`, parameters);
  const known = new Set(there.map(({ id }) => idFromBytes(id)));
  const missing = hidden.filter(({ record_id: id }) => !known.has(idFromBytes(id)));
  if (missing.length === 0) return;
  const tagIds = [...new Set(missing.flatMap(({ record }) => listFromDb((JSON.parse(record) as Kept).tag_ids)))];
  const tags = tagIds.length === 0 ? [] : await readTags(tx, tagIds);
  const nameOf = new Map(tags.map(({ id, name }) => [id, name]));
  const publications = missing.map((row) => publicationOf(removable, authorId, row, nameOf));
  await publishAll(tx, removable.kind, publications, { replaces: true });
};

interface MarkRow {
  record_id: Bytes;
  user_id: Bytes;
  mark: 'favorite' | keyof typeof reactionColumns;
}

/** Gives records that are there again some of the marks they had. Returns whether there may be more. */
const showMarks = async (tx: Transaction, kind: ContentKind, ids: readonly Bytes[]): Promise<boolean> => {
  const { table, foreignKey, favoriteTable, reactionTable } = kind;
  const { sql, parameters } = inList(ids);
  await tx.read(`SELECT id FROM ${table} WHERE id IN (${sql}) ORDER BY id ${tx.dialect.forUpdate}`, parameters);
  const marks = await tx.read<MarkRow>(
    `SELECT record_id, user_id, mark FROM hidden_marks WHERE record_id IN (${sql})
    ORDER BY record_id, user_id LIMIT ${MARKS_AT_ONCE}`,
    parameters,
  );
  for (const record of grouped(marks, (mark) => idFromBytes(mark.record_id)).values()) {
    const id = record[0]!.record_id;
    for (const mark of ['favorite', 'like', 'dislike'] as const) {
      const users = record.filter((row) => row.mark === mark).map(({ user_id: user }) => user);
      if (users.length === 0) continue;
      const among = inList(users);
      const [into, column, columns, values] =
        mark === 'favorite'
          ? ([favoriteTable, 'favorite_count', `user_id, ${foreignKey}`, 'u.id, ?'] as const)
          : ([reactionTable, reactionColumns[mark], `user_id, ${foreignKey}, type`, `u.id, ?, '${mark}'`] as const);
      // Some may have gone, and some may have done it anew.
      const set = await tx.execute(
        `${tx.dialect.insertIgnore} INTO ${into} (${columns})
        SELECT ${values} FROM users u WHERE u.id IN (${among.sql}) ORDER BY u.id`,
        [id, ...among.parameters],
      );
      if (set > 0) await incrementAll(tx, [{ table, column, additions: [[id, set] as const] }]);
      await tx.execute(`DELETE FROM hidden_marks WHERE record_id = ? AND mark = ? AND user_id IN (${among.sql})`, [
        id,
        mark,
        ...among.parameters,
      ]);
    }
  }
  return marks.length === MARKS_AT_ONCE;
};

/** Deletes what was kept of hidden records. Returns how many. */
const forget = async (tx: Transaction, authorId: Bytes, ids: readonly Bytes[]): Promise<number> => {
  const { sql, parameters } = inList(ids);
  return tx.execute(`DELETE FROM hidden_records WHERE author_id = ? AND record_id IN (${sql})`, [
    authorId,
    ...parameters,
  ]);
};

/** The ids of the hidden records of an author, of one kind or of all, part by part. */
async function* findHidden(db: Database, authorId: Bytes, kind?: ContentKind): AsyncGenerator<Bytes[]> {
  for (let after: Bytes = Buffer.alloc(0); ;) {
    const rows = await db.read<{ record_id: Bytes }>(
      `SELECT record_id FROM hidden_records WHERE author_id = ? AND record_id > ? ${kind ? 'AND kind = ?' : ''}
      ORDER BY record_id LIMIT ${SHOWN_AT_ONCE}`,
      [authorId, after, ...(kind ? [kind.table] : [])],
    );
    const last = rows.at(-1);
    if (!last) return;
    after = last.record_id;
    yield rows.map(({ record_id: id }) => id);
  }
}

/**
 * Shows the hidden records of a kind by an author again, with the favorites and reactions they had. To be run again if it
 * was interrupted. `before` is done in the transaction that makes them whole. @returns how many
 */
export const showRecords = async (
  db: Database,
  removable: RemovableKind,
  authorId: Bytes,
  before: (tx: Transaction, ids: readonly Bytes[]) => Promise<void>,
): Promise<number> => {
  let shown = 0;
  for await (const ids of findHidden(db, authorId, removable.kind)) {
    await db.transaction((tx) => publishAgain(tx, removable, authorId, ids));
    while (await db.transaction((tx) => showMarks(tx, removable.kind, ids)));
    shown += await db.transaction(async (tx) => {
      const left = await lockHidden(tx, authorId, ids);
      if (left.length === 0) return 0;
      await before(
        tx,
        left.map(({ record_id: id }) => id),
      );
      return forget(tx, authorId, ids);
    });
  }
  return shown;
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
      while (await db.transaction((tx) => dropMarks(tx, id)));
    }
    deleted += await db.transaction(async (tx) => {
      await before(tx, ids);
      return forget(tx, authorId, ids);
    });
  }
  return deleted;
};

const dropMarks = async (tx: Transaction, id: Bytes): Promise<boolean> => {
  const rows = await tx.read<{ user_id: Bytes; mark: string }>(
    `SELECT user_id, mark FROM hidden_marks WHERE record_id = ? ORDER BY user_id LIMIT ${MARKS_AT_ONCE}`,
    [id],
  );
  if (rows.length === 0) return false;
  const { sql, parameters } = inList(rows.map(({ user_id: user }) => user));
  await tx.execute(`DELETE FROM hidden_marks WHERE record_id = ? AND user_id IN (${sql})`, [id, ...parameters]);
  return rows.length === MARKS_AT_ONCE;
};

/** How many records of a kind by an author are hidden. */
export const countHidden = async (db: Database, authorId: string, { table }: ContentKind): Promise<number> => {
  const [row] = await db.read<{ n: number }>(
    'SELECT COUNT(*) AS n FROM hidden_records WHERE author_id = ? AND kind = ?',
    [storedIdToBytes(authorId), table],
  );
  return row?.n ?? 0;
};

interface HiddenColumns {
  author_id: Bytes;
  nickname: string;
  record: string;
  favorite_count: number;
  like_count: number;
  dislike_count: number;
}

/** A hidden record of a kind, with the columns it had; undefined if there is none. */
export const readHidden = async <Columns>(
  db: Database,
  { table }: ContentKind,
  id: Bytes,
): Promise<Columns | undefined> => {
  const counts = Object.entries({ favorite_count: 'favorite', like_count: 'like', dislike_count: 'dislike' }).map(
    ([column, mark]) =>
      `(SELECT COUNT(*) FROM hidden_marks m WHERE m.record_id = h.record_id AND m.mark = '${mark}') AS ${column}`,
  );
  const [row] = await db.read<HiddenColumns>(
    `SELECT h.author_id, u.nickname, h.record, ${counts.join(', ')}
    FROM hidden_records h JOIN users u ON u.id = h.author_id WHERE h.record_id = ? AND h.kind = ?`,
    [id, table],
  );
  if (!row) return undefined;
  const { record, ...rest } = row;
  return { id, ...(JSON.parse(record) as Kept), ...rest } as Columns;
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
  while (await db.transaction((tx) => dropMarks(tx, id)));
  return db.transaction(async (tx) => {
    const [row] = await find(tx, tx.dialect.forUpdate);
    if (!row) return false;
    await before(tx, { title: (JSON.parse(row.record) as Kept).title, authorId: idFromBytes(row.author_id) });
    return (await forget(tx, row.author_id, [id])) > 0;
  });
};
