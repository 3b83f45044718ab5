import { In, IsNull, Not } from 'typeorm';
import { currentDate, sleep } from '../../base/runtime.ts';
import type { Actor } from '../../auth/audit/log.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { incrementAll } from '../../db/sql/increment.ts';
import { insertRows } from '../../db/sql/write-rows.ts';
import { type Bytes, idFromBytes, listToDb } from '../../db/values.ts';
import { recordsIn, tagLinksIn, type TagRow, tagsIn } from '../entity.ts';
import { makeMissingTags, type Tag } from '../tag/service.ts';
import { addToCounters } from './counters.ts';
import type { ContentKind } from '../kind.ts';
import { removalCounter } from './remove.ts';
import { findTagged, passTwice, readSearched, SETTLE_MS, storeSearchTexts } from './tag-names.ts';
import { redirect, vacate } from './tag-slugs.ts';
import { recordEvents } from '../../event/outbox/record.ts';
import { lockingRead } from '../../db/sql/lock-rows.ts';

/** Tags cannot be merged; the message gives the reason. */
export class MergeError extends Error {}

/** A tag and its replacement; with `name`, the replacement is created. */
interface Merging {
  from: string;
  into: string;
  name?: string;
}

/** Creates the new tag of a renaming, unless it exists already. @throws MergeError */
const makeRenamed = async (
  tx: Transaction,
  kind: ContentKind,
  from: TagRow,
  holder: TagRow | undefined,
  { into: slug, name = '' }: Merging,
): Promise<TagRow> => {
  if (holder && from.mergedInto === holder.id && holder.name === name) return holder;
  // The slug redirects here, as it does after the reverse renaming: a new tag is created for it.
  if (holder?.mergedInto === from.id) await vacate(tx, holder);
  else if (holder) {
    throw new MergeError(
      `Another tag has the slug "${slug}". To have it stand in for this one: tags merge ${from.slug} ${slug}`,
    );
  }
  await makeMissingTags(tx, kind, { spellings: new Map([[slug, name]]), found: new Map() });
  return tagsIn(tx).findOneByOrFail({ slug });
};

/** Locks both tags in the order of their ids, and redirects the first to the second from the commit on. */
const merge = async (
  tx: Transaction,
  [kind]: readonly ContentKind[],
  by: Actor,
  merging: Merging,
): Promise<[from: Tag, into: Tag]> => {
  const { from: fromSlug, into: intoSlug, name } = merging;
  const rows = await tagsIn(tx).find({
    where: { slug: In([fromSlug, intoSlug]) },
    order: { id: 'ASC' },
    ...tx.dialect.lockingRows,
  });
  // MySQL and MariaDB treat texts that differ only in trailing spaces as equal.
  const [from, holder] = [fromSlug, intoSlug].map((slug) => rows.find((row) => row.slug === slug));
  const into = from && name !== undefined ? await makeRenamed(tx, kind!, from, holder, merging) : holder;
  if (!from || !into) throw new MergeError(`There is no tag with the slug "${from ? intoSlug : fromSlug}".`);
  if (from.id === into.id) throw new MergeError('A tag cannot be merged into itself.');
  if (into.mergedInto !== null) throw new MergeError(`"${intoSlug}" was itself merged into another tag.`);
  if (from.mergedInto === into.id) return [from, into];
  if (from.mergedInto !== null) throw new MergeError(`"${fromSlug}" was merged into another tag already.`);
  await redirect(tx, [from, into], by, name === undefined ? 'tags merge' : 'tags rename');
  await recordEvents(tx, [{ type: 'tag.merged', record: { slug: from.slug } }], by.now);
  return [from, into];
};

