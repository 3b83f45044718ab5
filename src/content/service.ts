import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../base/errors.ts';
import { record } from '../auth/audit/log.ts';
import { showing } from '../auth/idempotency/call.ts';
import { deleteOnce, type Writes } from '../auth/idempotency/writes.ts';
import { actorOf } from '../auth/own-keys.ts';
import type { Call } from '../auth/procedure.ts';
import { type ChargeQuota, quotaChecker, type Quota } from '../auth/quotas.ts';
import type { Caller } from '../auth/verifier.ts';
import type { Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { incrementAll } from '../db/sql/increment.ts';
import { updateRow } from '../db/sql/write-rows.ts';
import { idFromBytes, idToBytes, isId, listFromDb, storedIdToBytes } from '../db/values.ts';
import { recordEvents } from '../event/outbox/record.ts';
import { enqueueDocuments, keyOf, labelsOf } from '../search/document.ts';
import { tally } from '../base/tally.ts';
import type { Toggles } from './engagement/service.ts';
import { type ContentRow, hiddenRecordsIn, recordsIn, tagLinksIn } from './entity.ts';
import { type ContentKind, typeIn } from './kind.ts';
import type { ContentReads } from './read/reads.ts';
import { type ContentRecord, readRecord } from './records.ts';
import type { TagDictionary } from './tag/dictionary.ts';
import { byOwnSlug, makeMissingTags, seekTags, type Tag, tagSlugs, tagsOf } from './tag/service.ts';
import { addAndCountNew, addToCounters, countersOf, subtractFromCounters } from './write/counters.ts';
import { countTags, type Draft, insertTagLinks, joinTagIds, recordSearchText } from './write/publish.ts';
import type { Publisher } from './write/publisher.ts';
import {
  batchesOf,
  dropEngagement,
  forget,
  MARKS_AT_ONCE,
  removalCounter,
  removeBatch,
  type Removal,
} from './write/remove.ts';
import type { ViewCounts } from './write/view-counts.ts';

/** The dependencies of a router of content, whose rows have these members in lists and in full. */
export interface ContentContext<Summary extends object, Detail extends Summary> {
  kind: ContentKind;
  db: Database;
  /** The clock. */
  now: () => Date;
  tags: TagDictionary;
  /** Reads records outside of transactions. */
  reads: ContentReads<Summary, Detail>;
  writes: Writes;
  publisher: Publisher;
  toggles: Toggles;
  views: ViewCounts;
  /** The daily quota of a caller's key; undefined if callers have no limits. */
  quotaOf: (caller: Caller) => Quota | undefined;
}

/** Reads one record, and counts a view unless its caller viewed it recently. @throws AppError the kind's NOT_FOUND */
export const getRecord = async <Detail extends object>(
  { reads, views }: ContentContext<Partial<Detail>, Detail>,
  id: string,
  call: Call,
): Promise<ContentRecord<Detail>> => {
  const found = await reads.get(id, call);
  views.note(id, call);
  return found;
};

/** A change of a record by its author. */
export interface RecordChange<Row> {
  id: string;
  /** The names that replace those of its tags. */
  tagNames?: readonly string[] | undefined;
  /** The columns to set, by the row as it is; undefined for columns to leave. */
  columnsOf: (row: Row) => { [Member in keyof Row]?: Row[Member] | undefined };
  /** The texts by which search finds the changed row, as in `Draft`. */
  searchableOf?: (row: Row) => Draft['searchable'];
}

/**
 * Changes a record of the caller; `view` builds the output from it. A change to the same values makes no event.
 * @throws AppError the kind's NOT_FOUND, NOT_OWNER, QUOTA_EXCEEDED
 */
export const updateRecord = <Row extends ContentRow, Detail extends object, Output extends object>(
  { kind, writes, quotaOf, tags, now }: ContentContext<Partial<Detail>, Detail>,
  { id, tagNames, columnsOf, searchableOf = () => [] }: RecordChange<Row>,
  call: Call<Caller>,
  view: (record: ContentRecord<Detail>) => Output,
): Promise<Output> => {
  const { userId } = call.caller;
  const look = async (tx: Transaction): Promise<Output> => view(await readRecord(tx, tags, kind, id, userId));
  const change = async (tx: Transaction): Promise<Output> => {
    const row = (await lockOwn(tx, kind, id, userId)) as Row;
    const columns = Object.entries(columnsOf(row)).filter(
      ([name, value]) => value !== undefined && !isDeepStrictEqual(value, row[name as keyof Row]),
    );
    const changed = Object.assign({ ...row }, Object.fromEntries(columns)) as Row;
    const former = typeIn(kind, row) as string | null;
    const type = typeIn(kind, changed) as string | null;
    const chargeQuota = quotaChecker(tx, quotaOf(call.caller));
    const replaced = tagNames && (await replaceTags(tx, kind, { id, type, tagNames }, chargeQuota));
    if (columns.length === 0 && !replaced) return look(tx);
    if (type !== former) {
      await tagLinksIn(tx, kind).update({ recordId: id }, { type } as object);
      const subtract = (): Promise<void> => subtractFromCounters(tx, tally(countersOf(kind, former)));
      // By name: see the lock order in write/publish.ts.
      const isFormerFirst = (former ?? '') < (type ?? '');
      if (isFormerFirst) await subtract();
      const made = await addAndCountNew(tx, tally(countersOf(kind, type)));
      if (!isFormerFirst) await subtract();
      if (made > 0) await chargeQuota?.('game types', made);
    }
    const isCounted = kind.countsTagChanges && (replaced || type !== former);
    if (isCounted) await addToCounters(tx, new Map([[removalCounter(kind), 1]]));
    const at = now();
    const bytes = storedIdToBytes(id);
    const update: Partial<ContentRow> = { ...Object.fromEntries(columns), updatedAt: at };
    const isFoundOtherwise = columns.some(([name]) => ['title', ...kind.searched].includes(name));
    if (isFoundOtherwise || replaced || type !== former) {
      const current = replaced ?? (await tagsOf(tx, kind, id));
      update.searchText = recordSearchText(changed.title, current, searchableOf(changed));
      update.tagIds = joinTagIds(current);
      const key = keyOf(row.createdAt.getTime(), bytes);
      const labels = labelsOf(type, listFromDb(update.tagIds));
      await enqueueDocuments(tx, kind.search, [{ key, text: update.searchText, labels }], true);
    }
    await updateRow(tx, kind.entity, id, update);
    await recordEvents(tx, [{ type: `${kind.router}.updated`, record: bytes, actor: storedIdToBytes(userId) }], at);
    return look(tx);
  };
  const idempotent = showing(call.idempotent, { table: kind.table, idsIn: () => [id], gone: kind.notFound });
  return writes.do({ deadline: call.deadline, idempotent }, change, { look });
};

/** Locks a record of the user. */
const lockOwn = async (tx: Transaction, kind: ContentKind, id: string, userId: string): Promise<ContentRow> => {
  const row = isId(id) && (await recordsIn(tx, kind).findOne({ where: { id }, ...tx.dialect.lockingRows }));
  if (!row) throw new AppError(kind.notFound);
  if (row.authorId !== userId) throw new AppError('NOT_OWNER');
  return row;
};

/** Replaces the tags of a record, updates the tags' counts, and returns the tags; undefined if nothing changes. */
const replaceTags = async (
  tx: Transaction,
  kind: ContentKind,
  { id, type, tagNames }: { id: string; type: string | null; tagNames: readonly string[] },
  chargeQuota: ChargeQuota | undefined,
): Promise<Tag[] | undefined> => {
  const earlier = await tagsOf(tx, kind, id);
  const sought = await seekTags(tx, tagNames);
  const slugs = tagSlugs(sought, tagNames);
  const present = earlier.map(({ slug }) => slug);
  if (isDeepStrictEqual(slugs, present)) return undefined;
  const counts = new Map(slugs.map((slug) => [slug, 1]));
  for (const { slug } of earlier) counts.set(slug, (counts.get(slug) ?? 0) - 1);
  // Unchanged tags are locked too: see the lock order in write/publish.ts.
  const existing = byOwnSlug([...sought.found.values(), ...earlier]);
  await incrementAll(tx, countTags(kind, existing, counts));
  await makeMissingTags(tx, kind, sought, counts, chargeQuota);
  const bySlug = byOwnSlug(sought.found.values());
  const wanted = slugs.map((slug) => bySlug.get(slug) as Tag);
  if (earlier.length > 0) await tagLinksIn(tx, kind).delete({ recordId: id });
  await insertTagLinks(tx, kind, { row: { id: storedIdToBytes(id) }, tags: wanted, type });
  return wanted;
};

/** Thrown in a transaction that would remove very many favorites or reactions: they are removed in parts before it. */
class ManyMarks extends Error {}

/**
 * Deletes a record of the caller, hidden or not. A record with very many favorites or reactions loses them in
 * transactions of their own first: if one of these fails, a repetition of the call goes on.
 * @throws AppError the kind's NOT_FOUND, NOT_OWNER
 */
export const deleteRecord = (
  { db, kind, writes, now }: Pick<ContentContext<object, object>, 'db' | 'kind' | 'writes' | 'now'>,
  id: string,
  { caller, deadline, idempotent }: Call<Caller>,
): Promise<{ id: string }> => {
  const { userId: authorId } = caller;
  let hasFew = false;
  const removal: Removal = {
    actor: storedIdToBytes(authorId),
    shouldDelete: ({ authorId: owner, favoriteCount, likeCount, dislikeCount }) => {
      if (idFromBytes(owner) !== authorId) throw new AppError('NOT_OWNER');
      if (!hasFew && Math.max(favoriteCount, likeCount + dislikeCount) > MARKS_AT_ONCE) throw new ManyMarks();
      return true;
    },
  };
  const remove = async (tx: Transaction): Promise<{ id: string }> => {
    const key = idToBytes(id);
    if (!key) throw new AppError(kind.notFound);
    const removed = await removeBatch(tx, kind, [key], removal);
    const where = { recordId: id, kind: kind.table, authorId };
    const hidden = await hiddenRecordsIn(tx).findOne({ where, ...tx.dialect.lockingRows });
    if (removed === 0 && !hidden) throw new AppError(kind.notFound);
    // A record that an interrupted command has half shown is both there and hidden.
    if (hidden) {
      if ((await dropEngagement(tx, key)) && !hasFew) throw new ManyMarks();
      await forget(tx, [key]);
    }
    const action = `${kind.router}s delete`;
    await record(tx, actorOf(caller, now()), { action, subject: `${kind.table} ${id}`, before: { authorId } });
    return { id };
  };
  const once = async (): Promise<{ id: string }> => {
    try {
      return await writes.do({ deadline, idempotent }, remove);
    } catch (error) {
      if (!(error instanceof ManyMarks)) throw error;
      const key = storedIdToBytes(id);
      for await (const _ of batchesOf(db, kind, [key], {}, deadline));
      while (await db.transaction((tx) => dropEngagement(tx, key), deadline));
      hasFew = true;
      return once();
    }
  };
  return deleteOnce({ idempotent }, kind.notFound, once);
};
