import type { WorkloadPool } from '../db/workload-pool.ts';
import { type Bytes, timeToDb } from '../db/values.ts';
import { lockFeed } from './feed.ts';

const DAY_MS = 86_400_000;
/** Few enough that locks are short. */
const SWEPT_AT_ONCE = 1000;

/** Removes some events older than a number of days, the oldest first. Returns whether there may be more. */
export const sweepOldEvents = async (
  db: Pick<WorkloadPool, 'read' | 'transaction'>,
  now: Date,
  retentionDays: number,
): Promise<boolean> => {
  const rows = await db.read<{ position: number; id: Bytes; happened_at: string }>(
    `SELECT position, id, happened_at FROM events WHERE happened_at <= ? ORDER BY position LIMIT ${SWEPT_AT_ONCE}`,
    [timeToDb(now)],
  );
  const end = timeToDb(new Date(now.getTime() - retentionDays * DAY_MS));
  // An event may be a little older than one before it. One that is too young keeps those after it. One of the future, of a clock
  // that was wrong, goes with those after it.
  const young = rows.findIndex(({ happened_at: at }) => at >= end);
  const last = rows.at(young === -1 ? -1 : young - 1);
  if (!last || young === 0) return false;
  await db.transaction(async (tx) => {
    const { removed_through: removed } = await lockFeed(tx);
    if (removed >= last.position) return;
    await tx.execute('UPDATE event_feed SET removed_through = ?, removed_id = ?', [last.position, last.id]);
    await tx.execute('DELETE FROM events WHERE position <= ?', [last.position]);
  });
  return young === -1 && rows.length === SWEPT_AT_ONCE;
};
