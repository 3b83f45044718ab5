import { LessThanOrEqual } from 'typeorm';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { newId } from '../../db/values.ts';
import { eventsIn, feedIn, type FeedRow, outboxIn, pendingReactionsIn } from './entity.ts';

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
