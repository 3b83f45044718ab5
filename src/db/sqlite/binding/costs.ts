import { LRUCache } from 'lru-cache';
import type { SqliteConnection } from './binding.ts';
import { isLookUp } from './plan.ts';

/** Statements that take longer on average run in a thread; the round trip to it costs 0.1 ms of CPU. */
const SHORT_MS = 1;
/** A statement that took this long once runs in a thread from then on. */
const LONG_MS = 10;
/** How much the last run counts in the average. */
const WEIGHT = 1 / 4;
const REMEMBERED = 1000;
/** How long a statement that took long stays in the threads. It doubles each time that a trusted statement takes long. */
const DISTRUST_MS = 60_000;
const LONGEST_DISTRUST_MS = 3_600_000;

interface KnownCost {
  isLookUp: boolean;
  averageMs: number;
  distrustMs: number;
  distrustedUntil: number;
}

/**
 * Knows which statements are so short that they need no thread: look-ups by their plan, others by experience. The same
 * statement can take a thousand times as long with other values, so a slow one is distrusted for long.
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
