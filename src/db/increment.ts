import type { Transaction } from './connection.ts';
import { placeholders } from './values.ts';

/** Rows in a statement: the database looks each of them up among all the others. */
const BATCH_ROWS = 200;

type Id = number | Uint8Array;

const byId = ([a]: readonly [Id, number], [b]: readonly [Id, number]): number =>
  typeof a === 'number' || typeof b === 'number' ? Number(a) - Number(b) : Buffer.compare(a, b);

/**
 * Adds to a number column of the rows with these ids. Rows are locked in the order of their ids, so that transactions do
 * not lock crosswise. One statement for each row would be as safe, but a round trip each.
 */
export const increment = async (
  tx: Transaction,
  table: string,
  column: string,
  additions: Iterable<readonly [id: Id, n: number]>,
): Promise<void> => {
  const sorted = [...additions].toSorted(byId);
  for (let start = 0; start < sorted.length; start += BATCH_ROWS) {
    const batch = sorted.slice(start, start + BATCH_ROWS);
    await tx.execute(
      `UPDATE ${table} SET ${column} = ${column} + CASE id ${batch.map(() => 'WHEN ? THEN ?').join(' ')} ELSE 0 END
      WHERE id IN (${placeholders(batch.length)})`,
      [...batch.flat(), ...batch.map(([id]) => id)],
    );
  }
};
