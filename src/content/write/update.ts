import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../../base/errors.ts';
import { showing } from '../../auth/idempotency/call.ts';
import type { Call } from '../../auth/procedure.ts';
import { type ChargeQuota, type Quota, quotaChecker } from '../../auth/quotas.ts';
import type { Writes } from '../../auth/idempotency/writes.ts';
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../auth/verifier.ts';
import type { Transaction } from '../../db/connection.ts';
import { incrementAll } from '../../db/sql/increment.ts';
import { updateRow } from '../../db/sql/write-rows.ts';
import { isId, storedIdToBytes } from '../../db/values.ts';
import { recordEvents } from '../../event/outbox/record.ts';
import { enqueueDocuments, keyOf, labelsOf } from '../../search/document.ts';
import { type ContentRow, recordsIn, tagLinksIn } from '../entity.ts';
import { type ContentKind, typeIn } from '../kind.ts';
import { type ContentRecord, readRecord } from '../records.ts';
import type { TagDictionary } from '../tag/dictionary.ts';
import { byOwnSlug, makeMissingTags, seekTags, type Tag, tagSlugs, tagsOf } from '../tag/service.ts';
import { addToCounters, countersOf, moveBetweenCounters } from './counters.ts';
import { countTags, type Draft, insertTagLinks, joinTagIds, recordSearchText } from './publish.ts';
import { removalCounter } from './remove.ts';

/** The dependencies of changes of records. */
export interface WriteContext {
  kind: ContentKind;
  db: Database;
  /** The clock. */
  now: () => Date;
  tags: TagDictionary;
  writes: Writes;
  /** The daily quota of a caller's key; undefined if callers have no limits. */
  quotaOf: (caller: Caller) => Quota | undefined;
}

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
  { kind, writes, quotaOf, tags, now }: WriteContext,
  { id, tagNames, columnsOf, searchableOf = () => [] }: RecordChange<Row>,
  call: Call<Caller>,
  view: (record: ContentRecord<Detail>) => Output,
): Promise<Output> => {
  const { userId } = call.caller;
  const look = async (tx: Transaction): Promise<Output> => view(await readRecord(tx, tags, kind, id, userId));
  const change = async (tx: Transaction): Promise<Output> => {
    const row = await lockOwn<Row>(tx, kind, id, userId);
    const columns = Object.entries(columnsOf(row)).filter(
      ([name, value]) => value !== undefined && !isDeepStrictEqual(value, row[name as keyof Row]),
    );
    const changed = Object.assign({ ...row }, Object.fromEntries(columns)) as Row;
    const former = typeIn(kind, row) as string | null;
    const type = typeIn(kind, changed) as string | null;
    const chargeQuota = quotaChecker(tx, quotaOf(call.caller));
    const replaced = tagNames && (await replaceTags(tx, kind, { id, type, tagNames }, chargeQuota));
    if (columns.length === 0 && !replaced) return look(tx);
    if (type !== former) await changeType(tx, kind, id, { former, type }, chargeQuota);
    if (kind.countsTagChanges && (replaced || type !== former))
      await addToCounters(tx, new Map([[removalCounter(kind), 1]]));
    const at = now();
    const update: Partial<ContentRow> = { ...Object.fromEntries(columns), updatedAt: at };
    const isFoundOtherwise = columns.some(([name]) => ['title', ...kind.searched].includes(name));
    if (isFoundOtherwise || replaced || type !== former) {
      const current = replaced ?? (await tagsOf(tx, kind, id));
      update.searchText = recordSearchText(changed.title, current, searchableOf(changed));
      update.tagIds = joinTagIds(current);
      const key = keyOf(row.createdAt.getTime(), storedIdToBytes(id));
      const labels = labelsOf(
        type,
        current.map((tag) => tag.id),
      );
      await enqueueDocuments(tx, kind.search, [{ key, text: update.searchText, labels }], true);
    }
    await updateRow(tx, kind.entity, id, update);
    const event = {
      type: `${kind.router}.updated`,
      record: storedIdToBytes(id),
      actor: storedIdToBytes(userId),
    } as const;
    await recordEvents(tx, [event], at);
    return look(tx);
  };
  const idempotent = showing(call.idempotent, { table: kind.table, idsIn: () => [id], gone: kind.notFound });
  return writes.do({ deadline: call.deadline, idempotent }, change, { look });
};

/** Locks a record of the user. */
const lockOwn = async <Row extends ContentRow>(
  tx: Transaction,
  kind: ContentKind,
  id: string,
  userId: string,
): Promise<Row> => {
  const row = isId(id) && (await recordsIn(tx, kind).findOne({ where: { id }, ...tx.dialect.lockingRows }));
  if (!row) throw new AppError(kind.notFound);
  if (row.authorId !== userId) throw new AppError('NOT_OWNER');
  return row as Row;
};

/** Counts a record for another type, which the rows of its tags repeat. */
const changeType = async (
  tx: Transaction,
  kind: ContentKind,
  recordId: string,
  { former, type }: { former: string | null; type: string | null },
  chargeQuota: ChargeQuota | undefined,
): Promise<void> => {
  await tagLinksIn(tx, kind).update({ recordId }, { type } as object);
  const made = await moveBetweenCounters(tx, countersOf(kind, former), countersOf(kind, type));
  if (made > 0) await chargeQuota?.('game types', made);
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
  // Unchanged tags are locked too: see the lock order in publish.ts.
  const existing = byOwnSlug([...sought.found.values(), ...earlier]);
  await incrementAll(tx, countTags(kind, existing, counts));
  await makeMissingTags(tx, kind, sought, counts, chargeQuota);
  const bySlug = byOwnSlug(sought.found.values());
  const wanted = slugs.map((slug) => bySlug.get(slug) as Tag);
  if (earlier.length > 0) await tagLinksIn(tx, kind).delete({ recordId: id });
  await insertTagLinks(tx, kind, { row: { id: storedIdToBytes(id) }, tags: wanted, type });
  return wanted;
};
