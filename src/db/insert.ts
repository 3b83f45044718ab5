import type { Parameter, Transaction } from './connection.ts';
import { chunksOf, placeholders } from './in-list.ts';

/**
 * Inserts rows, given as the values of `columns`, in few statements. `ending` is what becomes of rows that exist: see
 * `Dialect.onConflict`.
 */
export const insertValues = async (
  tx: Transaction,
  table: string,
  columns: readonly string[],
  rows: readonly (readonly Parameter[])[],
  ending = '',
): Promise<void> => {
  const row = `(${placeholders(columns.length)})`;
  for (const chunk of chunksOf(rows)) {
    await tx.execute(
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${chunk.map(() => row).join(', ')} ${ending}`,
      chunk.flat(),
    );
  }
};

/**
 * Inserts rows of an entity, all with the members of the first one. TypeORM prepares the values; its insert builder would
 * take four times as long.
 */
export const insertRows = async (tx: Transaction, entity: string, rows: readonly object[]): Promise<void> => {
  const [first] = rows;
  if (!first) return;
  const { columns, tableName, connection } = tx.metadataOf(entity);
  const { driver } = connection;
  const used = columns.filter(({ propertyName }) => propertyName in first);
  await insertValues(
    tx,
    driver.escape(tableName),
    used.map(({ databaseName }) => driver.escape(databaseName)),
    (rows as readonly Record<string, unknown>[]).map((row) =>
      used.map((column) => driver.preparePersistentValue(row[column.propertyName], column) as Parameter),
    ),
  );
};
