import { pipelined } from './pipelined.ts';
import type { Parameter, Transaction } from '../connection.ts';
import { chunksOf, placeholders } from './in-list.ts';
import { memoizeBySize } from './memoize.ts';

/** An INSERT into a table: its text for a number of rows. */
export type Insert = (rows: number) => string;

/**
 * An INSERT of the values of `columns`, which begins with `verb`. `ending` handles rows that exist: see `Dialect.onConflict`. Make
 * each once, since it caches its texts.
 */
export const insertInto = (table: string, columns: readonly string[], ending = '', verb = 'INSERT'): Insert => {
  const row = `(${placeholders(columns.length)})`;
  const beginning = `${verb} INTO ${table} (${columns.join(', ')}) VALUES `;
  return memoizeBySize((rows) => `${beginning}${`${row}, `.repeat(rows - 1)}${row} ${ending}`);
};

/** Inserts rows in few statements. Returns the changed rows that the engine reports: see `Dialect.changesOfUpdate`. */
export const insertValues = async (
  tx: Transaction,
  insert: Insert,
  rows: readonly (readonly Parameter[])[],
): Promise<number> => {
  const [first] = rows;
  if (first && rows.length === 1) return tx.execute(insert(1), first);
  const changes = await pipelined(chunksOf(rows).map((chunk) => tx.execute(insert(chunk.length), joined(chunk))));
  return changes.reduce((sum, n) => sum + n, 0);
};

/** Inserts the rows whose key is not there, in few statements. Returns how many. */
export const insertMissing = (
  tx: Transaction,
  table: string,
  columns: readonly string[],
  rows: readonly (readonly Parameter[])[],
): Promise<number> => insertValues(tx, insertInto(table, columns, '', tx.dialect.insertIgnore), rows);

/** The values of rows, one after the other. `flat` takes four times as long. */
const joined = (rows: readonly (readonly Parameter[])[]): Parameter[] => {
  const values: Parameter[] = [];
  for (const row of rows) for (const value of row) values.push(value);
  return values;
};

/**
 * Inserts rows of an entity, with the properties that the first row has. TypeORM prepares the values; its insert builder
 * would take four times as long.
 */
export const insertRows = async (tx: Transaction, entity: string, rows: readonly object[]): Promise<void> => {
  const [first] = rows;
  if (!first) return;
  const { columns, tableName, connection } = tx.metadataOf(entity);
  const { driver } = connection;
  const used = columns.filter(({ propertyName }) => propertyName in first);
  await insertValues(
    tx,
    insertInto(
      driver.escape(tableName),
      used.map(({ databaseName }) => driver.escape(databaseName)),
    ),
    (rows as readonly Record<string, unknown>[]).map((row) =>
      used.map((column) => driver.preparePersistentValue(row[column.propertyName], column) as Parameter),
    ),
  );
};
