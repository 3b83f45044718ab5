import { LRUCache } from 'lru-cache';
import { expiringAfter } from '../../../base/cache.ts';
import { MAX_PAGE_DEPTH } from '../../../../contract/limits.ts';
import type { Parameter, Reader } from '../../../db/connection.ts';
import { type Bytes, countFromDb, idFromBytes, timeToDb } from '../../../db/values.ts';
import type { ContentKind } from '../../kind.ts';

/** A plan that was best a minute ago is still good. */
const BELIEVED_MS = 60_000;
const REMEMBERED = 1000;
/** A time range with more records counts as large. */
const MAX_COUNTED = 10 * MAX_PAGE_DEPTH;

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

  /** The approximate number of an author's records of a kind. */
  ofAuthor({ table, countColumn }: ContentKind, author: Bytes): Promise<number> {
    const name = `${table} of ${idFromBytes(author)}`;
    return this.#about(name, `SELECT ${countColumn} AS n FROM users WHERE id = ?`, [author]);
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
