import { LRUCache } from 'lru-cache';
import type { SqliteConnection } from './sqlite-connection.ts';
import { isLookUp } from './sqlite-plan.ts';

/** A statement that takes longer belongs to a thread. The way there and back costs a tenth of a millisecond of computing. */
const SHORT_MS = 1;
/** So many runs in a thread must have been short before one is made without. */
const TRIALS = 3;
const REMEMBERED = 1000;
/** How long a statement that was long stays in the threads; twice as long each time that it had been believed. */
const DISTRUST_MS = 60_000;
const LONGEST_DISTRUST_MS = 3_600_000;

interface Known {
  isLookUp: boolean;
  /** Short ones since the last long one. */
  runs: number;
  distrustMs: number;
  distrustedUntil: number;
}

/**
 * Knows which statements are so short that they need no thread: look-ups by their plan, others by experience. The same
 * statement can take a thousand times as long with other values, so it takes long to be believed again.
 */
export class Costs {
  readonly #reader: SqliteConnection;
  readonly #known = new LRUCache<string, Known>({ max: REMEMBERED });

  constructor(reader: SqliteConnection) {
    this.#reader = reader;
  }

  isShort(sql: string): boolean {
    const known = this.#known.get(sql) ?? this.#meet(sql);
    if (known.isLookUp) return true;
    return known.runs >= TRIALS && performance.now() > known.distrustedUntil;
  }

  /** Learns how long a run took. */
  note(sql: string, ms: number): void {
    const known = this.#known.get(sql);
    if (!known) return;
    if (ms <= SHORT_MS) {
      known.runs += 1;
      return;
    }
    if (known.runs >= TRIALS) known.distrustMs = Math.min(known.distrustMs * 2, LONGEST_DISTRUST_MS);
    known.runs = 0;
    known.distrustedUntil = performance.now() + known.distrustMs;
  }

  #meet(sql: string): Known {
    const known = { isLookUp: this.#isLookUp(sql), runs: 0, distrustMs: DISTRUST_MS, distrustedUntil: 0 };
    this.#known.set(sql, known);
    return known;
  }

  #isLookUp(sql: string): boolean {
    try {
      return isLookUp(this.#reader, sql);
    } catch {
      // What has no plan fails where it is run.
      return false;
    }
  }
}
