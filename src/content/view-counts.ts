import type { Logger } from 'pino';
import type { Lane } from '../db/database.ts';
import { increment } from '../db/increment.ts';
import { WriteBehind } from '../db/write-behind.ts';
import { storedIdToBytes } from '../db/values.ts';
import type { ContentKind } from './kind.ts';

const DELAY_MS = 1000;

/** Counts the views of a kind's records in memory and adds them to the database each second. */
export const viewCounts = (db: Lane, log: Logger, kind: ContentKind): WriteBehind<number> =>
  new WriteBehind<number>({
    delayMs: DELAY_MS,
    merge: (earlier, later) => earlier + later,
    write: (views, deadline) =>
      db.transaction(
        (tx) =>
          increment(
            tx,
            kind.table,
            'view_count',
            [...views].map(([id, n]) => [storedIdToBytes(id), n]),
          ),
        deadline,
      ),
    log,
  });
