import { type FindOptionsOrder, type FindOptionsSelect, type FindOptionsWhere, In, type ObjectLiteral } from 'typeorm';
import type { repositoryOf } from './manager.ts';
import type { Transaction } from './connection.ts';
import { padded } from './sql/in-list.ts';
import type { WorkloadPool } from './workload-pool.ts';

/** Few rows, so that locks are short. */
const SWEPT_AT_ONCE = 100;

/** Finds up to `take` rows, and removes them in a transaction of its own. Returns whether more may exist. */
export const sweepFound = async <Row>(
  db: { transaction: <T>(work: (tx: Transaction) => Promise<T>) => Promise<T> },
  find: (take: number) => Promise<Row[]>,
  remove: (tx: Transaction, rows: Row[]) => Promise<unknown>,
  take = SWEPT_AT_ONCE,
): Promise<boolean> => {
  const rows = await find(take);
  if (rows.length === 0) return false;
  await db.transaction((tx) => remove(tx, rows));
  return rows.length === take;
};

/**
 * Deletes some rows that meet a condition, by one statement in its own transaction. Makes a condition for each use,
 * since transformers change operators. Returns whether more may exist.
 */
export const sweepRows = <Row extends ObjectLiteral>(
  db: Pick<WorkloadPool, 'manager' | 'transaction'>,
  rowsIn: ReturnType<typeof repositoryOf<Row>>,
  condition: () => FindOptionsWhere<Row>,
  order: FindOptionsOrder<Row> = {},
): Promise<boolean> => {
  const repository = rowsIn(db);
  const names = repository.metadata.primaryColumns.map(({ propertyName }) => propertyName);
  const [first = '', ...more] = names;
  const select = Object.fromEntries(names.map((name) => [name, true])) as FindOptionsSelect<Row>;
  const rowOf = (row: Row): FindOptionsWhere<Row> =>
    Object.fromEntries(names.map((name) => [name, row[name] as unknown])) as FindOptionsWhere<Row>;
  // The condition holds for each row again: another process may have changed it meanwhile.
  const among = (rows: Row[]): FindOptionsWhere<Row>[] =>
    more.length === 0
      ? [{ ...condition(), [first]: In(padded(rows.map((row) => row[first] as unknown))) }]
      : padded(rows).map((row) => ({ ...condition(), ...rowOf(row) }));
  return sweepFound(
    db,
    (take) => repository.find({ select, where: condition(), order, take }),
    (tx, rows) => rowsIn(tx).delete(among(rows)),
  );
};
