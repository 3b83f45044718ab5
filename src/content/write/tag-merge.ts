import { setTimeout as sleep } from 'node:timers/promises';
import { type Actor, record } from '../../auth/audit/log.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { incrementAll } from '../../db/sql/increment.ts';
import { inList } from '../../db/sql/in-list.ts';
import { type Bytes, listToDb } from '../../db/values.ts';
import { keyOf, labelsOf, millisecondsOf } from '../../search/document.ts';
import { enqueueDocuments } from '../../search/write-buffer.ts';
import type { Tag } from '../tag/service.ts';
import { addToCounters } from './counters.ts';
import type { ContentKind } from '../kind.ts';
import { removalCounter } from './remove.ts';
import { readSearched, SETTLE_MS } from './tag-names.ts';
import { recordEvents } from '../../event/outbox/record.ts';
import { lockingRead } from '../../db/sql/lock-rows.ts';

/** Few at once, since calls that change these records, or publish others with the tags, wait for the locks. */
const RECORDS_AT_ONCE = 100;

interface MergedTagRow extends Tag {
  merged_into: number | null;
}

/** Tags that cannot be merged: the message says why. */
export class MergeError extends Error {}

/** Locks both tags, in the order of their ids, and has the first stand for the second from the commit on. */
const merge = async (
  tx: Transaction,
  by: Actor,
  fromSlug: string,
  intoSlug: string,
): Promise<[from: Tag, into: Tag]> => {
  const rows = await tx.read<MergedTagRow>(
    `SELECT id, name, slug, merged_into FROM tags WHERE slug IN (?, ?) ORDER BY id ${tx.dialect.forUpdate}`,
    [fromSlug, intoSlug],
  );
  // To MySQL and MariaDB, texts that differ in spaces at their end are equal.
  const [from, into] = [fromSlug, intoSlug].map((slug) => rows.find((row) => row.slug === slug));
  if (!from || !into) throw new MergeError(`There is no tag with the slug "${from ? intoSlug : fromSlug}".`);
  if (from.id === into.id) throw new MergeError('A tag cannot be merged into itself.');
  if (into.merged_into !== null) throw new MergeError(`"${intoSlug}" was itself merged into another tag.`);
  if (from.merged_into === into.id) return [from, into];
  if (from.merged_into !== null) throw new MergeError(`"${fromSlug}" was merged into another tag already.`);
  // Tags that were merged into it before are redirected as well.
  await tx.execute('UPDATE tags SET merged_into = ? WHERE id = ? OR merged_into = ?', [into.id, from.id, from.id]);
  await record(tx, by, {
    action: 'tags merge',
    subject: `tag ${fromSlug}`,
    before: { name: from.name, slug: from.slug },
    after: { mergedInto: { name: into.name, slug: into.slug } },
  });
  await recordEvents(tx, [{ type: 'tag.merged', record: { slug: from.slug } }], by.now);
  return [from, into];
};

/** Gives records one tag in place of another, in the order in which all who write lock: see `store` in publish.ts. */
const moveBatch = async (
  tx: Transaction,
  kind: ContentKind,
  [from, into]: readonly [Tag, Tag],
  ids: readonly Bytes[],
): Promise<number> => {
  const { table, tagTable, foreignKey, countColumn, typeColumn } = kind;
  const locked = await readSearched(tx, kind, ids, await lockingRead(tx, table, ids));
  const records = locked.filter(({ tagIds }) => tagIds.includes(from.id));
  if (records.length === 0) return 0;
  const isNew = records.filter(({ tagIds }) => !tagIds.includes(into.id));
  await incrementAll(tx, [
    {
      table: 'tags',
      column: countColumn,
      additions: [
        [from.id, -records.length],
        [into.id, isNew.length],
      ],
    },
  ]);
  const all = inList(records.map(({ id }) => id));
  if (isNew.length > 0) {
    const among = inList(isNew.map(({ id }) => id));
    const columns = [foreignKey, 'tag_id', 'position', ...(typeColumn === undefined ? [] : [typeColumn])];
    await tx.execute(
      `INSERT INTO ${tagTable} (${columns.join(', ')})
      SELECT ${columns.map((column) => (column === 'tag_id' ? '?' : column)).join(', ')} FROM ${tagTable}
      WHERE tag_id = ? AND ${foreignKey} IN (${among.sql})`,
      [into.id, from.id, ...among.parameters],
    );
  }
  await tx.execute(`DELETE FROM ${tagTable} WHERE tag_id = ? AND ${foreignKey} IN (${all.sql})`, [
    from.id,
    ...all.parameters,
  ]);
  for (const { id, tagIds } of records) {
    // In the place of its link.
    const own = tagIds.includes(into.id)
      ? tagIds.filter((tagId) => tagId !== from.id)
      : tagIds.map((tagId) => (tagId === from.id ? into.id : tagId));
    await tx.execute(`UPDATE ${table} SET tag_ids = ? WHERE id = ?`, [listToDb(own), id]);
  }
  // Their search texts contain the names of their tags.
  const texts = await readSearched(
    tx,
    kind,
    records.map(({ id }) => id),
  );
  for (const { id, text } of texts) await tx.execute(`UPDATE ${table} SET search_text = ? WHERE id = ?`, [text, id]);
  const documents = texts.map(({ id, created_at: createdAt, text, type, tagIds }) => ({
    key: keyOf(millisecondsOf(createdAt), id),
    text,
    labels: labelsOf(type, tagIds),
  }));
  await enqueueDocuments(tx, kind.search, documents, true);
  await recordEvents(
    tx,
    records.map(({ id }) => ({ type: `${kind.router}.updated` as const, record: id })),
    new Date(),
  );
  // Totals that were remembered by the counts of tags are counted anew.
  await addToCounters(tx, new Map([[removalCounter(kind), records.length]]));
  return records.length;
};

