import { type FindOptionsOrder, type FindOptionsSelect, type FindOptionsWhere, In, type ObjectLiteral } from 'typeorm';
import type { repositoryOf } from './manager.ts';
import { padded } from './sql/in-list.ts';
import type { WorkloadPool } from './workload-pool.ts';

/** Few enough that locks are short. */
const SWEPT_AT_ONCE = 100;

/**
 * Deletes some rows that meet a condition, by one statement in a transaction of its own. Makes a condition for each use of it, since
 * transformers change operators. Returns whether there may be more.
 */
export const sweepRows = async <Row extends ObjectLiteral>(
  db: Pick<WorkloadPool, 'manager' | 'transaction'>,
  rowsIn: ReturnType<typeof repositoryOf<Row>>,
  condition: () => FindOptionsWhere<Row>,
  order: FindOptionsOrder<Row> = {},
): Promise<boolean> => {
  const repository = rowsIn(db);
  const names = repository.metadata.primaryColumns.map(({ propertyName }) => propertyName);
  const select = Object.fromEntries(names.map((name) => [name, true])) as FindOptionsSelect<Row>;
  const rows = await repository.find({ select, where: condition(), order, take: SWEPT_AT_ONCE });
  if (rows.length === 0) return false;
  const keysOf = (name: string): unknown[] => rows.map((row) => row[name] as unknown);
  const [first = '', ...more] = names;
  // The condition holds for each row again: another process may have changed it meanwhile.
  const deleted: FindOptionsWhere<Row>[] =
    more.length === 0
      ? [{ ...condition(), [first]: In(padded(keysOf(first))) }]
      : padded(rows).map((row) => ({
          ...condition(),
          ...(Object.fromEntries(names.map((name) => [name, row[name] as unknown])) as FindOptionsWhere<Row>),
        }));
  await db.transaction((tx) => rowsIn(tx).delete(deleted));
  return rows.length === SWEPT_AT_ONCE;
};
