import type { Logger } from 'pino';
import type { Lane } from '../../db/database.ts';
import { increment } from '../../db/sql/increment.ts';
import { WriteBehind } from '../../db/batching/write-buffer.ts';
import type { FirstViews } from '../../rate-limit/views.ts';
import type { Call } from '../../procedure.ts';
import { storedIdToBytes } from '../../db/values.ts';
import type { ContentKind } from '../kind.ts';

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

/** Counts the view of a record; with `first`, only the first from its address for a while. */
export const noteView = (
  first: FirstViews | undefined,
  views: WriteBehind<number>,
  id: string,
  { address }: Pick<Call, 'address'>,
): void => {
  if (first) first.note(address, id, () => views.add(id, 1));
  else views.add(id, 1);
};
