import { MAX_PAGE_DEPTH } from '../../../../contract/limits.ts';
import type { Parameter, Reader } from '../../../db/connection.ts';
import type { Dialect } from '../../../db/dialect.ts';
import type { Fragment } from '../../../db/sql/read-rows.ts';
import { type Bytes, idFromBytes, idToBytes, storedIdToBytes, timeFromDb, timeToDb } from '../../../db/values.ts';
import { AppError } from '../../../base/errors.ts';
import type { SearchIndex } from '../../../search/search-index.ts';
import { searchTerms } from '../../../search/text.ts';
import type { TagDictionary } from '../../tag/dictionary.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import type { ContentKind } from '../../kind.ts';
import { type ListFilter, matches, orders, type SortBy, sortedMatches, type PlanSource, whereOf } from './plan.ts';
import { readRows, readRowsById, type StoredRecord } from '../../records.ts';
import { type FoundRecord, type SearchedList, searchList } from './search-list.ts';
import type { Statistics } from './statistics.ts';
import { asTotal, type Total, type Totals } from './totals.ts';

/** The search texts of so few records are read at once. */
const FEW_OF_AUTHOR = 1000;
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');

/** A type of the records of one kind, and the counter of these records. */
export interface TypeFilter {
  value: string;
  counter: string;
}

/** The filter, sort and page of a list. */
export interface ListQuery {
  limit: number;
  /** May only be missing if a cursor is given. */
  page?: number | undefined;
  cursor?: string | undefined;
  search?: string | undefined;
  type?: TypeFilter | undefined;
  tagSlugs?: readonly string[] | undefined;
  authorId?: string | undefined;
  timeRange?: string;
  /** Returns the beginning of the time range when the list is read. */
  since?: (() => Date) | undefined;
  sortBy: SortBy;
}

/** A validated query. */
export interface ParsedQuery extends ListQuery {
  page: number;
  terms: readonly string[];
  slugs: readonly string[];
  /** The filters to which its cursors are bound. */
  filters: unknown[];
  /** The last record of the previous page, if given by a cursor. */
  position: Position | undefined;
}

/** The sort values of a record. */
interface Position {
  /** The counter of the sort, if it has one. */
  count: number | undefined;
  /** In milliseconds. */
  createdAt: number;
  id: Bytes;
}

export interface ListPage<Record> extends Total {
  records: Record[];
  hasMore: boolean;
  nextCursor: string | null;
}

