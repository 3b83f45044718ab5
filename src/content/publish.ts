import type { Transaction } from '../db/connection.ts';
import { increment } from '../db/increment.ts';
import { insertRows } from '../db/insert.ts';
import { newId, storedIdToBytes } from '../db/values.ts';
import { searchText } from '../search/text.ts';
import { addToTagCounts, ensureTags, type Tag } from '../tag/service.ts';
import { addToCounters } from './counters.ts';
import type { ContentRow, TagLinkRow } from './entity.ts';
import type { ContentKind } from './kind.ts';

/** A record to publish. */
export interface Draft {
  /** A new id unless given. */
  id?: string;
  title: string;
  description: string | null;
  tagNames: readonly string[];
  /** Texts that search finds it by, besides title and tags. */
  searchable: readonly (string | null | undefined)[];
  /** What it holds in its kind's `typeColumn`. */
  type?: string | null;
  /** The counters it belongs to, besides that of its kind. */
  counters: readonly string[];
  /** The columns that only its kind has. */
  columns: Record<string, unknown>;
}

/** How often each key occurs. */
const tally = <K>(keys: Iterable<K>): Map<K, number> => {
  const counts = new Map<K, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
};

export const recordSearchText = (title: string, tags: readonly Tag[], searchable: Draft['searchable'] = []): string =>
  searchText([title, ...searchable, ...tags.map((tag) => tag.name)]);

/** `type` for kinds with a `typeColumn`. */
export const tagLinks = (recordId: string, tags: readonly Tag[], type: string | null = null): TagLinkRow[] =>
  tags.map((tag, position) => ({ recordId, tagId: tag.id, position, type }));

export const joinTagIds = (tags: readonly Tag[]): string => tags.map((tag) => tag.id).join(',');

/** A record on its way into the database. */
export interface Publication {
  id: string;
  authorId: string;
  createdAt: Date;
  draft: Draft;
  /** Counters that do not begin at 0. */
  counts?: Partial<Pick<ContentRow, 'viewCount' | 'likeCount' | 'dislikeCount' | 'favoriteCount'>>;
}

/**
 * Stores new records with their tags and everything that counts them. Tags, authors and counters are locked in this
 * order by everyone, so that nobody waits in a circle.
 */
export const publishAll = async (
  tx: Transaction,
  kind: ContentKind,
  publications: readonly Publication[],
): Promise<void> => {
  const tags = await ensureTags(
    tx,
    publications.map(({ draft }) => draft.tagNames),
  );
  await addToTagCounts(tx, kind, tally(tags.flat().map((tag) => tag.id)));
  await addToAuthorCounts(tx, kind, tally(publications.map(({ authorId }) => authorId)));
  await addToCounters(tx, tally(publications.flatMap(({ draft }) => [kind.table, ...draft.counters])));

  const rows = publications.map(({ id, authorId, createdAt, draft, counts }, index) => ({
    ...draft.columns,
    ...counts,
    id,
    authorId,
    title: draft.title,
    description: draft.description,
    searchText: recordSearchText(draft.title, tags[index] ?? [], draft.searchable),
    tagIds: joinTagIds(tags[index] ?? []),
    createdAt,
    updatedAt: createdAt,
  })) satisfies Partial<ContentRow>[];
  await insertRows(tx, kind.entity, rows);
  await insertRows(
    tx,
    kind.tagTable,
    rows.flatMap((row, index) => tagLinks(row.id, tags[index] ?? [], publications[index]?.draft.type)),
  );
};

const addToAuthorCounts = (
  tx: Transaction,
  { countColumn }: ContentKind,
  additions: ReadonlyMap<string, number>,
): Promise<void> =>
  increment(
    tx,
    'users',
    countColumn,
    [...additions].map(([id, n]) => [storedIdToBytes(id), n]),
  );

/** Stores new records of an author, dated `now`, and returns their ids in the order of the drafts. */
export const publish = async (
  tx: Transaction,
  kind: ContentKind,
  authorId: string,
  drafts: readonly Draft[],
  now: Date,
): Promise<string[]> => {
  const publications = drafts.map((draft) => ({ id: draft.id ?? newId(now), authorId, createdAt: now, draft }));
  await publishAll(tx, kind, publications);
  return publications.map(({ id }) => id);
};
