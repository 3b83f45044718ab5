import { performance } from '../../../base/runtime.ts';
import { MAX_PAGE_DEPTH } from '../../../../contract/limits.ts';
import type { Parameter, Reader } from '../../../db/connection.ts';
import { inList } from '../../../db/sql/in-list.ts';
import { type Bytes, idFromBytes, timeFromDb } from '../../../db/values.ts';
import { idOfKey, keyOf, labelsOf, timeOfKey } from '../../../search/document.ts';
import type { Direction, Search, SearchIndex } from '../../../search/search-index.ts';
import type { ContentKind } from '../../kind.ts';
import type { CursorValue } from './cursor.ts';
import { type ListFilter, matches, whereOf } from './plan.ts';

/** The maximum number of matches whose counters are read to sort them. */
const MOST_SORTED = 20_000;
/** The number of an author's records that are scanned in the time of looking up one match by its id. */
const SCANS_PER_LOOKUP = 4;
/** For a longer list, MariaDB creates a table. */
const SORTED_AT_ONCE = 512;

/** The query of a list with search terms. */
export interface SearchedList extends ListFilter {
  /** The column to sort by before time and id, if any. */
  counter: string | null;
  direction: Direction;
  /** The sort columns of the last record of the previous page. */
  after: { count: number | undefined; createdAt: number; id: Bytes } | undefined;
  offset: number;
  limit: number;
}

/** A record of a page, which may have been deleted since the search. */
export interface FoundRecord {
  id: Bytes;
  /** The values of its sort columns, for a cursor. */
  position: CursorValue[];
}

/** The result of the index for a list. */
export interface FoundList {
  /** The page in order, plus one record if more exist; undefined if walking the records is cheaper. */
  found: FoundRecord[] | undefined;
  /** The number of matches; a value above `MAX_PAGE_DEPTH` represents any greater number. */
  total: number;
}

/** The maximum charge to the meter for a search, in milliseconds. */
const MOST_BILLED_MS = 250;

const foundRecord = (key: Uint8Array, count?: number): FoundRecord => {
  const id = idOfKey(key);
  return { id, position: [...(count === undefined ? [] : [count]), timeOfKey(key), idFromBytes(id)] };
};

/** Finds the page of a list by the search index. Returns undefined if the index cannot answer. */
export const searchList = async (
  reader: Reader,
  index: SearchIndex,
  kind: ContentKind,
  list: SearchedList,
): Promise<FoundList | undefined> => {
  const began = performance.now();
  try {
    return await findList(reader, index, kind, list);
  } finally {
    reader.deadline?.chargeSince(began, MOST_BILLED_MS);
  }
};

const findList = async (
  reader: Reader,
  index: SearchIndex,
  kind: ContentKind,
  list: SearchedList,
): Promise<FoundList | undefined> => {
  const { terms, type, tags, since, author, counter, direction, after, offset, limit } = list;
  const labels = labelsOf(
    type,
    tags.map(({ id }) => id),
  );
  const search = await index.search(kind.search, { terms, labels, since: since?.getTime() }, reader.deadline);
  if (!search) return undefined;
  const end = offset + limit + 1;
  if (counter !== null || author) {
    const { total } = await search.find({ direction, limit: 0 }, MOST_SORTED);
    // The index has no authors.
    if (author && Math.min(author.n / SCANS_PER_LOOKUP, MOST_SORTED) < total) return scanMatches(reader, kind, list);
    const isSorted = author || isSortedFaster(search, total, end);
    const found = isSorted ? await sortMatches(reader, kind, search, list) : { found: undefined, total };
    return search.isSound ? found : undefined;
  }
  const from = after && keyOf(after.createdAt, after.id);
  const { keys, total } = await search.find({ direction, after: from, limit: end }, MAX_PAGE_DEPTH);
  return search.isSound ? { found: keys.slice(offset).map((key) => foundRecord(key)), total } : undefined;
};

/** Whether reading all matches is cheaper than walking the records in sort order until `end` match. */
const isSortedFaster = ({ size }: Search, total: number, end: number): boolean =>
  total <= MOST_SORTED && total <= (end * size) / Math.max(total, 1);

interface SortedColumns {
  id: Bytes;
  count: number;
}

interface Match {
  key: Uint8Array;
  count: number;
}

/** Sorts the matches by their counter, if any, and keeps those of the author, if any. */
const sortMatches = async (
  reader: Reader,
  { table }: ContentKind,
  search: Search,
  list: SearchedList,
): Promise<FoundList> => {
  const { author, counter, direction } = list;
  const { keys } = await search.find({ direction, limit: MOST_SORTED }, MOST_SORTED);
  const found: Match[] = [];
  for (let start = 0; start < keys.length; start += SORTED_AT_ONCE) {
    const some = new Map(keys.slice(start, start + SORTED_AT_ONCE).map((key) => [hexOf(idOfKey(key)), key]));
    const { sql, parameters } = inList([...some.values()].map((key): Parameter => idOfKey(key)));
    // SQL: a search sorted by a counter, or for an author, reads columns of all its matches. A condition on the author
    // would make SQLite read all records of the author.
    const rows = await reader.read<SortedColumns & { author: Bytes }>(
      `SELECT id, ${counter ?? '0'} AS count, author_id AS author FROM ${table} WHERE id IN (${sql})`,
      parameters,
    );
    for (const row of rows) {
      const key = some.get(hexOf(row.id));
      if (key && (!author || Buffer.compare(row.author, author.id) === 0)) found.push({ key, count: row.count });
    }
  }
  return pageOf(found, list);
};

/** Finds the matches among the records of the author; only counts them if they are too many to sort. */
const scanMatches = async (reader: Reader, kind: ContentKind, list: SearchedList): Promise<FoundList> => {
  const { from, where, parameters } = matches(reader.dialect, kind, list);
  // SQL: forces the index of the plan.
  const rows = await reader.read<SortedColumns & { createdAt: string }>(
    `SELECT r.id AS id, r.created_at AS createdAt, ${list.counter ? `r.${list.counter}` : '0'} AS count
    FROM ${from} ${whereOf(where)} LIMIT ${MAX_PAGE_DEPTH + 1}`,
    parameters,
  );
  if (rows.length > MAX_PAGE_DEPTH) return { found: undefined, total: rows.length };
  const found = rows.map(({ id, createdAt, count }) => ({ key: keyOf(Date.parse(timeFromDb(createdAt)), id), count }));
  return pageOf(found, list);
};

const pageOf = (all: readonly Match[], { counter, direction, after, offset, limit }: SearchedList): FoundList => {
  const from = after && { key: keyOf(after.createdAt, after.id), count: after.count ?? 0 };
  const sign = direction === 'ASC' ? 1 : -1;
  const compare = (a: Match, b: Match): number => sign * (a.count - b.count || Buffer.compare(a.key, b.key));
  const found = all
    .filter((match) => from === undefined || compare(match, from) > 0)
    .toSorted(compare)
    .slice(offset, offset + limit + 1)
    .map(({ key, count }) => foundRecord(key, counter === null ? undefined : count));
  return { found, total: all.length };
};

const hexOf = (id: Bytes): string => Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('latin1');
