import type { Parameter, Transaction } from '../connection.ts';

/** Updates the row with this id to the values of `changes`, at least one. Returns the number of rows changed. */
export const updateRow = <Row extends { id: string }>(
  tx: Transaction,
  entity: string,
  id: string,
  changes: Partial<Row>,
): Promise<number> => {
  const { columns, tableName, connection } = tx.metadataOf(entity);
  const { driver } = connection;
  const values: Partial<Record<string, unknown>> = { ...changes, id };
  const stored = (column: (typeof columns)[number]): Parameter =>
    driver.preparePersistentValue(values[column.propertyName], column) as Parameter;
  const changed = columns.filter(({ propertyName }) => propertyName in changes);
  const key = columns.filter(({ propertyName }) => propertyName === 'id');
  return tx.execute(
    `UPDATE ${driver.escape(tableName)} SET ${changed.map(({ databaseName }) => `${driver.escape(databaseName)} = ?`).join(', ')}
    WHERE id = ?`,
    [...changed, ...key].map(stored),
  );
};
