import { currentDate } from '../../base/runtime.ts';
import { pipelined } from '../../db/sql/pipelined.ts';
import type { Parameter, Transaction } from '../../db/connection.ts';
import { type Increment, incrementAll } from '../../db/sql/increment.ts';
import { insertInto, insertValues } from '../../db/sql/insert.ts';
import { memoize } from '../../db/sql/memoize.ts';
import { lockReferred } from '../../db/sql/referred.ts';
import { type Bytes, listToDb, storedIdToBytes, timeToDb } from '../../db/values.ts';
import type { CountMade } from '../../auth/quotas.ts';
import { type Document, keyOf, labelsOf } from '../../search/document.ts';
import { enqueueDocuments, type EnqueueDocuments } from '../../search/write-buffer.ts';
import { type Change, recordEvents } from '../../event/outbox/record.ts';
import { searchText } from '../../search/text.ts';
import { byOwnSlug, findTags, makeMissingTags, resolvedSlugs, slugsOf, spellingsOf, type Tag } from '../tag/service.ts';
import { addAndCountNew, addToCounters } from './counters.ts';
import type { ContentRow } from '../entity.ts';
import type { ContentKind } from '../kind.ts';
import { tally } from '../../base/tally.ts';

/** A record to publish. */
export interface Draft<Columns extends object = object> {
  /** A new id unless given. */
  id?: string;
  title: string;
  tagNames: readonly string[];
  /** Texts that search finds it by, besides title and tags. */
  searchable: readonly (string | null | undefined)[];
  /** The counters it belongs to, besides that of its kind. */
  counters: readonly string[];
  /** The value of its kind's `typeColumn`. */
  type?: string | null;
  /** The columns that only its kind has, as they are stored. */
  columns: Columns;
}

const idOf = ({ id }: Tag): number => id;
const nameOf = ({ name }: Tag): string => name;

export const recordSearchText = (title: string, tags: readonly Tag[], searchable: Draft['searchable'] = []): string =>
  searchText([title, ...searchable, ...tags.map(nameOf)]);

export const joinTagIds = (tags: readonly Tag[]): string => listToDb(tags.map(idOf));

/** A record on its way into the database. */
export interface Publication<Columns extends object = object> {
  id: string;
  authorId: string;
  createdAt: Date;
  /** When it was last changed, if it was. */
  updatedAt?: Date;
  draft: Draft<Columns>;
  /** Counters that do not begin at 0. */
  counts?: Partial<Pick<ContentRow, 'viewCount' | 'likeCount' | 'dislikeCount' | 'favoriteCount'>>;
}

/**
 * The row of a record; the names of its members are those of the columns. Built without spreading, for which V8 takes
 * twenty times as long.
 */
const rowOf = <Columns extends object>(
  { id, authorId, createdAt, updatedAt, draft, counts = {} }: Publication<Columns>,
  tags: readonly Tag[],
) => {
  const time = timeToDb(createdAt);
  const shared = {
    id: storedIdToBytes(id),
    author_id: storedIdToBytes(authorId),
    title: draft.title,
    view_count: counts.viewCount ?? 0,
    like_count: counts.likeCount ?? 0,
    dislike_count: counts.dislikeCount ?? 0,
    favorite_count: counts.favoriteCount ?? 0,
    search_text: recordSearchText(draft.title, tags, draft.searchable),
    tag_ids: joinTagIds(tags),
    created_at: time,
    updated_at: updatedAt === undefined ? time : timeToDb(updatedAt),
  };
  return Object.assign(shared, draft.columns);
};

const recordColumns = memoize((kind: ContentKind) => [
  'id',
  'author_id',
  'title',
  'view_count',
  'like_count',
  'dislike_count',
  'favorite_count',
  'search_text',
  'tag_ids',
  'created_at',
  'updated_at',
  ...kind.summaryColumns,
  ...kind.detailColumns,
]);

const recordInsertion = memoize((kind: ContentKind) => insertInto(kind.table, recordColumns(kind)));

/** How records are published. */
export interface Publishing {
  /** Whether they replace records that were removed. */
  replaces?: boolean;
  /** Enqueues their documents for the index, if not by `enqueueDocuments`. */
  note?: EnqueueDocuments;
  /** Whether the authors publish them by a call; else the operator does. */
  isByAuthors?: boolean;
  /** The time of the events that tell of them. */
  at?: Date;
  /** Stores further rows, after the records. */
  also?: () => Promise<unknown>;
}

