import { MAX_PAGE_DEPTH } from '../../contract/index.ts';
import type { Parameter } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { inList } from '../db/in-list.ts';
import { idFromBytes, idToBytes, storedIdToBytes, timeFromDb, timeToDb } from '../db/values.ts';
import { AppError } from '../errors.ts';
import { searchTerms } from '../search/text.ts';
import type { TagDictionary } from '../tag/service.ts';
import { readCounter } from './counters.ts';
import { type CursorValue, decodeCursor, encodeCursor } from './cursor.ts';
import type { ContentKind } from './kind.ts';
import { type ContentRecord, readRecords } from './records.ts';

const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');

/** A filter that only one kind knows: one of its columns equals a value, and a counter may know how many do. */
export interface ColumnFilter {
  column: string;
  value: string;
  counter: string;
}

/** What a list is asked for; `since` is the beginning of its time range. */
export interface ListQuery {
  limit: number;
  page: number;
  cursor?: string | undefined;
  search?: string | undefined;
  where?: ColumnFilter | undefined;
  tagSlugs?: readonly string[] | undefined;
  timeRange?: string;
  since?: Date | undefined;
  sortBy: keyof typeof orders;
}

export interface ListPage<Columns> {
  records: ContentRecord<Columns>[];
  total: number;
  totalRelation: 'eq' | 'gte';
  hasMore: boolean;
  nextCursor: string | null;
}

const orders = {
  latest: { counter: null, direction: 'DESC' },
  oldest: { counter: null, direction: 'ASC' },
  views: { counter: 'view_count', direction: 'DESC' },
  likes: { counter: 'like_count', direction: 'DESC' },
  favorites: { counter: 'favorite_count', direction: 'DESC' },
} as const;

/** A condition with its parameters. */
interface Condition {
  sql: string;
  parameters: Parameter[];
}

