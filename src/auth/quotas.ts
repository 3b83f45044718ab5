import { LessThan } from 'typeorm';
import { DAILY_GAME_TYPES, DAILY_KEPT_ANSWERS, DAILY_TAGS } from '../../contract/limits.ts';
import type { Transaction } from '../db/connection.ts';
import { insertInto, insertValues } from '../db/sql/write-rows.ts';
import type { Dialect } from '../db/dialect.ts';
import { sweepRows } from '../db/sweep.ts';
import type { WorkloadPool } from '../db/workload-pool.ts';
import { memoize } from '../base/cache.ts';
import { storedIdToBytes } from '../db/values.ts';
import { AppError } from '../base/errors.ts';
import { keyQuotasIn } from './entity.ts';
import type { Caller } from './verifier.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const DATE_LENGTH = '2026-04-01'.length;

/** The daily quotas of a user. */
const quotas = {
  tags: { most: DAILY_TAGS, words: 'new tags' },
  'game types': { most: DAILY_GAME_TYPES, words: 'new types of games' },
} as const;

/** The name of the quota of stored answers, in bytes. */
const ANSWERS = 'answers';

/** A user's quota at a time. Days are UTC days. */
export interface Quota {
  userId: string;
  now: Date;
}

/** The quota of the calling user. */
export const quotaOf = ({ userId }: Caller, now: Date): Quota => ({ userId, now });

const addition = memoize((dialect: Dialect) =>
  insertInto(
    'key_quotas',
    ['key_id', 'day', 'what', 'n'],
    `${dialect.onConflict('key_id, day, what')} n = n + ${dialect.inserted('n')}`,
  ),
);

const exceeded = (item: keyof typeof quotas, used: number, requested: number, now: Date): AppError => {
  const { most, words } = quotas[item];
  const leftMs = DAY_MS - (now.getTime() % DAY_MS);
  const hours = Math.ceil(leftMs / HOUR_MS);
  return new AppError('QUOTA_EXCEEDED', {
    retryAfter: Math.ceil(leftMs / 1000),
    hint: `A user may make ${most} ${words} a day. This one has made ${used}, and would make ${requested} more. The next day begins at midnight UTC, in ${hours === 1 ? 'less than an hour' : `${hours} hours`}.`,
  });
};

const dayOf = (now: Date): string => now.toISOString().slice(0, DATE_LENGTH);

/** Adds to the count of a user and returns the sum. The count stays locked until the transaction ends. */
const add = async (
  tx: Transaction,
  { userId, now }: Quota,
  item: keyof typeof quotas | typeof ANSWERS,
  requested: number,
): Promise<number> => {
  const day = dayOf(now);
  await insertValues(tx, addition(tx.dialect), [[storedIdToBytes(userId), day, item, requested]]);
  return (await keyQuotasIn(tx).findOneBy({ userId, day, what: item }))?.n ?? 0;
};

/** Counts further things that a user makes. @throws AppError QUOTA_EXCEEDED */
export type ChargeQuota = (item: keyof typeof quotas, requested: number) => Promise<void>;

/**
 * Counts things that a user makes, in the transaction that makes them, so that the quota holds across instances. The
 * count of the user stays locked until the transaction ends. Undefined if users have no quotas.
 */
export const quotaChecker = (tx: Transaction, quota: Quota | undefined): ChargeQuota | undefined =>
  quota &&
  (async (item, requested) => {
    const n = await add(tx, quota, item, requested);
    if (n > quotas[item].most) throw exceeded(item, n - requested, requested, quota.now);
  });

/** Whether an answer of this size fits the quota of the user; if so, counts it. */
export const mayKeepAnswer = async (tx: Transaction, quota: Quota, bytes: number): Promise<boolean> => {
  const sum = await add(tx, quota, ANSWERS, bytes);
  if (sum <= DAILY_KEPT_ANSWERS) return true;
  const { userId, now } = quota;
  await keyQuotasIn(tx).update({ userId, day: dayOf(now), what: ANSWERS }, { n: sum - bytes });
  return false;
};

/** Deletes some counts of days before yesterday: no clock is so late. Returns whether there may be more. */
export const sweepQuotas = (db: Pick<WorkloadPool, 'manager' | 'transaction'>, now: Date): Promise<boolean> => {
  const yesterday = dayOf(new Date(now.getTime() - DAY_MS));
  return sweepRows(db, keyQuotasIn, () => ({ day: LessThan(yesterday) }), { userId: 'ASC', day: 'ASC', what: 'ASC' });
};
