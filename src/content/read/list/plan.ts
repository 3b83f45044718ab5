import type { Parameter } from '../../../db/connection.ts';
import type { Dialect } from '../../../db/dialect.ts';
import { type Bytes, firstIdBytes, timeToDb } from '../../../db/values.ts';
import type { KnownTag } from '../../tag/dictionary.ts';
import type { ContentKind } from '../../kind.ts';

/** The filters of a list. */
export interface ListFilter {
  /** In the kind's `typeColumn`. */
  type: string | undefined;
  since: Date | undefined;
  author: AuthorFilter | undefined;
  /** Rarest first. */
  tags: readonly KnownTag[];
  /** Substrings of the search text; all must occur. */
  terms: readonly string[];
}

/** The author of the records of a list. */
export interface AuthorFilter {
  id: Bytes;
  /** About how many records the author has; 0 if no plan depends on it. */
  n: number;
  /** Whether no other filter selects fewer records. */
  isRarest: boolean;
}

/** Approximate numbers of records: of the kind, of the type, and since the instant. */
export interface Numbers {
  records: number;
  ofType: number;
  since: number;
  /** The number of matches, if it is known. */
  matching?: number | undefined;
}

export const orders = {
  latest: { counter: null, member: null, direction: 'DESC' },
  oldest: { counter: null, member: null, direction: 'ASC' },
  views: { counter: 'view_count', member: 'viewCount', direction: 'DESC' },
  likes: { counter: 'like_count', member: 'likeCount', direction: 'DESC' },
  favorites: { counter: 'favorite_count', member: 'favoriteCount', direction: 'DESC' },
} as const;

export type SortBy = keyof typeof orders;

/** The parts of a SELECT that reads the records of a list. */
export interface PlanSource {
  /** The FROM clause, with the tables and the indexes to use. */
  from: string;
  where: string[];
  /** The parameters of `from`, then those of `where`. */
  parameters: Parameter[];
  /** The column that holds the id. */
  id: string;
}

// Relative costs, measured at a million games: reading an index entry, inserting into or probing a hash table, probing
// another index, and looking up a whole record, which is large and not clustered.
const ENTRY = 1;
const HASH = 2;
const PROBE = 7;
const LOOKUP = 30;

const sum = (sources: readonly (readonly Parameter[])[]): Parameter[] => sources.flat();

/** Joins that keep records with all of these tags. */
const tagJoins = (dialect: Dialect, kind: ContentKind, tags: readonly KnownTag[], id: string) => ({
  sql: tags
    .map(
      (_, index) =>
        ` ${dialect.joinInOrder} ${kind.tagTable} o${index} ${dialect.useIndex(`${kind.tagTable}_tag`)}
        ON o${index}.tag_id = ? AND o${index}.${kind.foreignKey} = ${id}`,
    )
    .join(''),
  parameters: tags.map((tag) => tag.id),
});

const termConditions = (terms: readonly string[]): string[] => terms.map(() => 'INSTR(r.search_text, ?) > 0');

/** A join that keeps records with a tag, and reads all its rows first. SQL: plans force indexes and orders of joins. */
const hashJoin = (dialect: Dialect, kind: ContentKind, tag: KnownTag) => ({
  sql: ` ${dialect.joinInOrder} (SELECT DISTINCT ${kind.foreignKey} AS id
    FROM ${kind.tagTable} ${dialect.useIndex(`${kind.tagTable}_tag`)} WHERE tag_id = ?) h ON h.id = r.id`,
  parameters: [tag.id],
});

/** Reads the records themselves, by an index; `hashed` is a tag whose rows are read first. */
const fromRecords = (
  dialect: Dialect,
  kind: ContentKind,
  filter: ListFilter,
  index: string,
  hashed?: KnownTag,
): PlanSource => {
  const { type, since, author, tags, terms } = filter;
  const gathered = hashed ? hashJoin(dialect, kind, hashed) : { sql: '', parameters: [] };
  const joins = tagJoins(
    dialect,
    kind,
    tags.filter((tag) => tag !== hashed),
    'r.id',
  );
  return {
    from: `${kind.table} r ${dialect.useIndex(`${kind.table}_${index}`)}${gathered.sql}${joins.sql}`,
    where: [
      ...(type === undefined ? [] : [`r.${kind.typeColumn} = ?`]),
      ...(author ? ['r.author_id = ?'] : []),
      ...(since === undefined ? [] : ['r.created_at >= ?']),
      ...termConditions(terms),
    ],
    parameters: sum([
      gathered.parameters,
      joins.parameters,
      type === undefined ? [] : [type],
      author ? [author.id] : [],
      since === undefined ? [] : [timeToDb(since)],
      terms,
    ]),
    id: 'r.id',
  };
};