/** Replaces a tag of records by another one, in the lock order of all writes: see `store` in publish.ts. */
const moveBatch = async (
  tx: Transaction,
  kind: ContentKind,
  [from, into]: readonly [Tag, Tag],
  ids: readonly Bytes[],
): Promise<number> => {
  const { table, tagTable, countColumn } = kind;
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
  const among = (some: typeof records) => ({ tagId: from.id, recordId: In(some.map(({ id }) => idFromBytes(id))) });
  const links = await tagLinksIn(tx, kind).findBy(among(isNew));
  await insertRows(
    tx,
    tagTable,
    links.map((link) => ({ ...link, tagId: into.id })),
  );
  await tagLinksIn(tx, kind).delete(among(records));
  for (const { id, tagIds } of records) {
    // At the position of the old tag.
    const own = tagIds.includes(into.id)
      ? tagIds.filter((tagId) => tagId !== from.id)
      : tagIds.map((tagId) => (tagId === from.id ? into.id : tagId));
    await recordsIn(tx, kind).update({ id: idFromBytes(id) }, { tagIds: listToDb(own) });
  }
  // The search texts contain the names of tags.
  const changed = records.map(({ id }) => id);
  await storeSearchTexts(tx, kind, await readSearched(tx, kind, changed));
  await recordEvents(
    tx,
    changed.map((id) => ({ type: `${kind.router}.updated` as const, record: id })),
    currentDate(),
  );
  // Invalidates totals that were cached by the counts of tags.
  await addToCounters(tx, new Map([[removalCounter(kind), records.length]]));
  return records.length;
};

/** Replaces the first tag by the second on all records of a kind. Returns the number of changed records. */
export const moveRecords = async (db: Database, kind: ContentKind, tags: readonly [Tag, Tag]): Promise<number> => {
  let moved = 0;
  for await (const ids of findTagged(db, kind, tags[0].id)) {
    moved += await db.transaction((tx) => moveBatch(tx, kind, tags, ids));
  }
  return moved;
};

/**
 * Replaces a tag by another one: records of all `kinds` get the new tag, filters by the old slug find them, and new
 * records with the old name get the new tag. Safe beside a running service, and idempotent. Calls in flight may still
 * store the old tag, so it makes a second pass over all records after `settle`. With a name, the other tag is created,
 * which renames the first one. @returns both tags, and the number of changed records @throws MergeError
 */
export const mergeTags = async (
  db: Database,
  kinds: readonly ContentKind[],
  merging: Merging,
  by: Actor,
  settle: () => Promise<unknown> = () => sleep(SETTLE_MS),
): Promise<{ from: Tag; into: Tag; moved: number }> => {
  const tags = await db.transaction((tx) => merge(tx, kinds, by, merging));
  const moved = await passTwice(kinds, settle, (kind) => moveRecords(db, kind, tags));
  return { from: tags[0], into: tags[1], moved };
};

/** The number of records of these kinds that have a tag. */
const countTagged = async (db: Database, kinds: readonly ContentKind[], { id: tagId }: Tag): Promise<number> => {
  let records = 0;
  for (const kind of kinds) records += await tagLinksIn(db, kind).countBy({ tagId });
  return records;
};

/** Records that have a tag although it was merged into another one. */
interface LeftBehind {
  tags: readonly [from: Tag, into: Tag];
  records: number;
}

/** The merged tags that records still have, for example from versions that do not support merging. */
export const findLeftBehind = async (db: Database, kinds: readonly ContentKind[]): Promise<LeftBehind[]> => {
  const merged = await tagsIn(db).find({ where: { mergedInto: Not(IsNull()) }, order: { id: 'ASC' } });
  const found: LeftBehind[] = [];
  for (const tag of merged) {
    const records = await countTagged(db, kinds, tag);
    const into = records > 0 && (await tagsIn(db).findOneBy({ id: tag.mergedInto as number }));
    if (into) found.push({ tags: [tag, into], records });
  }
  return found;
};

/** Replaces the merged tags of records by the tags they were merged into. Returns the tags found. */
export const moveLeftBehind = async (db: Database, kinds: readonly ContentKind[]): Promise<LeftBehind[]> => {
  const found = await findLeftBehind(db, kinds);
  for (const { tags } of found) for (const kind of kinds) await moveRecords(db, kind, tags);
  return found;
};

/** The number of records that `mergeTags` would change: those with the first or both of two tags. @throws MergeError */
export const countToMerge = async (
  db: Database,
  kinds: readonly ContentKind[],
  { from, into, name }: Merging,
): Promise<number> => {
  const rows = await tagsIn(db).findBy({ slug: In([from, into]) });
  const [tag] = [from, ...(name === undefined ? [into] : [])].map((slug) => {
    const row = rows.find((one) => one.slug === slug);
    if (!row) throw new MergeError(`There is no tag with the slug "${slug}".`);
    return row;
  });
  return tag ? countTagged(db, kinds, tag) : 0;
};
