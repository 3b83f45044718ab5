import { In, LessThan, MoreThan } from 'typeorm';
import { MAX_USE_DAYS } from '../../../contract/index.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import type { Dialect } from '../../db/dialect.ts';
import { padded, partsOf } from '../../db/sql/in-list.ts';
import { insertInto, insertValues } from '../../db/sql/write-rows.ts';
import { memoize } from '../../base/cache.ts';
import { sweepRows } from '../../db/sweep.ts';
import { storedIdToBytes } from '../../db/values.ts';
import { keysIn } from '../../auth/entity.ts';
import { type KeyUseRow, keyUsesIn } from '../entity.ts';

/** The days for which uses are kept. */
export const KEPT_DAYS = MAX_USE_DAYS;
const DAY_MS = 86_400_000;
const DATE_LENGTH = '2026-04-01'.length;

/** The day of a time, in UTC: `2026-04-01`. */
export const dayOf = (time: Date): string => time.toISOString().slice(0, DATE_LENGTH);

/** The day a number of days before a time, in UTC. */
export const dayBefore = (time: Date, days: number): string => dayOf(new Date(time.getTime() - days * DAY_MS));

const addition = memoize((dialect: Dialect) =>
  insertInto(
    'key_uses',
    ['key_id', 'day', 'operation', 'n'],
    `${dialect.onConflict('key_id, day, operation')} n = n + ${dialect.inserted('n')}`,
  ),
);

/** Which of some keys are there: they may have been deleted meanwhile, with their uses. */
export const existingKeyIds = async (tx: Transaction, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const known = new Set<string>();
  for (const part of partsOf(ids)) {
    const found = await keysIn(tx).find({ select: { id: true }, where: { id: In(padded(part)) } });
    for (const { id } of found) known.add(id);
  }
  return known;
};

/** Stores counts by `<key id> <day> <operation>`. */
export const storeCounts = async (tx: Transaction, uses: ReadonlyMap<string, number>): Promise<void> => {
  // In the order of the primary key, so that transactions do not deadlock.
  const inOrder = [...uses].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const rows = inOrder.map(([name, n]) => {
    const [keyId = '', day = '', operation = ''] = name.split(' ');
    return [keyId, day, operation, n] as const;
  });
  const known = await existingKeyIds(tx, [...new Set(rows.map(([keyId]) => keyId))]);
  await insertValues(
    tx,
    addition(tx.dialect),
    rows.filter(([keyId]) => known.has(keyId)).map(([keyId, ...count]) => [storedIdToBytes(keyId), ...count]),
  );
};

/** The uses of a key in the last `days` days, today included, the latest day first. */
export const readUses = (reader: Reader, keyId: string, now: Date, days: number): Promise<Omit<KeyUseRow, 'keyId'>[]> =>
  keyUsesIn(reader).find({
    select: { day: true, operation: true, n: true },
    where: { keyId, day: MoreThan(dayBefore(now, days)) },
    order: { day: 'DESC', n: 'DESC', operation: 'ASC' },
  });

/** Deletes some counts of days that are over for longer than KEPT_DAYS. Returns whether there may be more. */
export const sweepUses = (db: Pick<WorkloadPool, 'manager' | 'transaction'>, now: Date): Promise<boolean> =>
  sweepRows(db, keyUsesIn, () => ({ day: LessThan(dayBefore(now, KEPT_DAYS)) }), { day: 'ASC' });