/** Reads the rows of the rarest tag, in the order of the ids; `needsRecord` also looks up each record. */
const fromTag = (dialect: Dialect, kind: ContentKind, filter: ListFilter, needsRecord: boolean): PlanSource => {
  const { type, since, author, terms } = filter;
  const [rarest, ...others] = filter.tags;
  const id = `t.${kind.foreignKey}`;
  const joins = tagJoins(dialect, kind, others, id);
  const index = `${kind.tagTable}_${type === undefined ? 'tag' : 'type'}`;
  const record =
    needsRecord || author || terms.length > 0 ? ` ${dialect.joinInOrder} ${kind.table} r ON r.id = ${id}` : '';
  return {
    from: `${kind.tagTable} t ${dialect.useIndex(index)}${joins.sql}${record}`,
    where: [
      't.tag_id = ?',
      ...(type === undefined ? [] : [`t.${kind.typeColumn} = ?`]),
      ...(author ? ['r.author_id = ?'] : []),
      ...(since === undefined ? [] : [`${id} >= ?`]),
      ...termConditions(terms),
    ],
    parameters: sum([
      joins.parameters,
      rarest ? [rarest.id] : [],
      type === undefined ? [] : [type],
      author ? [author.id] : [],
      since === undefined ? [] : [(kind.firstId ?? firstIdBytes)(since)],
      terms,
    ]),
    id,
  };
};

/** The conditions of a SELECT. */
export const whereOf = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;

/** The cheapest source of all matches, in the order of the ids. */
export const matches = (dialect: Dialect, kind: ContentKind, filter: ListFilter): PlanSource => {
  if (filter.author?.isRarest) return fromRecords(dialect, kind, filter, 'author');
  return filter.tags.length > 0
    ? fromTag(dialect, kind, filter, false)
    : fromRecords(dialect, kind, filter, filter.type === undefined ? 'latest' : 'type_latest');
};

/**
 * The source of the first `rows` records of a list that is sorted by a counter: all matches, which are then sorted, the
 * time range, or the records in sort order until enough of them match. The cheapest one is chosen.
 */
export const sortedMatches = (
  dialect: Dialect,
  kind: ContentKind,
  filter: ListFilter,
  sortBy: SortBy,
  rows: number,
  { records, ofType, since, matching: known }: Numbers,
): PlanSource => {
  const { author, tags } = filter;
  const all = Math.max(records, 1);
  const typeShare = filter.type === undefined ? 1 : ofType / all;
  const timeShare = filter.since === undefined ? 1 : since / all;
  const [rarest, ...others] = tags;
  const authorShare = author ? author.n / all : 1;
  const inRarest = (rarest ? rarest.n : all) * typeShare * timeShare;
  const matching = known ?? authorShare * inRarest * others.reduce((share, tag) => share * (tag.n / all), 1);
  const ofTypes = `type_${sortBy}`;
  const hasTypeIndex = filter.type !== undefined && ofTypes in kind.indices;
  const walked = hasTypeIndex ? ofType : all;
  const steps = walked * Math.min(rows / Math.max(matching, 1), 1);

  const sorted = hasTypeIndex ? ofTypes : sortBy;

  let best = {
    cost: steps * (ENTRY + (rarest ? PROBE : 0) + (author || filter.terms.length > 0 ? LOOKUP : 0)),
    source: () => fromRecords(dialect, kind, filter, sorted),
  };
  const offer = (cost: number, source: () => PlanSource): void => {
    if (cost < best.cost) best = { cost, source };
  };
  if (author) {
    offer(author.n * (timeShare * (ENTRY + LOOKUP) + tags.length * PROBE), () =>
      fromRecords(dialect, kind, filter, 'author'),
    );
  }
  if (rarest) {
    if (dialect.gathers) {
      offer(rarest.n * (ENTRY + HASH) + steps * (ENTRY + HASH), () =>
        fromRecords(dialect, kind, filter, sorted, rarest),
      );
    }
    offer(inRarest * (ENTRY + LOOKUP + others.length * PROBE), () => fromTag(dialect, kind, filter, true));
  } else {
    if (filter.type !== undefined) {
      offer(ofType * timeShare * (ENTRY + LOOKUP), () => fromRecords(dialect, kind, filter, 'type_latest'));
    }
    if (filter.since !== undefined) offer(since * ENTRY, () => fromRecords(dialect, kind, filter, 'latest'));
  }
  return best.source();
};
