import type { Reader, Transaction } from '../db/connection.ts';
import { insertValues } from '../db/insert.ts';

/**
 * Adds to counters, which begin at 0, in the order of their names. Every transaction that publishes locks the same few of
 * them, so this comes last.
 */
export const addToCounters = (tx: Transaction, additions: ReadonlyMap<string, number>): Promise<void> =>
  insertValues(
    tx,
    'counters',
    ['name', 'n'],
    [...additions].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    `${tx.dialect.onConflict('name')} n = n + ${tx.dialect.inserted('n')}`,
  );

/** The value of a counter. */
export const readCounter = async (db: Reader, name: string): Promise<number> => {
  const [row] = await db.read<{ n: number }>('SELECT n FROM counters WHERE name = ?', [name]);
  return row?.n ?? 0;
};

/** The counters above 0 whose names begin with `prefix`, which ends in a colon. */
export const readCounters = async (db: Reader, prefix: string): Promise<{ name: string; n: number }[]> =>
  db.read('SELECT name, n FROM counters WHERE name >= ? AND name < ? AND n > 0', [prefix, `${prefix.slice(0, -1)};`]);
