import type { Transaction } from './connection.ts';
import { inList, padded } from './in-list.ts';

/** Rows in a statement: the database looks each of them up among all the others. */
const BATCH_ROWS = 256;

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
    // Of what the padding repeats, CASE takes the first.
    const batch = padded(sorted.slice(start, start + BATCH_ROWS));
    const ids = inList(batch.map(([id]) => id));
    await tx.execute(
      `UPDATE ${table} SET ${column} = ${column} + CASE id ${batch.map(() => 'WHEN ? THEN ?').join(' ')} ELSE 0 END
      WHERE id IN (${ids.sql})`,
      [...batch.flat(), ...ids.parameters],
    );
  }
};
