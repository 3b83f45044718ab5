import { currentDate } from '../../base/runtime.ts';
import { insertInto, insertValues, pipelined } from '../../db/sql/write-rows.ts';
import type { Parameter, Transaction } from '../../db/connection.ts';
import { type Increment, incrementAll } from '../../db/sql/increment.ts';
import { memoize } from '../../base/cache.ts';
import { lockReferred } from '../../db/sql/lock-rows.ts';
import { columnNames, type StoredOf } from '../../db/sql/table.ts';
import { type Bytes, listToDb, storedIdToBytes, timeToDb } from '../../db/values.ts';
import type { ChargeQuota } from '../../auth/quotas.ts';
import { type Document, type EnqueueDocuments, enqueueDocuments, keyOf, labelsOf } from '../../search/document.ts';
import { type Change, recordEvents } from '../../event/outbox/record.ts';
import { searchText } from '../../search/text.ts';
import { byOwnSlug, makeMissingTags, seekTags, type SoughtTags, type Tag, tagSlugs } from '../tag/service.ts';
import { addAndCountNew, addToCounters, countersOf } from './counters.ts';
import { contentColumns, type ContentRow } from '../entity.ts';
import { type ContentKind, ownColumns } from '../kind.ts';
import { tally } from '../../base/tally.ts';

/** A record to publish. */
export interface Draft<Own extends object = object> {
  /** A new id by default. */
  id?: string;
  title: string;
  tagNames: readonly string[];
  /** Texts by which search finds it, in addition to title and tags. */
  searchable: readonly (string | null | undefined)[];
  /** The value of its kind's `typeColumn`. */
  type?: string | null;
  /** The stored members that only its kind has. */
  own: Own;
}

const idOf = ({ id }: Tag): number => id;
const nameOf = ({ name }: Tag): string => name;

export const recordSearchText = (title: string, tags: readonly Tag[], searchable: Draft['searchable'] = []): string =>
  searchText([title, ...searchable, ...tags.map(nameOf)]);

export const joinTagIds = (tags: readonly Tag[]): string => listToDb(tags.map(idOf));

/** A record to be stored. */
export interface Publication<Own extends object = object> {
  id: string;
  authorId: string;
  createdAt: Date;
  /** The time of its last change, if it was changed. */
  updatedAt?: Date;
  draft: Draft<Own>;
  /** The values of counters that do not start at 0. */
  counts?: Partial<Pick<ContentRow, 'viewCount' | 'likeCount' | 'dislikeCount' | 'favoriteCount'>>;
}

/** The row of a record as it is stored. Does not spread objects, which takes V8 twenty times as long. */
const rowOf = <Own extends object>(
  { id, authorId, createdAt, updatedAt, draft, counts = {} }: Publication<Own>,
  tags: readonly Tag[],
) => {
  const time = timeToDb(createdAt);
  const shared: StoredOf<typeof contentColumns> = {
    id: storedIdToBytes(id),
    authorId: storedIdToBytes(authorId),
    title: draft.title,
    viewCount: counts.viewCount ?? 0,
    likeCount: counts.likeCount ?? 0,
    dislikeCount: counts.dislikeCount ?? 0,
    favoriteCount: counts.favoriteCount ?? 0,
    searchText: recordSearchText(draft.title, tags, draft.searchable),
    tagIds: joinTagIds(tags),
    createdAt: time,
    updatedAt: updatedAt === undefined ? time : timeToDb(updatedAt),
  };
  return Object.assign(shared, draft.own);
};

const recordInsertion = memoize((kind: ContentKind) => {
  const columns = { ...contentColumns, ...ownColumns(kind) };
  return { members: Object.keys(columns), insert: insertInto(kind.table, columnNames(columns)) };
});

/** Options of publishing. */
export interface Publishing {
  /** Whether the records replace removed ones. */
  replaces?: boolean;
  /** Enqueues the search documents (default: `enqueueDocuments`). */
  enqueue?: EnqueueDocuments;
  /** Whether the authors publish the records by a call; otherwise the operator does. */
  isByAuthors?: boolean;
  /** The time of the events of their creation. */
  at?: Date;
  /** Stores rows that refer to the records, after the records. */
  storeDependents?: () => Promise<unknown>;
}

