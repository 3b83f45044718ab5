import { LessThanOrEqual } from 'typeorm';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { newId } from '../../db/values.ts';
import { eventsIn, feedIn, type FeedRow, outboxIn, pendingReactionsIn } from './entity.ts';

const DAY_MS = 86_400_000;
/** Small, to keep locks short. */
const SWEPT_AT_ONCE = 1000;

/** Removes some events older than a number of days, oldest first. Returns whether more may remain. */
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
  // An event may be slightly older than its predecessor. An event that is too young keeps all later ones. An event
  // dated in the future by a wrong clock is removed together with later ones.
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

/** The extent of the feed, locked: transactions that change the feed run one after another. */
export const lockFeed = (tx: Transaction): Promise<FeedRow> =>
  feedIn(tx).findOneOrFail({ where: {}, ...tx.dialect.lockingRows });

const ROWS_AT_ONCE = 1000;

/**
 * Removes all events when events are turned off, so that no cursor skips changes made without events. Can be run again
 * if it was interrupted.
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
