import { currentDate, sleep } from '../../base/runtime.ts';
import { inParts } from '../../db/manager.ts';
import { IsNull } from 'typeorm';
import { type Actor, record } from '../../auth/audit/log.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { inList } from '../../db/sql/in-list.ts';
import { picked, selected, type StoredOf } from '../../db/sql/table.ts';
import { type Bytes, idFromBytes, listFromDb, NIL_ID, storedIdToBytes } from '../../db/values.ts';
import { indexAgain } from '../../search/indexing/check.ts';
import { contentColumns, recordsIn, tagLinksIn, tagsIn } from '../entity.ts';
import { readTags, type Tag } from '../tag/service.ts';
import { type ContentKind, ownColumns, tagIdsOf } from '../kind.ts';
import { recordSearchText } from './publish.ts';
import { recordEvents } from '../../event/outbox/record.ts';
import { lockingRead } from '../../db/sql/lock-rows.ts';

/** Small, since calls that change these records wait for the locks. */
const RECORDS_AT_ONCE = 100;
/** Much longer than a call takes between reading the names and storing its records. */
export const SETTLE_MS = 2000;

const searchedColumns = picked(contentColumns, 'id', 'title', 'searchText');

interface Searched extends StoredOf<typeof searchedColumns> {
  tagIds: number[];
  /** The correct search text. */
  text: string;
}

/** Reads records with their correct search texts. SQL: the ids of their tags may come from a subquery. */
export const readSearched = async (
  reader: Reader,
  kind: ContentKind,
  ids: readonly Bytes[],
  end = '',
): Promise<Searched[]> => {
  const { table, searchedTexts } = kind;
  const columns = { ...searchedColumns, ...picked(ownColumns(kind), ...kind.searched) };
  const among = inList(ids);
  const rows = await reader.read<Omit<Searched, 'tagIds'> & Record<string, string | null>>(
    `SELECT ${selected(columns, 'r')}, ${tagIdsOf(kind, 'r')} AS tags FROM ${table} r
    WHERE id IN (${among.sql}) ORDER BY id ${end}`,
    among.parameters,
  );
  const records = rows.map((row) => ({ row, tagIds: listFromDb(row['tags'] ?? '') }));
  const tagIds = [...new Set(records.flatMap((row) => row.tagIds))];
  const names = tagIds.length === 0 ? [] : await readTags(reader, tagIds);
  const tagOf = new Map(names.map((tag) => [tag.id, tag]));
  return records.map(({ row, tagIds: own }) => {
    const ownTags = own.map((id) => tagOf.get(id)).filter((tag) => tag !== undefined);
    return Object.assign(row, { tagIds: own, text: recordSearchText(row.title, ownTags, searchedTexts(row)) });
  });
};

const isWrong = ({ searchText: stored, text }: Searched): boolean => stored !== text;

/** Stores the correct search texts of records, and updates the search index. */
export const storeSearchTexts = async (
  tx: Transaction,
  kind: ContentKind,
  records: readonly Searched[],
): Promise<void> => {
  for (const { id, text } of records) {
    await recordsIn(tx, kind).update({ id: idFromBytes(id) }, { searchText: text });
  }
  const ids = records.map(({ id }) => id);
  await indexAgain(tx, kind.search, ids);
};

const repair = async (tx: Transaction, kind: ContentKind, ids: readonly Bytes[]): Promise<number> => {
  // Read again under the lock.
  const wrong = (await readSearched(tx, kind, ids, await lockingRead(tx, kind.table, ids))).filter(isWrong);
  if (wrong.length === 0) return 0;
  await storeSearchTexts(tx, kind, wrong);
  return wrong.length;
};

/** The ids of the records of a kind that have a tag, in order, in batches. */
export async function* findTagged(db: Database, kind: ContentKind, tagId: number): AsyncGenerator<Bytes[]> {
  const by = { key: 'recordId', first: NIL_ID, take: RECORDS_AT_ONCE } as const;
  const parts = inParts(tagLinksIn(db, kind), by, (later) => ({
    select: { recordId: true },
    where: { tagId, recordId: later() },
  }));
  for await (const links of parts) yield links.map(({ recordId }) => storedIdToBytes(recordId));
}

/** Updates the search texts of a kind's records with a tag to the current tag names. Returns how many it changed. */
const repairSearchTexts = async (db: Database, kind: ContentKind, tagId: number): Promise<number> => {
  let mended = 0;
  for await (const ids of findTagged(db, kind, tagId)) {
    const wrong = (await readSearched(db, kind, ids)).filter(isWrong).map(({ id }) => id);
    if (wrong.length > 0) mended += await db.transaction((tx) => repair(tx, kind, wrong));
  }
  return mended;
};

const spellAnew = (db: Database, slug: string, name: string, by: Actor | undefined): Promise<Tag | undefined> =>
  db.transaction(async (tx) => {
    const rows = await tagsIn(tx).find({ where: { slug, mergedInto: IsNull() }, ...tx.dialect.lockingRows });
    // MySQL and MariaDB treat texts that differ only in trailing spaces as equal.
    const tag = rows.find((row) => row.slug === slug);
    if (tag && tag.name !== name) {
      await tagsIn(tx).update({ id: tag.id }, { name });
      const act = { action: 'tags rename', subject: `tag ${slug}`, before: { name: tag.name }, after: { name } };
      await record(tx, by, act);
      await recordEvents(tx, [{ type: 'tag.updated', record: { slug } }], currentDate());
    }
    return tag;
  });

/**
 * Makes two passes over the records of all kinds, since calls in flight may still store data that they read before.
 * Waits for `settle` in between. @returns how many records `pass` changed
 */
export const passTwice = async (
  kinds: readonly ContentKind[],
  settle: () => Promise<unknown>,
  pass: (kind: ContentKind) => Promise<number>,
): Promise<number> => {
  let changed = 0;
  for (const kind of kinds) changed += await pass(kind);
  await settle();
  for (const kind of kinds) changed += await pass(kind);
  return changed;
};

/**
 * Changes the spelling of a tag's name, which must keep its slug, and updates the search texts of the records of all
 * `kinds`. Safe beside a running service, and idempotent. Records being published may get the old name, so it makes a
 * second pass over all records after `settle`.
 * @returns the tag as it was, and how many records search found by another text; undefined if there is no such tag
 */
export const renameTag = async (
  db: Database,
  kinds: readonly ContentKind[],
  { slug, name }: { slug: string; name: string },
  settle: () => Promise<unknown> = () => sleep(SETTLE_MS),
  by?: Actor,
): Promise<{ tag: Tag; mended: number } | undefined> => {
  const tag = await spellAnew(db, slug, name, by);
  if (!tag) return undefined;
  return { tag, mended: await passTwice(kinds, settle, (kind) => repairSearchTexts(db, kind, tag.id)) };
};
