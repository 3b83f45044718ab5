import type { Parameter, Transaction } from '../connection.ts';
import { inList, padded, partsOf } from './in-list.ts';

type IncrementedId = number | Uint8Array;
type Additions = readonly (readonly [id: IncrementedId, n: number])[];

/** Additions to a number column of the rows with these ids. */
export interface Increment {
  table: string;
  column: string;
  additions: Iterable<readonly [id: IncrementedId, n: number]>;
}

const byId = ([a]: readonly [IncrementedId, number], [b]: readonly [IncrementedId, number]): number =>
  typeof a === 'number' || typeof b === 'number' ? Number(a) - Number(b) : Buffer.compare(a, b);

/** An UPDATE of one table, in parts. */
interface Update {
  table: string;
  column: string;
  sum: string;
  where: string;
  parameters: { sum: Parameter[]; where: Parameter[] };
}

/** The number that occurs most often. */
const commonest = (numbers: readonly number[]): number => {
  const counts = new Map<number, number>();
  for (const n of numbers) counts.set(n, (counts.get(n) ?? 0) + 1);
  return [...counts].reduce((most, next) => (next[1] > most[1] ? next : most), [0, 0])[0];
};

const updateOf = (table: string, column: string, additions: Additions): Update => {
  const ids = inList(additions.map(([id]) => id));
  // Most rows get the same addition. For each row, CASE searches the others one by one.
  const usual = commonest(additions.map(([, n]) => n));
  const others = padded(additions.filter(([, n]) => n !== usual));
  const addition = others.length === 0 ? '?' : `CASE ${table}.id ${'WHEN ? THEN ? '.repeat(others.length)}ELSE ? END`;
  const sum = `${table}.${column} + ${addition}`;
  const added = [...others.flat(), usual];
  const isFloored = additions.some(([, n]) => n < 0);
  return {
    table,
    column,
    // Without the cast, MySQL would refuse an unsigned result below 0 before comparing it.
    sum: isFloored ? `CASE WHEN CAST(${table}.${column} AS SIGNED) + ${addition} < 0 THEN 0 ELSE ${sum} END` : sum,
    where: `${table}.id IN (${ids.sql})`,
    parameters: { sum: isFloored ? [...added, ...added] : added, where: ids.parameters },
  };
};

/** Runs one UPDATE of several tables. SQLite takes one table only, and its column without the table's name. */
const execute = (tx: Transaction, updates: readonly Update[]): Promise<number> => {
  const target = ({ table, column }: Update): string => (updates.length === 1 ? column : `${table}.${column}`);
  return tx.execute(
    `UPDATE ${updates.map(({ table }) => table).join(', ')}
    SET ${updates.map((update) => `${target(update)} = ${update.sum}`).join(', ')}
    WHERE ${updates.map(({ where }) => where).join(' AND ')}`,
    [...updates.flatMap(({ parameters }) => parameters.sum), ...updates.flatMap(({ parameters }) => parameters.where)],
  );
};

/** The maximum number of combined rows: the engine joins the rows of all tables before it changes them. */
const MOST_COMBINATIONS = 256;

/**
 * Adds to number columns, table after table. Rows are locked in the order of their ids, which prevents deadlocks; an
 * addition of 0 only locks. Where the engine can, small increments take one statement for all tables instead of a round
 * trip for each row. A subtraction never results in less than 0, even if a counter has drifted.
 */
export const incrementAll = async (tx: Transaction, increments: readonly Increment[]): Promise<void> => {
  const updates = increments.map(({ table, column, additions }) =>
    partsOf([...additions].toSorted(byId)).map((part) => updateOf(table, column, part)),
  );
  if (updates.length === 0) return;
  const parts = updates.flat();
  const combinations = parts.reduce((n, { parameters }) => n * parameters.where.length, 1);
  // With several rows in an earlier table, rows of a later one would be locked in between.
  const isInOrder = parts.slice(0, -1).every(({ parameters }) => parameters.where.length === 1);
  if (tx.dialect.updatesTables && isInOrder && parts.length === updates.length && combinations <= MOST_COMBINATIONS) {
    await execute(tx, parts);
  } else {
    for (const part of parts) await execute(tx, [part]);
  }
};

/** Like `incrementAll`, for one table. */
export const increment = (
  tx: Transaction,
  table: string,
  column: string,
  additions: Increment['additions'],
): Promise<void> => incrementAll(tx, [{ table, column, additions }]);
