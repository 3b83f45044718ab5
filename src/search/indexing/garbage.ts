import type { WorkloadPool } from '../../db/workload-pool.ts';
import type { Bytes } from '../../db/values.ts';
import type { SearchKind } from '../document.ts';
import { segmentState } from '../entity.ts';
import { LEASE_MS } from './segment-writer.ts';

const ROWS_AT_ONCE = 1000;

/** Deletes a segment's rows of a table, by and by. */
const deleteRows = async (db: WorkloadPool, table: string, column: string, segment: number): Promise<void> => {
  for (;;) {
    const [end] = await db.read<{ bound: Bytes | number }>(
      `SELECT ${column} AS bound FROM ${table} WHERE segment = ? ORDER BY ${column} LIMIT 1 OFFSET ${ROWS_AT_ONCE}`,
      [segment],
    );
    await db.transaction((tx) =>
      end
        ? tx.execute(`DELETE FROM ${table} WHERE segment = ? AND ${column} < ?`, [segment, end.bound])
        : tx.execute(`DELETE FROM ${table} WHERE segment = ?`, [segment]),
    );
    if (!end) return;
  }
};

/** Deletes segments that were replaced more than `graceMs` ago, and unfinished ones whose builder is gone. */
export const collectGarbage = async (db: WorkloadPool, { code }: SearchKind, graceMs: number): Promise<void> => {
  const { building, dead } = segmentState;
  const now = Date.now();
  await db.transaction((tx) =>
    tx.execute('UPDATE search_segments SET state = ? WHERE kind = ? AND state = ? AND touched < ?', [
      dead,
      code,
      building,
      now - LEASE_MS * 2,
    ]),
  );
  const segments = await db.read<{ id: number }>(
    'SELECT id FROM search_segments WHERE kind = ? AND state = ? AND touched < ?',
    [code, dead, now - graceMs],
  );
  for (const { id } of segments) {
    await deleteRows(db, 'search_blocks', 'gram', id);
    await deleteRows(db, 'search_keys', 'chunk', id);
    await deleteRows(db, 'search_removals', 'removal', id);
    await db.transaction(async (tx) => {
      await tx.execute('DELETE FROM search_texts WHERE segment = ?', [id]);
      await tx.execute('DELETE FROM search_segments WHERE id = ?', [id]);
    });
  }
};
