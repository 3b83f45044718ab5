import { LRUCache } from 'lru-cache';
import { expiringAfter } from '../../../base/cache.ts';
import { MAX_PAGE_DEPTH } from '../../../../contract/limits.ts';
import type { Parameter, Reader } from '../../../db/connection.ts';
import { countFromDb, timeToDb } from '../../../db/values.ts';
import type { ContentKind } from '../../kind.ts';

/** A plan that was best a minute ago is still good. */
const BELIEVED_MS = 60_000;
const REMEMBERED = 1000;
/** A time range with more records is large, however many there are. */
const MAX_COUNTED = 10 * MAX_PAGE_DEPTH;

/** The numbers that plans go by. Answers never come from here. SQL: lists wait for them, and counting ends at a limit. */
export class Statistics {
  readonly #reader: Reader;
  readonly #known = new LRUCache<string, number>({ max: REMEMBERED, ...expiringAfter(BELIEVED_MS) });

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** About how many a counter counts. */
  counter(name: string): Promise<number> {
    return this.#about(name, 'SELECT n FROM counters WHERE name = ?', [name]);
  }

  /** About how many records of a kind there are since an instant, which the range tells from other ranges. */
  async since({ table }: ContentKind, range: string, since: Date): Promise<number> {
    const [n, all] = await Promise.all([
      this.#about(
        `${table} of the ${range}`,
        `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${table} WHERE created_at >= ? LIMIT ${MAX_COUNTED}) counted`,
        [timeToDb(since)],
      ),
      this.counter(table),
    ]);
    // Too many to be counted are a good part of all.
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
