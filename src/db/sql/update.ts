import type { Parameter, Transaction } from '../connection.ts';

/**
 * Updates the row with this id to the values of `changes`, at least one. Returns the number of rows changed. The time of the last
 * change never goes back, where the clock of another instance was ahead. `unlessSame` leaves a row alone whose other texts are those
 * of `changes`.
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
