import type { Reader, Transaction } from '../../db/connection.ts';
import type { Dialect } from '../../db/dialect.ts';
import { inList } from '../../db/sql/in-list.ts';
import { insertInto, insertValues } from '../../db/sql/write-rows.ts';
import { memoize } from '../../base/cache.ts';
import type { ContentKind } from '../kind.ts';

/** The counters that include a record of a type, in addition to that of its kind. */
export const countersOf = ({ typeCounters }: ContentKind, type: string | null): string[] =>
  typeCounters === undefined ? [] : [`${typeCounters}${type ?? ''}`];

// SQL: each create counts by these.

const addition = memoize((dialect: Dialect) =>
  insertInto('counters', ['name', 'n'], `${dialect.onConflict('name')} n = n + ${dialect.inserted('n')}`),
);

/** Subtracts from counters, down to 0 at least, in the order of their names like `addToCounters`. */
export const subtractFromCounters = async (tx: Transaction, numbers: ReadonlyMap<string, number>): Promise<void> => {
  for (const [name, n] of [...numbers].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    await tx.execute('UPDATE counters SET n = CASE WHEN n < ? THEN 0 ELSE n - ? END WHERE name = ?', [n, n, name]);
  }
};

const countExisting = async (tx: Transaction, names: readonly string[]): Promise<number> => {
  const { sql, parameters } = inList(names);
  const [row] = await tx.read<{ n: number }>(`SELECT COUNT(*) AS n FROM counters WHERE name IN (${sql})`, parameters);
  return row?.n ?? 0;
};

/**
 * Adds to counters, which start at 0, in the order of their names. Every transaction that publishes locks the same few
 * counters, so this is the last step.
 */
export const addToCounters = (tx: Transaction, additions: ReadonlyMap<string, number>): Promise<number> =>
  insertValues(
    tx,
    addition(tx.dialect),
    [...additions].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );

/** Adds to counters, at most as many as one statement takes. Returns how many of them are new. */
export const addAndCountNew = async (tx: Transaction, additions: ReadonlyMap<string, number>): Promise<number> => {
  const { changesOfUpdate } = tx.dialect;
  if (changesOfUpdate === 2) return 2 * additions.size - (await addToCounters(tx, additions));
  // On SQLite, no other transaction writes meanwhile.
  const existing = await countExisting(tx, [...additions.keys()]);
  await addToCounters(tx, additions);
  return additions.size - existing;
};

interface Counter {
  name: string;
  n: number;
}

/**
 * The highest `limit` counters above 0 with a name prefix, which ends in a colon, and the sum of all with the prefix.
 */
export const readCounters = async (
  db: Reader,
  prefix: string,
  limit: number,
): Promise<{ highest: Counter[]; total: number }> => {
  const range = [prefix, `${prefix.slice(0, -1)};`];
  // A window function would make MariaDB read each row four times.
  const highest = await db.read<Counter & { total: number | string }>(
    `SELECT name, n, (SELECT SUM(n) FROM counters WHERE name >= ? AND name < ? AND n > 0) AS total FROM counters
    WHERE name >= ? AND name < ? AND n > 0 ORDER BY n DESC, name LIMIT ${limit}`,
    [...range, ...range],
  );
  // The MySQL protocol returns a sum as text.
  return { highest, total: Number(highest[0]?.total ?? 0) };
};