/** Gives all records of a kind that have the first tag the second in its place. Returns how many it changed. */
export const moveRecords = async (db: Database, kind: ContentKind, tags: readonly [Tag, Tag]): Promise<number> => {
  const { tagTable, foreignKey } = kind;
  let moved = 0;
  let after: Bytes = Buffer.alloc(0);
  for (;;) {
    const rows = await db.read<{ id: Bytes }>(
      `SELECT ${foreignKey} AS id FROM ${tagTable} WHERE tag_id = ? AND ${foreignKey} > ?
      ORDER BY ${foreignKey} LIMIT ${RECORDS_AT_ONCE}`,
      [tags[0].id, after],
    );
    const last = rows.at(-1);
    if (!last) return moved;
    after = last.id;
    const ids = rows.map(({ id }) => id);
    moved += await db.transaction((tx) => moveBatch(tx, kind, tags, ids));
  }
};

/**
 * Replaces a tag by another one: records of all `kinds` get the new tag, filters by the old slug find them, and new records
 * with the old name get the new tag. Safe beside a running service, and idempotent. Calls in flight may still store the old
 * tag, so it goes over all records twice: again after `settle`.
 * @returns both tags, and how many records it changed @throws MergeError
 */
export const mergeTags = async (
  db: Database,
  kinds: readonly ContentKind[],
  { from, into }: { from: string; into: string },
  by: Actor,
  settle: () => Promise<unknown> = () => sleep(SETTLE_MS),
): Promise<{ from: Tag; into: Tag; moved: number }> => {
  const tags = await db.transaction((tx) => merge(tx, by, from, into));
  let moved = 0;
  const all = async (): Promise<void> => {
    for (const kind of kinds) moved += await moveRecords(db, kind, tags);
  };
  await all();
  await settle();
  await all();
  return { from: tags[0], into: tags[1], moved };
};

/** Records that have a tag though it was merged into another one. */
interface LeftBehind {
  tags: readonly [from: Tag, into: Tag];
  records: number;
}

/** The merged tags that records have all the same, which they get from versions that know of no merging, for example. */
export const findLeftBehind = async (db: Database, kinds: readonly ContentKind[]): Promise<LeftBehind[]> => {
  const merged = await db.read<Tag & { into_id: number; into_name: string; into_slug: string }>(
    `SELECT t.id, t.name, t.slug, m.id AS into_id, m.name AS into_name, m.slug AS into_slug
    FROM tags t JOIN tags m ON m.id = t.merged_into ORDER BY t.id`,
  );
  const found: LeftBehind[] = [];
  for (const { id, name, slug, into_id: intoId, into_name: intoName, into_slug: intoSlug } of merged) {
    const into = { id: intoId, name: intoName, slug: intoSlug };
    // Shards hold the links apart from the tags.
    let records = 0;
    for (const { tagTable } of kinds) {
      const [row] = await db.read<{ n: number }>(`SELECT COUNT(*) AS n FROM ${tagTable} WHERE tag_id = ?`, [id]);
      records += row?.n ?? 0;
    }
    if (records > 0) found.push({ tags: [{ id, name, slug }, into], records });
  }
  return found;
};

/** Gives the records of merged tags the tags that took their places. Returns what it found. */
export const moveLeftBehind = async (db: Database, kinds: readonly ContentKind[]): Promise<LeftBehind[]> => {
  const found = await findLeftBehind(db, kinds);
  for (const { tags } of found) for (const kind of kinds) await moveRecords(db, kind, tags);
  return found;
};

/** How many records have both or the first of two tags: what `mergeTags` would change. @throws MergeError */
export const countToMerge = async (
  db: Database,
  kinds: readonly ContentKind[],
  { from, into }: { from: string; into: string },
): Promise<number> => {
  const columns = kinds.map(({ countColumn }) => countColumn);
  const rows = await db.read<{ slug: string } & Record<string, number | string>>(
    `SELECT slug, ${columns.join(', ')} FROM tags WHERE slug IN (?, ?)`,
    [from, into],
  );
  for (const slug of [from, into]) {
    if (!rows.some((row) => row.slug === slug)) throw new MergeError(`There is no tag with the slug "${slug}".`);
  }
  const row = rows.find(({ slug }) => slug === from);
  return columns.reduce((sum, column) => sum + Number(row?.[column] ?? 0), 0);
};