interface FoundTag {
  id: number;
  slug: string;
  /** Records with the tag. */
  n: number;
  /** All records of the kind. */
  total: number;
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
/** Milliseconds since 1970, up to the last instant that all engines can store. */
const isTime = (value: unknown): boolean => isCount(value) && (value as number) <= LAST_INSTANT;
const isId = (value: unknown): boolean => typeof value === 'string' && idToBytes(value) !== undefined;

/** The tags with these slugs, the rarest first, or undefined when one does not exist. */
const findTags = async (db: Database, kind: ContentKind, slugs: readonly string[]): Promise<FoundTag[] | undefined> => {
  if (slugs.length === 0) return [];
  const among = inList(slugs);
  const rows = await db.read<FoundTag>(
    `SELECT id, slug, ${kind.countColumn} AS n, COALESCE((SELECT n FROM counters WHERE name = ?), 0) AS total
    FROM tags WHERE slug IN (${among.sql})`,
    [kind.table, ...among.parameters],
  );
  // To MySQL and MariaDB, texts that differ in spaces at their end are equal.
  const tags = rows.filter((tag) => slugs.includes(tag.slug));
  return tags.length < slugs.length ? undefined : tags.toSorted((a, b) => a.n - b.n);
};

/**
 * The tables of a list. The rarest tag drives it, unless so many records have it that walking all records in the order
 * of the sort finds a page sooner.
 */
const tagJoins = (
  db: Database,
  kind: ContentKind,
  tags: readonly FoundTag[],
  rows: number,
): Condition & { from: string } => {
  const [rarest, ...others] = tags;
  if (!rarest) return { from: `${kind.table} r`, sql: '', parameters: [] };
  const walk = (rows * rarest.total) / Math.max(rarest.n, 1) < rarest.n;
  const { joinInOrder } = db.dialect;
  const hasTag = `EXISTS (SELECT 1 FROM ${kind.tagTable} o WHERE o.tag_id = ? AND o.${kind.foreignKey} = r.id)`;
  const on = `ON t.${kind.foreignKey} = r.id`;
  return {
    from: walk
      ? `${kind.table} r ${joinInOrder} ${kind.tagTable} t ${on}`
      : `${kind.tagTable} t ${joinInOrder} ${kind.table} r ${on}`,
    sql: ['t.tag_id = ?', ...others.map(() => hasTag)].join(' AND '),
    parameters: tags.map((tag) => tag.id),
  };
};

const filterConditions = (query: ListQuery, terms: readonly string[]): Condition[] => [
  ...(query.where ? [{ sql: `r.${query.where.column} = ?`, parameters: [query.where.value] }] : []),
  ...(query.since === undefined ? [] : [{ sql: 'r.created_at >= ?', parameters: [timeToDb(query.since)] }]),
  ...terms.map((term) => ({ sql: 'INSTR(r.search_text, ?) > 0', parameters: [term] })),
];

const joinConditions = (conditions: readonly Condition[]): Condition => {
  const used = conditions.filter((condition) => condition.sql !== '');
  return {
    sql: used.length === 0 ? '' : `WHERE ${used.map((condition) => condition.sql).join(' AND ')}`,
    parameters: used.flatMap((condition) => condition.parameters),
  };
};

const exact = (total: number) => ({ total, totalRelation: 'eq' as const });

/** The number of matches, from a counter where there is one, else counted up to a bound. */
const countMatches = async (
  db: Database,
  kind: ContentKind,
  query: ListQuery,
  tags: readonly FoundTag[],
  from: string,
  conditions: readonly Condition[],
): Promise<{ total: number; totalRelation: 'eq' | 'gte' }> => {
  const filters = conditions.filter((condition) => condition.sql !== '').length;
  const [tag] = tags;
  if (filters === 0) return exact(await readCounter(db, kind.table));
  if (filters === 1 && query.where) return exact(await readCounter(db, query.where.counter));
  if (filters === 1 && tag && tags.length === 1) return exact(tag.n);
  const where = joinConditions(conditions);
  const [row] = await db.read<{ n: number }>(
    `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${from} ${where.sql} LIMIT ${MAX_PAGE_DEPTH + 1}) matches`,
    where.parameters,
  );
  const n = row?.n ?? 0;
  return n > MAX_PAGE_DEPTH ? { total: MAX_PAGE_DEPTH, totalRelation: 'gte' } : exact(n);
};

/**
 * Reads one page of a list.
 * @throws AppError PAGE_TOO_DEEP, CURSOR_INVALID
 */
export const listRecords = async <Columns>(
  db: Database,
  dictionary: TagDictionary,
  kind: ContentKind,
  query: ListQuery,
  viewerId: string | undefined,
): Promise<ListPage<Columns>> => {
  const { limit, page, cursor, sortBy, timeRange } = query;
  if (cursor === undefined && page * limit > MAX_PAGE_DEPTH) throw new AppError('PAGE_TOO_DEEP');
  const { counter, direction } = orders[sortBy];
  const columns = [...(counter ? [counter] : []), 'created_at', 'id'];
  const terms = searchTerms(query.search);
  const slugs = [...new Set(query.tagSlugs)].toSorted();
  const filters = [kind.table, sortBy, timeRange, query.where?.value, terms.toSorted(), slugs];
  const position =
    cursor === undefined ? undefined : decodeCursor(cursor, filters, [...(counter ? [isCount] : []), isTime, isId]);

  const tags = await findTags(db, kind, slugs);
  if (!tags) return { records: [], total: 0, totalRelation: 'eq', hasMore: false, nextCursor: null };

  const offset = position ? 0 : (page - 1) * limit;
  const { from, ...tagged } = tagJoins(db, kind, tags, offset + limit);
  const conditions = [tagged, ...filterConditions(query, terms)];
  const where = joinConditions([...conditions, ...(position ? [after(db, columns, direction, position)] : [])]);
  const order = (alias: string) => columns.map((column) => `${alias}.${column} ${direction}`).join(', ');
  const [found, count] = await Promise.all([
    readRecords<Columns>(
      db,
      dictionary,
      kind,
      { detail: false, viewerId },
      {
        sql: `SELECT ${columns.map((column) => `r.${column}`).join(', ')} FROM ${from} ${where.sql}
        ORDER BY ${order('r')} LIMIT ? OFFSET ?`,
        parameters: [...where.parameters, limit + 1, offset],
        orderBy: order('p'),
      },
    ),
    countMatches(db, kind, query, tags, from, conditions),
  ]);

  const records = found.slice(0, limit);
  const hasMore = found.length > limit;
  const last = records.at(-1)?.row;
  const nextCursor =
    hasMore && last
      ? encodeCursor(filters, [
          ...(counter ? [last[counter]] : []),
          Date.parse(timeFromDb(last.created_at)),
          idFromBytes(last.id),
        ])
      : null;
  return { records, ...count, hasMore, nextCursor };
};

const after = (
  db: Database,
  columns: readonly string[],
  direction: 'ASC' | 'DESC',
  position: CursorValue[],
): Condition => {
  const [createdAt, id] = position.slice(-2);
  const values = [...position.slice(0, -2), timeToDb(new Date(Number(createdAt))), storedIdToBytes(String(id))];
  return {
    sql: db.dialect.seek(
      columns.map((column) => `r.${column}`),
      direction,
    ),
    parameters: db.dialect.seekParameters(values),
  };
};
