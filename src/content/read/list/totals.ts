import { LRUCache } from 'lru-cache';
import { MAX_PAGE_DEPTH } from '../../../../contract/limits.ts';
import { atMost } from '../../../base/cache.ts';
import type { Dialect } from '../../../db/dialect.ts';
import type { Fragment } from '../../../db/sql/read-rows.ts';
import { countFromDb } from '../../../db/values.ts';
import type { ContentKind } from '../../kind.ts';
import { removalCounter } from '../../write/remove.ts';
import { type ListFilter, matches, whereOf } from './plan.ts';

/** A cached total, with the counters of the tags and of removals when it was counted. */
interface Counted {
  total: number;
  ofTags: number[];
  /** The number of records removed until then. */
  removed: number;
}

/** The total of a list in its response. */
export interface Total {
  total: number;
  totalRelation: 'eq' | 'gte';
}

const REMEMBERED = 10_000;

const bounded = (dialect: Dialect, kind: ContentKind, filter: ListFilter): Fragment => {
  const source = matches(dialect, kind, filter);
  return {
    sql: `(SELECT COUNT(*) FROM (SELECT 1 FROM ${source.from} ${whereOf(source.where)} LIMIT ${MAX_PAGE_DEPTH + 1}) m)`,
    parameters: source.parameters,
  };
};

const authorCount = (kind: ContentKind): string => `(SELECT ${kind.countColumn} FROM users WHERE id = ?)`;

const tagCount = (kind: ContentKind): string => `(SELECT ${kind.countColumn} FROM tags WHERE id = ?)`;

const removedCount = (kind: ContentKind): string =>
  `COALESCE((SELECT n FROM counters WHERE name = '${removalCounter(kind)}'), 0)`;

const isCounter = ({ type, since, author, tags, terms }: ListFilter): boolean =>
  since === undefined && terms.length === 0 && (type === undefined ? 0 : 1) + (author ? 1 : 0) + tags.length <= 1;

/** The total in a response. Counting stops at a bound, but exact counters may exceed it. */
export const asTotal = (filter: ListFilter, n: number): Total =>
  n > MAX_PAGE_DEPTH && !isCounter(filter)
    ? { total: MAX_PAGE_DEPTH, totalRelation: 'gte' }
    : { total: countFromDb(n), totalRelation: 'eq' };

/**
 * Counts matches: by a counter if one exists, else one by one up to a bound. A count stays valid while no tag
 * gains a record, no record is removed, and none changes its tags or type; a count at the bound also stays valid when
 * records are added. The statement of the page checks this itself, so that no total is older than its page.
 */
export class Totals {
  readonly #dialect: Dialect;
  readonly #kind: ContentKind;
  readonly #counted = new LRUCache<string, Counted>(atMost(REMEMBERED));

  constructor(dialect: Dialect, kind: ContentKind) {
    this.#dialect = dialect;
    this.#kind = kind;
  }

  /** An expression for the number of matches. `counter` is the name of the counter of all records or of the type. */
  expression(filter: ListFilter, counter: string): Fragment {
    const { author, tags } = filter;
    const [tag] = tags;
    if (isCounter(filter)) {
      if (author) return { sql: authorCount(this.#kind), parameters: [author.id] };
      return tag
        ? { sql: tagCount(this.#kind), parameters: [tag.id] }
        : { sql: '(SELECT n FROM counters WHERE name = ?)', parameters: [counter] };
    }
    const count = bounded(this.#dialect, this.#kind, filter);
    const known = this.#isKept(filter) && this.#counted.get(this.#nameOf(filter));
    if (!known) return count;
    const sign = known.total > MAX_PAGE_DEPTH ? '>=' : '=';
    return {
      sql: `CASE WHEN ${tags.map(() => `${tagCount(this.#kind)} ${sign} ?`).join(' AND ')} AND ${removedCount(this.#kind)} = ?
        THEN ? ELSE ${count.sql} END`,
      parameters: [
        ...tags.flatMap(({ id }, index) => [id, known.ofTags[index] ?? 0]),
        known.removed,
        known.total,
        ...count.parameters,
      ],
    };
  }

  /** Columns that identify the state of the total, if `remember` needs them. */
  stamps(filter: ListFilter): Fragment[] {
    if (!this.#isKept(filter)) return [];
    return [
      ...filter.tags.map(({ id }, index) => ({ sql: `${tagCount(this.#kind)} AS tag_${index}`, parameters: [id] })),
      { sql: `${removedCount(this.#kind)} AS removed`, parameters: [] },
    ];
  }

  /** Caches the total of a row with `stamps`: a tag may count a record that a separate statement does not see yet. */
  remember(filter: ListFilter, total: number, row: Record<string, unknown>): void {
    if (row['removed'] === undefined) return;
    this.#counted.set(this.#nameOf(filter), {
      total,
      ofTags: filter.tags.map((_, index) => Number(row[`tag_${index}`])),
      removed: Number(row['removed']),
    });
  }

  #isKept(filter: ListFilter): boolean {
    const { since, author, tags, terms } = filter;
    const { countsTagChanges } = this.#kind;
    return (
      countsTagChanges && !isCounter(filter) && !author && tags.length > 0 && since === undefined && terms.length === 0
    );
  }

  #nameOf({ type, tags }: ListFilter): string {
    return JSON.stringify([type, tags.map(({ id }) => id)]);
  }
}
