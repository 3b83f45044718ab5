import { LessThanOrEqual } from 'typeorm';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { newId } from '../../db/values.ts';
import { eventsIn, feedIn, type FeedRow, outboxIn, pendingReactionsIn } from './entity.ts';

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

/** The extent of the feed. */
export const readFeed = (reader: Pick<Reader, 'manager'>): Promise<FeedRow> => feedIn(reader).findOneByOrFail({});

/** The same, locked: transactions that change the feed run one after the other. */
export const lockFeed = (tx: Transaction): Promise<FeedRow> =>
  feedIn(tx).findOneOrFail({ where: {}, ...tx.dialect.lockingRows });

const ROWS_AT_ONCE = 1000;

/**
 * Ends the feed where events are turned off: removes all of them, so that no cursor leads past the changes of which none will
 * tell. To be run again if it was interrupted.
 */
export const closeFeed = async (db: Pick<WorkloadPool, 'transaction'>, now: Date): Promise<void> => {
  const mark = newId(now);
  await db.transaction(async (tx) => {
    const { name, lastPosition } = await lockFeed(tx);
    await feedIn(tx).update({ name }, { removedThrough: lastPosition, removedId: mark, lastId: mark });
    await pendingReactionsIn(tx).deleteAll();
    await outboxIn(tx).deleteAll();
  });
  const removeSome = (): Promise<number> =>
    db.transaction(async (tx) => {
      const rows = await eventsIn(tx).find({
        select: { position: true },
        order: { position: 'ASC' },
        take: ROWS_AT_ONCE,
      });
      const last = rows.at(-1);
      if (last) await eventsIn(tx).delete({ position: LessThanOrEqual(last.position) });
      return rows.length;
    });
  while ((await removeSome()) === ROWS_AT_ONCE);
};
