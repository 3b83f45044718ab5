import type { Parameter, Transaction } from './database.ts';
import { placeholders } from './values.ts';

/** Rows in a statement: the database looks each of them up among all the others. */
const BATCH_ROWS = 200;

/**
 * Adds to a number column of the rows with these ids. Pass them sorted: rows are locked in this order, and transactions
 * that agree on it do not lock crosswise. One statement for each row would be as safe, but a round trip each.
 */
export const increment = async (
  tx: Transaction,
  table: string,
  column: string,
  additions: readonly (readonly [id: Parameter, n: number])[],
): Promise<void> => {
  for (let start = 0; start < additions.length; start += BATCH_ROWS) {
    const batch = additions.slice(start, start + BATCH_ROWS);
    await tx.execute(
      `UPDATE ${table} SET ${column} = ${column} + CASE id ${batch.map(() => 'WHEN ? THEN ?').join(' ')} ELSE 0 END
      WHERE id IN (${placeholders(batch.length)})`,
      [...batch.flat(), ...batch.map(([id]) => id)],
    );
  }
};