/** A record as it is stored. */
export interface Stored<Columns extends object = object> {
  id: Bytes;
  row: ReturnType<typeof rowOf<Columns>>;
  tags: Tag[];
  type: string | null;
  createdAt: Date;
}

// These go through thousands of records. In loops: functions that are made for each call are compiled again after each
// clearing of memory.

const storedOf = <Columns extends object>(
  publications: readonly Publication<Columns>[],
  slugs: readonly (readonly string[])[],
  bySlug: ReadonlyMap<string, Tag>,
): Stored<Columns>[] => {
  const stored: Stored<Columns>[] = [];
  for (const publication of publications) {
    const tags: Tag[] = [];
    for (const slug of slugs[stored.length] ?? []) tags.push(bySlug.get(slug) as Tag);
    const row = rowOf(publication, tags);
    const { draft, createdAt } = publication;
    stored.push({ id: row.id, row, tags, type: draft.type ?? null, createdAt });
  }
  return stored;
};

const valuesOf = (columns: readonly string[], records: readonly Stored[]): Parameter[][] => {
  const rows: Parameter[][] = [];
  for (const { row } of records) {
    const values: Parameter[] = [];
    for (const column of columns) values.push((row as unknown as Record<string, Parameter>)[column] as Parameter);
    rows.push(values);
  }
  return rows;
};

const documentOf = ({ id, row, tags, type, createdAt }: Stored): Document => ({
  key: keyOf(createdAt.getTime(), id),
  text: row.search_text,
  labels: labelsOf(type, tags.map(idOf)),
});

/** The increment that makes existing tags count more records of a kind; none without such tags. */
export const countTags = (
  { countColumn }: ContentKind,
  tags: ReadonlyMap<string, Tag>,
  counts: ReadonlyMap<string, number>,
): Increment[] => {
  const additions = [...byOwnSlug(tags.values())].map(([slug, { id }]) => [id, counts.get(slug) ?? 0] as const);
  return additions.length === 0 ? [] : [{ table: 'tags', column: countColumn, additions }];
};

const linkInsertion = memoize(({ tagTable, foreignKey, typeColumn }: ContentKind) =>
  insertInto(tagTable, [foreignKey, 'tag_id', 'position', ...(typeColumn === undefined ? [] : [typeColumn])]),
);

/** Stores which tags records have, in the author's order. `type` is what a record holds in its kind's `typeColumn`. */
export const insertTagLinks = async (
  tx: Transaction,
  kind: ContentKind,
  records: readonly TaggedRecord[],
): Promise<void> => {
  await lockTags(tx, records);
  await insertValues(tx, linkInsertion(kind), linksOf(kind, records));
};

const lockTags = (tx: Transaction, records: readonly TaggedRecord[]): Promise<void> =>
  lockReferred(tx, 'tags', () => records.flatMap(({ tags }) => tags.map(idOf)));

interface TaggedRecord {
  id: Bytes;
  tags: readonly Tag[];
  type?: string | null;
}

const linksOf = ({ typeColumn }: ContentKind, records: readonly TaggedRecord[]): Parameter[][] => {
  const links: Parameter[][] = [];
  for (const { id, tags, type = null } of records) {
    for (const [position, tag] of tags.entries()) {
      links.push(typeColumn === undefined ? [id, tag.id, position] : [id, tag.id, position, type]);
    }
  }
  return links;
};

const createdEvents = ({ router }: ContentKind, records: readonly Stored[], isByAuthors: boolean): Change[] => {
  const changes: Change[] = [];
  for (const { id, row } of records) {
    changes.push({ type: `${router}.created`, record: id, actor: isByAuthors ? row.author_id : undefined });
  }
  return changes;
};

/** Counts new records; `countMade` counts their new types. */
const countRecords = async (
  tx: Transaction,
  additions: ReadonlyMap<string, number>,
  countMade: CountMade | undefined,
): Promise<void> => {
  if (!countMade) {
    await addToCounters(tx, additions);
    return;
  }
  const made = await addAndCountNew(tx, additions);
  if (made > 0) await countMade('game types', made);
};

