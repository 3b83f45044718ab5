import { LRUCache } from 'lru-cache';
import { performance } from '../../../base/runtime.ts';
import type { SqliteConnection } from './binding.ts';

/** The steps of a plan that read no table. */
const READS_NOTHING = /^(SCAN CONSTANT ROW|(CORRELATED )?(SCALAR|LIST) SUBQUERY \d+|USE TEMP B-TREE FOR .+)$/;
/** A step that looks rows up by their rowid. */
const BY_NUMBER = /^SEARCH \w+ USING INTEGER PRIMARY KEY \(rowid=\?\)( LEFT-JOIN)?$/;
const BY_INDEX = /^SEARCH \w+ USING (?:COVERING )?INDEX (?<index>\w+) \((?<columns>[^)]*)\)(?: LEFT-JOIN)?$/;

/** The number of columns of a unique index; undefined for another index. */
const columnsOfUnique = (connection: SqliteConnection, index: string): number | undefined => {
  const [row] = connection.all(
    `SELECT (SELECT COUNT(*) FROM pragma_index_info(i.name)) AS n
    FROM sqlite_schema s, pragma_index_list(s.tbl_name) i WHERE s.name = ? AND i.name = s.name AND i."unique" = 1`,
    [index],
  );
  return row?.n as number | undefined;
};

/** Whether a step reads no table, or looks rows up by a whole unique key, which finds at most one for each key. */
const isByKey = (connection: SqliteConnection, step: string): boolean => {
  if (READS_NOTHING.test(step) || BY_NUMBER.test(step)) return true;
  const { index, columns } = BY_INDEX.exec(step)?.groups ?? {};
  if (index === undefined || columns === undefined) return false;
  const compared = columns.split(' AND ');
  return compared.every((column) => column.endsWith('=?')) && compared.length === columnsOfUnique(connection, index);
};

/**
 * Whether a SELECT, by its plan, only looks up rows by unique keys. That takes less time than the round trip to a
 * thread; any other plan may take long.
 */
const isLookUp = (connection: SqliteConnection, sql: string): boolean =>
  connection.all(`EXPLAIN QUERY PLAN ${sql}`).every(({ detail }) => isByKey(connection, String(detail)));

/** Statements that take longer on average run in a thread; the round trip to it costs 0.1 ms of CPU. */
const SHORT_MS = 1;
/** A statement that took this long once runs in a thread from then on. */
const LONG_MS = 10;
/** The weight of the last run in the average. */
const WEIGHT = 1 / 4;
const REMEMBERED = 1000;
/** How long a slow statement stays in the threads. The time doubles whenever a trusted statement takes long. */
const DISTRUST_MS = 60_000;
const LONGEST_DISTRUST_MS = 3_600_000;

interface KnownCost {
  isLookUp: boolean;
  averageMs: number;
  distrustMs: number;
  distrustedUntil: number;
}

/**
 * Decides which statements are short enough to need no thread: look-ups by their plan, others by experience. The same
 * statement can take a thousand times as long with other values, so a slow one is distrusted for long.
 *
 * Measured with only look-ups in this thread, 16 and 64 callers of 60 lists among 6000 games: 0.8 of the answers a
 * second, at 1.4 times the CPU.
 */
export class Costs {
  readonly #reader: SqliteConnection;
  readonly #known = new LRUCache<string, KnownCost>({ max: REMEMBERED });

  constructor(reader: SqliteConnection) {
    this.#reader = reader;
  }

  isShort(sql: string): boolean {
    const known = this.#known.get(sql) ?? this.#meet(sql);
    return known.isLookUp || this.#isTrusted(known);
  }

  /** Records how long a run took, in milliseconds. */
  note(sql: string, ms: number): void {
    const known = this.#known.get(sql);
    if (!known || known.isLookUp) return;
    if (ms > LONG_MS) {
      if (this.#isTrusted(known)) known.distrustMs = Math.min(known.distrustMs * 2, LONGEST_DISTRUST_MS);
      known.distrustedUntil = performance.now() + known.distrustMs;
    }
    known.averageMs += (Math.min(ms, LONG_MS) - known.averageMs) * WEIGHT;
  }

  #isTrusted({ averageMs, distrustedUntil }: KnownCost): boolean {
    return averageMs <= SHORT_MS && performance.now() > distrustedUntil;
  }

  #meet(sql: string): KnownCost {
    const known = {
      isLookUp: this.#isLookUp(sql),
      averageMs: 2 * SHORT_MS,
      distrustMs: DISTRUST_MS,
      distrustedUntil: 0,
    };
    this.#known.set(sql, known);
    return known;
  }

  #isLookUp(sql: string): boolean {
    try {
      return isLookUp(this.#reader, sql);
    } catch {
      // An invalid statement fails when it is run.
      return false;
    }
  }
}
