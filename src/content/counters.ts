import type { Reader, Transaction } from '../db/connection.ts';
import type { Dialect } from '../db/dialect.ts';
import { insertInto, insertValues } from '../db/insert.ts';
import { onceFor } from '../db/texts.ts';

const addition = onceFor((dialect: Dialect) =>
  insertInto('counters', ['name', 'n'], `${dialect.onConflict('name')} n = n + ${dialect.inserted('n')}`),
);

/**
 * Adds to counters, which begin at 0, in the order of their names. Every transaction that publishes locks the same few of
 * them, so this comes last.
 */
export const addToCounters = (tx: Transaction, additions: ReadonlyMap<string, number>): Promise<void> =>
  insertValues(
    tx,
    addition(tx.dialect),
    [...additions].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );

/** The counters above 0 whose names begin with `prefix`, which ends in a colon. */
export const readCounters = async (db: Reader, prefix: string): Promise<{ name: string; n: number }[]> =>
  db.read('SELECT name, n FROM counters WHERE name >= ? AND name < ? AND n > 0', [prefix, `${prefix.slice(0, -1)};`]);