/**
 * Stores new records with their tags and everything that counts them, and returns their rows.
 *
 * All writing transactions lock in one order, which prevents deadlocks: records, users, tags (existing ones by id, then the
 * count of new ones, then new ones by slug), `counters` by name, then the count of new counters. A row with a counter is locked
 * before rows that refer to it are inserted: an insert takes a shared lock on it, and two transactions with a shared lock
 * cannot both upgrade it.
 */
export const store = async <Columns extends object>(
  tx: Transaction,
  kind: ContentKind,
  publications: readonly Publication<Columns>[],
  spellings: ReadonlyMap<string, string>,
  tags: Map<string, Tag>,
  {
    countMade,
    replaces = false,
    note = enqueueDocuments,
    isByAuthors = false,
    at = currentDate(),
    also = () => Promise.resolve(),
  }: Publishing & { countMade?: CountMade | undefined } = {},
): Promise<Stored<Columns>[]> => {
  const slugs = publications.map(({ draft }) => resolvedSlugs(tags, slugsOf(draft.tagNames)));
  const tagCounts = tally(slugs.flat());
  const authorCounts = tally(publications.map(({ authorId }) => authorId));
  const ofAuthors = {
    table: 'users',
    column: kind.countColumn,
    additions: [...authorCounts].map(([id, n]) => [storedIdToBytes(id), n] as const),
  };
  const ofTags = countTags(kind, tags, tagCounts);
  // Release 1.0.0 locks tags before users. Beside it, a transaction that never takes that order loses again and again.
  for (const increments of tx.keepsLosing ? [ofTags, [ofAuthors]] : [[ofAuthors, ...ofTags]]) {
    if (increments.length > 0) await incrementAll(tx, increments);
  }
  await makeMissingTags(tx, kind, spellings, tagCounts, tags, countMade);

  const records = storedOf(publications, slugs, byOwnSlug(tags.values()));
  await lockReferred(tx, 'users', () => records.map(({ row }) => row.author_id));
  await lockTags(tx, records);
  const insertRecords = (): Promise<unknown> =>
    insertValues(tx, recordInsertion(kind), valuesOf(recordColumns(kind), records));
  const insertLinks = (): Promise<unknown> => insertValues(tx, linkInsertion(kind), linksOf(kind, records));
  const noteRecords = (): Promise<unknown> => note(tx, kind.search, records.map(documentOf), replaces);
  const recordAll = (): Promise<void> => recordEvents(tx, createdEvents(kind, records, isByAuthors), at);
  // Only its types are counters that a call can make.
  const countTypes = kind.typeColumn === undefined ? undefined : countMade;
  const count = (): Promise<unknown> =>
    countRecords(tx, tally(publications.flatMap(({ draft }) => [kind.table, ...draft.counters])), countTypes);
  const writes = [insertRecords, insertLinks, also, noteRecords, recordAll, count];
  // For one record nothing is gained by pipelining, and separate statements are measured separately.
  if (publications.length === 1) for (const write of writes) await write();
  else await pipelined(writes.map((write) => write()));
  return records;
};

export const spellingsIn = (drafts: readonly Draft[]): ReadonlyMap<string, string> =>
  spellingsOf(drafts.flatMap(({ tagNames }) => tagNames));

/** Stores new records of any authors with their tags and everything that counts them. */
export const publishAll = async (
  tx: Transaction,
  kind: ContentKind,
  publications: readonly Publication[],
  publishing: Publishing = {},
): Promise<void> => {
  const spellings = spellingsIn(publications.map(({ draft }) => draft));
  await store(tx, kind, publications, spellings, await findTags(tx, [...spellings.keys()]), publishing);
};

/** The tags of records that are not to be counted; those that do not exist are made. */
export const tagsForHidden = async (
  tx: Transaction,
  kind: ContentKind,
  publications: readonly Publication[],
): Promise<Tag[][]> => {
  const spellings = spellingsIn(publications.map(({ draft }) => draft));
  const tags = await findTags(tx, [...spellings.keys()]);
  await makeMissingTags(tx, kind, spellings, new Map(), tags);
  const bySlug = byOwnSlug(tags.values());
  return publications.map(({ draft }) =>
    resolvedSlugs(tags, slugsOf(draft.tagNames)).map((slug) => bySlug.get(slug) as Tag),
  );
};
