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

/** Tags that cannot be merged: the message says why. */
export class MergeError extends Error {}

/** Which tag is to take the place of another one; with a name, it is made for that. */
interface Merging {
  from: string;
  into: string;
  name?: string;
}

/** Makes the tag to which another one is renamed, unless that is done already. @throws MergeError */
const makeRenamed = async (
  tx: Transaction,
  kind: ContentKind,
  from: TagRow,
  holder: TagRow | undefined,
  { into: slug, name = '' }: Merging,
): Promise<TagRow> => {
  if (holder && from.mergedInto === holder.id && holder.name === name) return holder;
  // The slug leads here, as it does after a renaming from it: a tag is made for it anew.
  if (holder?.mergedInto === from.id) await vacate(tx, holder);
  else if (holder) {
    throw new MergeError(
      `Another tag has the slug "${slug}". To have it stand in for this one: tags merge ${from.slug} ${slug}`,
    );
  }
  await makeMissingTags(tx, kind, { spellings: new Map([[slug, name]]), found: new Map() });
  return tagsIn(tx).findOneByOrFail({ slug });
};

/** Locks both tags, in the order of their ids, and has the first stand for the second from the commit on. */
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
  // To MySQL and MariaDB, texts that differ in spaces at their end are equal.
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

/** Gives records one tag in place of another, in the order in which all who write lock: see `store` in publish.ts. */
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
    // In the place of its link.
    const own = tagIds.includes(into.id)
      ? tagIds.filter((tagId) => tagId !== from.id)
      : tagIds.map((tagId) => (tagId === from.id ? into.id : tagId));
    await recordsIn(tx, kind).update({ id: idFromBytes(id) }, { tagIds: listToDb(own) });
  }
  // Their search texts contain the names of their tags.
  const changed = records.map(({ id }) => id);
  await storeSearchTexts(tx, kind, await readSearched(tx, kind, changed));
  await recordEvents(
    tx,
    changed.map((id) => ({ type: `${kind.router}.updated` as const, record: id })),
    currentDate(),
  );
  // Totals that were remembered by the counts of tags are counted anew.
  await addToCounters(tx, new Map([[removalCounter(kind), records.length]]));
  return records.length;
};

/** Gives all records of a kind that have the first tag the second in its place. Returns how many it changed. */
export const moveRecords = async (db: Database, kind: ContentKind, tags: readonly [Tag, Tag]): Promise<number> => {
  let moved = 0;
  for await (const ids of findTagged(db, kind, tags[0].id)) {
    moved += await db.transaction((tx) => moveBatch(tx, kind, tags, ids));
  }
  return moved;
};

/**
 * Replaces a tag by another one: records of all `kinds` get the new tag, filters by the old slug find them, and new records
 * with the old name get the new tag. Safe beside a running service, and idempotent. Calls in flight may still store the old
 * tag, so it goes over all records twice: again after `settle`. With a name, the other tag is made, so that the first one is
 * renamed. @returns both tags, and how many records it changed @throws MergeError
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

/** How many records of these kinds have a tag. */
const countTagged = async (db: Database, kinds: readonly ContentKind[], { id: tagId }: Tag): Promise<number> => {
  let records = 0;
  for (const kind of kinds) records += await tagLinksIn(db, kind).countBy({ tagId });
  return records;
};

/** Records that have a tag though it was merged into another one. */
interface LeftBehind {
  tags: readonly [from: Tag, into: Tag];
  records: number;
}

/** The merged tags that records have all the same, which they get from versions that know of no merging, for example. */
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
