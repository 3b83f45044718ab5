import type { Parameter, Transaction } from '../connection.ts';
import { chunksOf, placeholders } from './in-list.ts';
import { memoizeBySize } from '../../base/cache.ts';

/**
 * Awaits writes of a transaction that were sent without waiting for each other's answers, so that one is prepared while
 * the database runs another. The database runs them in order. Settles when all have ended.
 * @throws the error of the first failed write; later ones may have failed because of it
 */
export const pipelined = async <T>(writes: readonly Promise<T>[]): Promise<T[]> => {
  const ends = await Promise.allSettled(writes);
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  });
};

/** An INSERT into a table: its text for a number of rows. */
export type Insert = (rows: number) => string;

/**
 * An INSERT of values for `columns`, which begins with `verb`. `ending` handles existing rows: see
 * `Dialect.onConflict`. Make each once, since it caches its texts.
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

/** Inserts the rows whose key is missing, in few statements. Returns how many it inserted. */
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
 * Inserts rows of an entity, with the properties of the first row. TypeORM prepares the values; its insert builder
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

/**
 * Updates the row with this id to the values of `changes`, at least one. Returns the number of rows changed. The time
 * of the last change never decreases, even if the clock of another instance was ahead. With `unlessSame`, a row stays
 * unchanged if only that time would change.
 */
export const updateRow = <Row extends { id: string }>(
  tx: Transaction,
  entity: string,
  id: string,
  changes: Partial<Row>,
  { unlessSame = false } = {},
): Promise<number> => {
  const { columns, tableName, connection } = tx.metadataOf(entity);
  const { driver } = connection;
  const values: Partial<Record<string, unknown>> = { ...changes, id };
  const stored = (column: (typeof columns)[number]): Parameter =>
    driver.preparePersistentValue(values[column.propertyName], column) as Parameter;
  const changed = columns.filter(({ propertyName }) => propertyName in changes);
  const key = columns.filter(({ propertyName }) => propertyName === 'id');
  const assignments = changed.map((column): [sql: string, parameters: Parameter[]] => {
    const name = driver.escape(column.databaseName);
    const value = stored(column);
    return column.propertyName === 'updatedAt'
      ? [`${name} = CASE WHEN ${name} > ? THEN ${name} ELSE ? END`, [value, value]]
      : [`${name} = ?`, [value]];
  });
  const texts = unlessSame ? changed.filter(({ propertyName }) => propertyName !== 'updatedAt') : [];
  const differing = texts.map(({ databaseName }) => tx.dialect.differs(driver.escape(databaseName)));
  return tx.execute(
    `UPDATE ${driver.escape(tableName)} SET ${assignments.map(([sql]) => sql).join(', ')} WHERE id = ?${unlessSame ? ` AND (${differing.join(' OR ')})` : ''}`,
    [...assignments.flatMap(([, parameters]) => parameters), ...key.map(stored), ...texts.map(stored)],
  );
};