/** The sources of lists. */
export interface ListSources {
  reader: Reader;
  tags: TagDictionary;
  statistics: Statistics;
  totals: Totals;
  search: SearchIndex;
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
/** Milliseconds since 1970, up to the last instant that all engines can store. */
const isTime = (value: unknown): boolean => isCount(value) && (value as number) <= LAST_INSTANT;
const isId = (value: unknown): boolean => typeof value === 'string' && idToBytes(value) !== undefined;

/** @throws AppError PAGE_TOO_DEEP, CURSOR_INVALID */
export const parseQuery = (kind: ContentKind, query: ListQuery): ParsedQuery => {
  const { limit, page = 1, cursor, sortBy, timeRange } = query;
  if (cursor === undefined && page * limit > MAX_PAGE_DEPTH) throw new AppError('PAGE_TOO_DEEP');
  const terms = searchTerms(query.search);
  const slugs = [...new Set(query.tagSlugs)].toSorted();
  const filters: unknown[] = [kind.table, sortBy, timeRange, query.type?.value, terms.toSorted(), slugs];
  // Cursors of earlier versions stay valid.
  if (query.authorId !== undefined) filters.push(query.authorId);
  const accepts = [...(orders[sortBy].counter ? [Number.isSafeInteger] : []), isTime, isId];
  const values = cursor === undefined ? undefined : decodeCursor(cursor, filters, accepts);
  const [id = '', createdAt, count] = values?.toReversed() ?? [];
  const position = values && {
    count: count === undefined ? undefined : Number(count),
    createdAt: Number(createdAt),
    id: storedIdToBytes(String(id)),
  };
  return { ...query, page, terms, slugs, filters, position };
};

/** A SELECT of the ids on a page, with their sort values. In SQL: each list runs it, by the indexes of its plan. */
interface PageOfIds extends Fragment {
  orderBy: string;
}

const pageOfIds = (dialect: Dialect, source: PlanSource, query: ParsedQuery): PageOfIds => {
  const { limit, page, sortBy, position } = query;
  const { counter, direction } = orders[sortBy];
  // A tag's rows only contain the id, which includes the instant.
  const columns = [...(counter ? [counter] : []), ...(source.id === 'r.id' || counter ? ['created_at'] : []), 'id'];
  const places = columns.map((column) => (column === 'id' ? source.id : `r.${column}`));
  const values: Parameter[] = position
    ? [
        ...(position.count === undefined ? [] : [position.count]),
        ...(columns.includes('created_at') ? [timeToDb(new Date(position.createdAt))] : []),
        position.id,
      ]
    : [];
  const where = [...source.where, ...(position ? [dialect.seek(places, direction)] : [])];
  return {
    sql: `SELECT ${places.map((place, index) => `${place} AS ${columns[index] ?? ''}`).join(', ')}
      FROM ${source.from} ${whereOf(where)}
      ORDER BY ${places.map((place) => `${place} ${direction}`).join(', ')} LIMIT ? OFFSET ?`,
    parameters: [
      ...source.parameters,
      ...(position ? dialect.seekParameters(values) : []),
      limit + 1,
      position ? 0 : (page - 1) * limit,
    ],
    orderBy: `ORDER BY ${columns.map((column) => `p.${column} ${direction}`).join(', ')}`,
  };
};

const sourceOf = async (
  { reader, statistics }: ListSources,
  kind: ContentKind,
  query: ParsedQuery,
  filter: ListFilter,
  matching: number | undefined,
): Promise<PlanSource> => {
  const { type, limit, page, position, timeRange, sortBy } = query;
  const { since, author, tags } = filter;
  if (!orders[sortBy].counter) return matches(reader.dialect, kind, filter);
  const isFiltered = type !== undefined || since !== undefined || author || tags.length > 0;
  const [records, ofType, ofRange] = isFiltered
    ? await Promise.all([
        statistics.counter(kind.table),
        type === undefined ? 0 : statistics.counter(type.counter),
        since === undefined ? 0 : statistics.since(kind, timeRange ?? '', since),
      ])
    : [1, 1, 1];
  const rows = limit + 1 + (position ? 0 : (page - 1) * limit);
  return sortedMatches(reader.dialect, kind, filter, sortBy, rows, { records, ofType, since: ofRange, matching });
};

type ListRow<Own> = Own & StoredRecord;

/** Reads one page of a list, in one round trip once the tags are cached. */
export const listRows = async <Own>(
  sources: ListSources,
  kind: ContentKind,
  query: ParsedQuery,
  viewerId: string | undefined,
): Promise<ListPage<ListRow<Own>>> => {
  const page = await listOnce<Own>(sources, kind, query, viewerId);
  const isPossiblyStale = page.records.length === 0 && query.slugs.length > 0;
  if (!isPossiblyStale || !(await sources.tags.hasChanged(kind, query.slugs))) return page;
  return listOnce(sources, kind, query, viewerId);
};

/** Reads one page of a list by the cached tags. */
const listOnce = async <Own>(
  sources: ListSources,
  kind: ContentKind,
  query: ParsedQuery,
  viewerId: string | undefined,
): Promise<ListPage<ListRow<Own>>> => {
  const { reader, totals } = sources;
  const { limit, filters, sortBy, terms, slugs } = query;
  const tags = slugs.length === 0 ? [] : await sources.tags.withSlugs(kind, slugs);
  const author = tags && (await sources.statistics.authorFilter(kind, query, tags));
  if (!tags || (query.authorId !== undefined && !author)) {
    return { records: [], total: 0, totalRelation: 'eq', hasMore: false, nextCursor: null };
  }

  const filter: ListFilter = { type: query.type?.value, since: query.since?.(), author, tags, terms };
  const isScanned = terms.length === 0 || (author && author.n <= FEW_OF_AUTHOR);
  const sought = isScanned ? undefined : await searchList(reader, sources.search, kind, searchedList(query, filter));
  if (sought?.found) {
    const total = asTotal(filter, sought.total);
    return { ...(await readFound<Own>(reader, kind, query, sought.found, viewerId)), ...total };
  }

  const ids = pageOfIds(reader.dialect, await sourceOf(sources, kind, query, filter, sought?.total), query);
  const total = sought
    ? { sql: '?', parameters: [sought.total] }
    : totals.expression(filter, query.type?.counter ?? kind.table);
  const found = await readRows<Own & { total: number | null }>(
    reader,
    kind,
    { detail: false, viewerId },
    {
      ids: [ids],
      order: ids.orderBy,
      columns: [{ ...total, sql: `${total.sql} AS total` }],
      stamps: totals.stamps(filter),
    },
  );
  const [first] = found;
  const n = first ? (first.total ?? 0) : await totalOfEmpty(reader, query, total);
  if (first) totals.remember(filter, n, first as unknown as Record<string, unknown>);

  const hasMore = found.length > limit;
  if (hasMore) found.pop();
  const last = found.at(-1);
  return {
    records: found,
    ...asTotal(filter, n),
    hasMore,
    nextCursor: hasMore && last ? cursorAfter(filters, sortBy, last) : null,
  };
};

const searchedList = ({ limit, page, sortBy, position }: ParsedQuery, filter: ListFilter): SearchedList => ({
  ...filter,
  ...orders[sortBy],
  after: position,
  offset: position ? 0 : (page - 1) * limit,
  limit,
});

/** Reads the page that the index found. Its cursor points to the last found record, even if all were deleted since. */
const readFound = async <Own>(
  reader: Reader,
  kind: ContentKind,
  { limit, filters }: ParsedQuery,
  found: readonly FoundRecord[],
  viewerId: string | undefined,
): Promise<Omit<ListPage<ListRow<Own>>, keyof Total>> => {
  const wanted = found.slice(0, limit);
  const rows = await readRowsById<Own>(
    reader,
    kind,
    { detail: false, viewerId },
    wanted.map(({ id }) => id),
  );
  const byId = new Map(rows.map((row) => [idFromBytes(row.id), row]));
  const last = found.length > limit ? wanted.at(-1) : undefined;
  return {
    records: wanted.map(({ id }) => byId.get(idFromBytes(id))).filter((row) => row !== undefined),
    hasMore: last !== undefined,
    nextCursor: last ? encodeCursor(filters, last.position) : null,
  };
};

/** Reads the total beyond the last page, where no row contains it. */
const totalOfEmpty = async (
  reader: Reader,
  { page, position }: ParsedQuery,
  { sql, parameters }: Fragment,
): Promise<number> => {
  if (page === 1 && !position) return 0;
  const [row] = await reader.read<{ n: number | null }>(`SELECT ${sql} AS n`, parameters);
  return row?.n ?? 0;
};

const cursorAfter = (filters: unknown, sortBy: SortBy, last: StoredRecord): string => {
  const { member } = orders[sortBy];
  return encodeCursor(filters, [
    ...(member ? [last[member]] : []),
    Date.parse(timeFromDb(last.createdAt)),
    idFromBytes(last.id),
  ]);
};
