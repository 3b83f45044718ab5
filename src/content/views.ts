import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { WriteBehind } from '../db/write-behind.ts';
import { ownIdToBytes, placeholders } from '../db/values.ts';
import type { ContentKind } from './kind.ts';

const DELAY_MS = 1000;
const BATCH = 500;

/** Counts the views of a kind's records in memory and adds them to the database each second. */
export const viewCounts = (db: Database, log: Logger, kind: ContentKind): WriteBehind<number> =>
  new WriteBehind<number>({
    delayMs: DELAY_MS,
    merge: (earlier, later) => earlier + later,
    write: (views) => db.transaction((tx) => addViews(tx.execute, kind, views)),
    log,
  });

const addViews = async (
  execute: (sql: string, parameters: (number | Buffer)[]) => Promise<number>,
  kind: ContentKind,
  views: ReadonlyMap<string, number>,
): Promise<void> => {
  // Records with as many views share a statement; sorted, so that two processes do not lock crosswise.
  const byNumber = new Map<number, Buffer[]>();
  for (const [id, n] of [...views].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    byNumber.set(n, [...(byNumber.get(n) ?? []), ownIdToBytes(id)]);
  for (const [n, all] of byNumber) {
    for (let start = 0; start < all.length; start += BATCH) {
      const ids = all.slice(start, start + BATCH);
      await execute(`UPDATE ${kind.table} SET view_count = view_count + ? WHERE id IN (${placeholders(ids.length)})`, [
        n,
        ...ids,
      ]);
    }
  }
};
