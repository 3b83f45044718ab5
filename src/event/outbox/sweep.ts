import { LessThanOrEqual } from 'typeorm';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { eventsIn, feedIn } from './entity.ts';
import { lockFeed } from './feed.ts';

const DAY_MS = 86_400_000;
/** Few enough that locks are short. */
const SWEPT_AT_ONCE = 1000;

/** Removes some events older than a number of days, the oldest first. Returns whether there may be more. */
export const sweepOldEvents = async (
  db: Pick<WorkloadPool, 'manager' | 'transaction'>,
  now: Date,
  retentionDays: number,
): Promise<boolean> => {
  const rows = await eventsIn(db).find({
    select: { position: true, id: true, happenedAt: true },
    where: { happenedAt: LessThanOrEqual(now) },
    order: { position: 'ASC' },
    take: SWEPT_AT_ONCE,
  });
  const end = new Date(now.getTime() - retentionDays * DAY_MS);
  // An event may be a little older than one before it. One that is too young keeps those after it. One of the future, of a clock
  // that was wrong, goes with those after it.
  const young = rows.findIndex(({ happenedAt }) => happenedAt >= end);
  const last = rows.at(young === -1 ? -1 : young - 1);
  if (!last || young === 0) return false;
  await db.transaction(async (tx) => {
    const { name, removedThrough } = await lockFeed(tx);
    if (removedThrough >= last.position) return;
    await feedIn(tx).update({ name }, { removedThrough: last.position, removedId: last.id });
    await eventsIn(tx).delete({ position: LessThanOrEqual(last.position) });
  });
  return young === -1 && rows.length === SWEPT_AT_ONCE;
};
