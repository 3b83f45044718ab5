import { LRUCache } from 'lru-cache';
import { expiringAfter } from '../../../base/cache.ts';
import { MAX_PAGE_DEPTH } from '../../../../contract/limits.ts';
import type { Parameter, Reader } from '../../../db/connection.ts';
import { countFromDb, idToBytes, timeToDb } from '../../../db/values.ts';
import type { ContentKind } from '../../kind.ts';
import type { KnownTag } from '../../tag/dictionary.ts';
import { type AuthorFilter, orders, type SortBy } from './plan.ts';

/** A plan that was best a minute ago is still good. */
const BELIEVED_MS = 60_000;
const REMEMBERED = 1000;
/** A time range with more records counts as large. */
const MAX_COUNTED = 10 * MAX_PAGE_DEPTH;

/** The parts of a query on which the plan of a filter by author depends. */
interface AuthorQuery {
  authorId?: string | undefined;
  type?: { counter: string } | undefined;
  terms: readonly string[];
  sortBy: SortBy;
}

/** Numbers for planning; answers never use them. SQL: lists wait for them, and counting ends at a limit. */
export class Statistics {
  readonly #reader: Reader;
  readonly #known = new LRUCache<string, number>({ max: REMEMBERED, ...expiringAfter(BELIEVED_MS) });

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** The approximate value of a counter. */
  counter(name: string): Promise<number> {
    return this.#about(name, 'SELECT n FROM counters WHERE name = ?', [name]);
  }

  /** The filter by author. An only filter needs no number. Returns undefined for an id that is none. */
  async authorFilter(
    { table, countColumn }: ContentKind,
    { authorId = '', type, terms, sortBy }: AuthorQuery,
    tags: readonly KnownTag[],
  ): Promise<AuthorFilter | undefined> {
    const id = idToBytes(authorId);
    if (!id) return undefined;
    const isOnly = !type && tags.length + terms.length === 0 && !orders[sortBy].counter;
    const sql = `SELECT ${countColumn} AS n FROM users WHERE id = ?`;
    const n = isOnly ? 0 : await this.#about(`${table} of ${authorId}`, sql, [id]);
    const others = [...(type ? [await this.counter(type.counter)] : []), ...tags.map((tag) => tag.n)];
    return { id, n, isRarest: n <= Math.min(...others) };
  }

  /** The approximate number of records of a kind since an instant. `range` identifies the time range. */
  async since({ table }: ContentKind, range: string, since: Date): Promise<number> {
    const [n, all] = await Promise.all([
      this.#about(
        `${table} of the ${range}`,
        `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${table} WHERE created_at >= ? LIMIT ${MAX_COUNTED}) counted`,
        [timeToDb(since)],
      ),
      this.counter(table),
    ]);
    // A number beyond the limit is assumed to be a large part of all.
    return n < MAX_COUNTED ? n : Math.max(n, all / 2);
  }

  async #about(name: string, sql: string, parameters: readonly Parameter[]): Promise<number> {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const [row] = await this.#reader.read<{ n: number }>(sql, parameters);
    const n = countFromDb(row?.n ?? 0);
    this.#known.set(name, n);
    return n;
  }
}