/** A record as it is stored. */
export interface Stored<Own extends object = object> {
  row: ReturnType<typeof rowOf<Own>>;
  tags: Tag[];
  type: string | null;
  createdAt: Date;
}

// These handle thousands of records. They use loops: functions created for each call are compiled again after each
// garbage collection.

const storedOf = <Own extends object>(
  publications: readonly Publication<Own>[],
  slugs: readonly (readonly string[])[],
  bySlug: ReadonlyMap<string, Tag>,
): Stored<Own>[] => {
  const stored: Stored<Own>[] = [];
  for (const publication of publications) {
    const tags: Tag[] = [];
    for (const slug of slugs[stored.length] ?? []) tags.push(bySlug.get(slug) as Tag);
    const { draft, createdAt } = publication;
    stored.push({ row: rowOf(publication, tags), tags, type: draft.type ?? null, createdAt });
  }
  return stored;
};

const valuesOf = (members: readonly string[], records: readonly Stored[]): Parameter[][] => {
  const rows: Parameter[][] = [];
  for (const { row } of records) {
    const values: Parameter[] = [];
    for (const member of members) values.push((row as unknown as Record<string, Parameter>)[member] as Parameter);
    rows.push(values);
  }
  return rows;
};

const documentOf = ({ row, tags, type, createdAt }: Stored): Document => ({
  key: keyOf(createdAt.getTime(), row.id),
  text: row.searchText,
  labels: labelsOf(type, tags.map(idOf)),
});

/** The increment that counts more records of a kind for existing tags; empty if none exist. */
export const countTags = (
  { countColumn }: ContentKind,
  bySlug: ReadonlyMap<string, Tag>,
  counts: ReadonlyMap<string, number>,
): Increment[] => {
  const additions = [...bySlug].map(([slug, { id }]) => [id, counts.get(slug) ?? 0] as const);
  return additions.length === 0 ? [] : [{ table: 'tags', column: countColumn, additions }];
};

const linkInsertion = memoize(({ tagTable, foreignKey, typeColumn }: ContentKind) =>
  insertInto(tagTable, [foreignKey, 'tag_id', 'position', ...(typeColumn === undefined ? [] : [typeColumn])]),
);

/** Stores the tags of a record, in the author's order. */
export const insertTagLinks = async (tx: Transaction, kind: ContentKind, record: TaggedRecord): Promise<void> => {
  await lockTags(tx, [record]);
  await insertValues(tx, linkInsertion(kind), linksOf(kind, [record]));
};

const lockTags = (tx: Transaction, records: readonly TaggedRecord[]): Promise<void> =>
  lockReferred(tx, 'tags', () => records.flatMap(({ tags }) => tags.map(idOf)));

interface TaggedRecord {
  row: { id: Bytes };
  tags: readonly Tag[];
  /** The value of its kind's `typeColumn`. */
  type?: string | null;
}

const linksOf = ({ typeColumn }: ContentKind, records: readonly TaggedRecord[]): Parameter[][] => {
  const links: Parameter[][] = [];
  for (const { row, tags, type = null } of records) {
    for (const [position, tag] of tags.entries()) {
      links.push(typeColumn === undefined ? [row.id, tag.id, position] : [row.id, tag.id, position, type]);
    }
  }
  return links;
};

const createdEvents = ({ router }: ContentKind, records: readonly Stored[], isByAuthors: boolean): Change[] => {
  const changes: Change[] = [];
  for (const { row } of records) {
    changes.push({ type: `${router}.created`, record: row.id, actor: isByAuthors ? row.authorId : undefined });
  }
  return changes;
};

/** Counts new records; `chargeQuota` counts their new types. */
const countRecords = async (
  tx: Transaction,
  additions: ReadonlyMap<string, number>,
  chargeQuota: ChargeQuota | undefined,
): Promise<void> => {
  if (!chargeQuota) {
    await addToCounters(tx, additions);
    return;
  }
  const made = await addAndCountNew(tx, additions);
  if (made > 0) await chargeQuota('game types', made);
};

