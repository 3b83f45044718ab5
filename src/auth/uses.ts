import type { Logger } from 'pino';
import { In, LessThan, MoreThan } from 'typeorm';
import type { Reader, Transaction } from '../db/connection.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import type { Dialect } from '../db/dialect.ts';
import { padded, partsOf } from '../db/sql/in-list.ts';
import { insertInto, insertValues } from '../db/sql/insert.ts';
import { memoize } from '../db/sql/memoize.ts';
import { storedIdToBytes } from '../db/values.ts';
import { WriteBuffer, type WritePause } from '../db/batching/write-buffer.ts';
import type { Deadline } from '../base/deadline.ts';
import { keysIn, type KeyUseRow, keyUsesIn } from './entity.ts';

const DAY_MS = 86_400_000;
const DATE_LENGTH = '2026-04-01'.length;
/** The days for which counts are kept. */
export const KEPT_DAYS = 90;
/** Few enough that locks are short. */
const SWEPT_AT_ONCE = 256;
/** A crash loses the counts of this period. A longer one makes fewer writes. */
const DELAY_MS = 10_000;

const dayOf = (time: Date): string => time.toISOString().slice(0, DATE_LENGTH);

const addition = memoize((dialect: Dialect) =>
  insertInto(
    'key_uses',
    ['key_id', 'day', 'operation', 'n'],
    `${dialect.onConflict('key_id, day, operation')} n = n + ${dialect.inserted('n')}`,
  ),
);

const store = async (tx: Transaction, uses: ReadonlyMap<string, number>): Promise<void> => {
  // In the order of the primary key, so that transactions do not deadlock.
  const inOrder = [...uses].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const rows = inOrder.map(([name, n]) => {
    const [keyId = '', day = '', operation = ''] = name.split(' ');
    return [keyId, day, operation, n] as const;
  });
  // Keys may have been deleted meanwhile, with their counts.
  const known = new Set<string>();
  for (const part of partsOf([...new Set(rows.map(([keyId]) => keyId))])) {
    const found = await keysIn(tx).find({ select: { id: true }, where: { id: In(padded(part)) } });
    for (const { id } of found) known.add(id);
  }
  await insertValues(
    tx,
    addition(tx.dialect),
    rows.filter(([keyId]) => known.has(keyId)).map(([keyId, ...count]) => [storedIdToBytes(keyId), ...count]),
  );
};

/**
 * Counts calls by key, operation and day in memory, and stores them together: one row for each key and operation of ten
 * seconds.
 */
export class KeyUses {
  readonly #now: () => Date;
  /** Counts that are not stored yet. */
  readonly buffer: WriteBuffer<number>;
  #day = '';
  #dayEnd = 0;

  constructor(db: WorkloadPool, log: Logger, now: () => Date, pause?: WritePause) {
    this.#now = now;
    this.buffer = new WriteBuffer<number>({
      delayMs: DELAY_MS,
      merge: (earlier, later) => earlier + later,
      write: (uses, deadline) => db.transaction((tx) => store(tx, uses), deadline),
      log,
      pause,
    });
  }

  /** Counts one call. */
  note(keyId: string, operation: string): void {
    const now = this.#now();
    const time = now.getTime();
    // Formatting the day for each call would cost more than the count.
    if (time >= this.#dayEnd || time < this.#dayEnd - DAY_MS) {
      this.#day = dayOf(now);
      this.#dayEnd = (Math.floor(time / DAY_MS) + 1) * DAY_MS;
    }
    this.buffer.add(`${keyId} ${this.#day} ${operation}`, 1);
  }

  /** Stores all counts. */
  flush(): Promise<void> {
    return this.buffer.flush();
  }

  /** Stores the counts, as far as the deadline allows. */
  close(deadline: Deadline): Promise<void> {
    return this.buffer.close(deadline);
  }
}

/** The uses of a key in the last `days` days, today included, the latest day first. */
export const readUses = (reader: Reader, keyId: string, now: Date, days: number): Promise<Omit<KeyUseRow, 'keyId'>[]> =>
  keyUsesIn(reader).find({
    select: { day: true, operation: true, n: true },
    where: { keyId, day: MoreThan(dayOf(new Date(now.getTime() - days * DAY_MS))) },
    order: { day: 'DESC', n: 'DESC', operation: 'ASC' },
  });

/** Deletes some counts of days that are over for longer than KEPT_DAYS. Returns whether there may be more. */
export const sweepUses = async (db: Pick<WorkloadPool, 'manager' | 'transaction'>, now: Date): Promise<boolean> => {
  const end = dayOf(new Date(now.getTime() - KEPT_DAYS * DAY_MS));
  const rows = await keyUsesIn(db).find({
    where: { day: LessThan(end) },
    order: { day: 'ASC' },
    take: SWEPT_AT_ONCE,
  });
  if (rows.length === 0) return false;
  await db.transaction(async (tx) => {
    for (const { keyId, day, operation } of rows) await keyUsesIn(tx).delete({ keyId, day, operation });
  });
  return rows.length === SWEPT_AT_ONCE;
};
