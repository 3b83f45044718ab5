import type { Reader, Transaction } from '../db/connection.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import { type Bytes, newId, storedIdToBytes } from '../db/values.ts';

/** The extent of the feed, as the drivers return it. Positions have no gaps; 0 is before the first. */
export interface FeedColumns {
  last_position: number;
  last_id: Bytes;
  removed_through: number;
  removed_id: Bytes;
  holder: Bytes;
}

export const FEED_COLUMNS = 'f.last_position, f.last_id, f.removed_through, f.removed_id, f.holder';

/** The extent of the feed. */
export const readFeed = async (reader: Pick<Reader, 'read'>): Promise<FeedColumns> => {
  const [feed] = await reader.read<FeedColumns>(`SELECT ${FEED_COLUMNS} FROM event_feed f`);
  if (!feed) throw new Error('the row of the feed is missing');
  return feed;
};

/** The same, locked: transactions that change the feed run one after the other. */
export const lockFeed = async (tx: Transaction): Promise<FeedColumns> => {
  const [feed] = await tx.read<FeedColumns>(`SELECT ${FEED_COLUMNS} FROM event_feed f ${tx.dialect.forUpdate}`);
  if (!feed) throw new Error('the row of the feed is missing');
  return feed;
};

const ROWS_AT_ONCE = 1000;

/**
 * Ends the feed where events are turned off: removes all of them, so that no cursor leads past the changes of which none will
 * tell. To be run again if it was interrupted.
 */
export const closeFeed = async (db: Pick<WorkloadPool, 'transaction'>, now: Date): Promise<void> => {
  const mark = storedIdToBytes(newId(now));
  await db.transaction(async (tx) => {
    await lockFeed(tx);
    await tx.execute('UPDATE event_feed SET removed_through = last_position, removed_id = ?, last_id = ?', [
      mark,
      mark,
    ]);
    await tx.execute('DELETE FROM event_reactions');
    await tx.execute('DELETE FROM event_outbox');
  });
  const removeSome = (): Promise<number> =>
    db.transaction(async (tx) => {
      const [row] = await tx.read<{ end: number | null }>(
        `SELECT MAX(position) AS end FROM (SELECT position FROM events ORDER BY position LIMIT ${ROWS_AT_ONCE}) e`,
      );
      return row?.end == null ? 0 : tx.execute('DELETE FROM events WHERE position <= ?', [row.end]);
    });
  while ((await removeSome()) === ROWS_AT_ONCE);
};