/**
 * Stores new records with their tags and counters, and returns their rows.
 *
 * All writing transactions lock in the same order, which prevents deadlocks: records, users, tags (existing ones by id,
 * then the count of new ones, then new ones by slug), `counters` by name, then the count of new counters. A row with a
 * counter is locked before rows that refer to it are inserted: an insert takes a shared lock on it, and two
 * transactions with a shared lock cannot both upgrade it.
 */
export const store = async <Own extends object>(
  tx: Transaction,
  kind: ContentKind,
  publications: readonly Publication<Own>[],
  sought: SoughtTags,
  {
    chargeQuota,
    replaces = false,
    enqueue = enqueueDocuments,
    isByAuthors = false,
    at = currentDate(),
    storeDependents = () => Promise.resolve(),
  }: Publishing & { chargeQuota?: ChargeQuota | undefined } = {},
): Promise<Stored<Own>[]> => {
  const slugs = publications.map(({ draft }) => tagSlugs(sought, draft.tagNames));
  const tagCounts = tally(slugs.flat());
  const authorCounts = tally(publications.map(({ authorId }) => authorId));
  const ofAuthors = {
    table: 'users',
    column: kind.countColumn,
    additions: [...authorCounts].map(([id, n]) => [storedIdToBytes(id), n] as const),
  };
  const ofTags = countTags(kind, byOwnSlug(sought.found.values()), tagCounts);
  // Release 1.0.0 locks tags before users. A transaction beside it that never uses that order would lose repeatedly.
  for (const increments of tx.keepsLosing ? [ofTags, [ofAuthors]] : [[ofAuthors, ...ofTags]]) {
    if (increments.length > 0) await incrementAll(tx, increments);
  }
  await makeMissingTags(tx, kind, sought, tagCounts, chargeQuota);

  const records = storedOf(publications, slugs, byOwnSlug(sought.found.values()));
  await lockReferred(tx, 'users', () => records.map(({ row }) => row.authorId));
  await lockTags(tx, records);
  const { members, insert } = recordInsertion(kind);
  const counted = tally(publications.flatMap(({ draft }) => [kind.table, ...countersOf(kind, draft.type ?? null)]));
  // A call can only create counters for types.
  const countTypes = kind.typeColumn === undefined ? undefined : chargeQuota;
  const writes: (() => Promise<unknown>)[] = [
    () => insertValues(tx, insert, valuesOf(members, records)),
    () => insertValues(tx, linkInsertion(kind), linksOf(kind, records)),
    storeDependents,
    () => enqueue(tx, kind.search, records.map(documentOf), replaces),
    () => recordEvents(tx, createdEvents(kind, records, isByAuthors), at),
    () => countRecords(tx, counted, countTypes),
  ];
  // A single record gains nothing from pipelining, and separate statements are measured separately.
  if (publications.length === 1) for (const write of writes) await write();
  else await pipelined(writes.map((write) => write()));
  return records;
};

export const namesIn = (publications: readonly Pick<Publication, 'draft'>[]): string[] =>
  publications.flatMap(({ draft }) => draft.tagNames);

/** Stores new records of any authors with their tags and counters. */
export const publishAll = async (
  tx: Transaction,
  kind: ContentKind,
  publications: readonly Publication[],
  publishing: Publishing = {},
): Promise<void> => {
  await store(tx, kind, publications, await seekTags(tx, namesIn(publications)), publishing);
};

/** The tags of records that are not counted; missing tags are created. */
export const tagsForHidden = async (
  tx: Transaction,
  kind: ContentKind,
  publications: readonly Publication[],
): Promise<Tag[][]> => {
  const sought = await seekTags(tx, namesIn(publications));
  await makeMissingTags(tx, kind, sought);
  const bySlug = byOwnSlug(sought.found.values());
  return publications.map(({ draft }) => tagSlugs(sought, draft.tagNames).map((slug) => bySlug.get(slug) as Tag));
};
