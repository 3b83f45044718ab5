import type { Logger } from 'pino';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { increment } from '../../db/sql/increment.ts';
import { WriteBuffer, type WritePause } from '../../db/batching/write-buffer.ts';
import type { FirstViews } from '../../limits/rate-limit/limits.ts';
import type { Call } from '../../auth/procedure.ts';
import { storedIdToBytes } from '../../db/values.ts';
import type { ContentKind } from '../kind.ts';

const DELAY_MS = 1000;

/** A buffer that adds the views of a kind's records to the database each second. */
const bufferOf = (db: WorkloadPool, log: Logger, kind: ContentKind, pause?: WritePause): WriteBuffer<number> =>
  new WriteBuffer<number>({
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
    pause,
    batchKey: (id) => db.dialect.batchKey(id),
  });

/** Counts the views of a kind's records in memory and adds them to the database each second. */
export class ViewCounts {
  readonly buffer: WriteBuffer<number>;
  readonly #first: FirstViews | undefined;

  /** With `first`, repeated views of a record from the same address do not count for a while. */
  constructor(
    db: WorkloadPool,
    log: Logger,
    kind: ContentKind,
    { first, pause }: { first: FirstViews | undefined; pause?: WritePause },
  ) {
    this.buffer = bufferOf(db, log, kind, pause);
    this.#first = first;
  }

  /** Counts the view of a record, unless the deadline ended its call before the record was read. */
  note(id: string, { address, deadline }: Pick<Call, 'address' | 'deadline'>): void {
    if (deadline.error) return;
    if (this.#first) this.#first.note(address, id, () => this.buffer.add(id, 1));
    else this.buffer.add(id, 1);
  }
}
