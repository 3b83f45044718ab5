import { LessThan } from 'typeorm';
import { currentTime } from '../../base/runtime.ts';
import { repositoryOf } from '../../db/manager.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import type { Bytes } from '../../db/values.ts';
import type { SearchKind } from '../document.ts';
import { segmentsIn, segmentState, segmentTextsIn } from '../entity.ts';
import { LEASE_MS } from './segment-writer.ts';

const ROWS_AT_ONCE = 1000;

/** Deletes a segment's rows of an entity in batches, in the order of a column. */
const deleteRows = async (db: WorkloadPool, entity: string, column: string, segment: number): Promise<void> => {
  const rowsIn = repositoryOf<Record<string, Bytes | number>>(entity);
  for (;;) {
    const [end] = await rowsIn(db).find({
      select: { [column]: true },
      where: { segment },
      order: { [column]: 'ASC' },
      skip: ROWS_AT_ONCE,
      take: 1,
    });
    await db.transaction((tx) =>
      rowsIn(tx).delete({ segment, ...(end && { [column]: LessThan(end[column] as Buffer | number) }) }),
    );
    if (!end) return;
  }
};

/** Deletes segments that were replaced more than `graceMs` ago, and unfinished segments without an active builder. */
export const collectGarbage = async (db: WorkloadPool, { code }: SearchKind, graceMs: number): Promise<void> => {
  const { building, dead } = segmentState;
  const now = currentTime();
  await db.transaction((tx) =>
    segmentsIn(tx).update({ kind: code, state: building, touched: LessThan(now - LEASE_MS * 2) }, { state: dead }),
  );
  const segments = await segmentsIn(db).findBy({ kind: code, state: dead, touched: LessThan(now - graceMs) });
  for (const { id } of segments) {
    await deleteRows(db, 'SearchBlock', 'gram', id);
    await deleteRows(db, 'SearchKeys', 'chunk', id);
    await deleteRows(db, 'SearchRemoval', 'removal', id);
    await db.transaction(async (tx) => {
      await segmentTextsIn(tx).delete({ segment: id });
      await segmentsIn(tx).delete({ id });
    });
  }
};
