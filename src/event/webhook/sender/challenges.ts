import { createHash } from 'node:crypto';
import { In, LessThan } from 'typeorm';
import type { Transaction } from '../../../db/connection.ts';
import { insertMissing } from '../../../db/sql/write-rows.ts';
import { sweepRows } from '../../../db/sweep.ts';
import type { WorkloadPool } from '../../../db/workload-pool.ts';
import { idFromBytes, storedIdToBytes, timeToDb } from '../../../db/values.ts';
import { type ChallengeRow, challengesIn, type WebhookRow } from '../entity.ts';
import { hostOf } from './guard.ts';
import type { Answer } from './send.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
/** Unanswered challenges of an owner, or to a host, before the next one has to wait. */
const FREE_CHALLENGES = 5;
const FIRST_WAIT_MS = MINUTE_MS;
const LONGEST_WAIT_MS = 60 * MINUTE_MS;
/** A budget is forgotten this long after its next challenge would have been free. */
const FORGOTTEN_AFTER_MS = LONGEST_WAIT_MS;
/** Longer than an exchange: the last challenge may still be answered until then. */
const UNDER_WAY_MS = 15 * SECOND_MS;

/** The flaw in the answer to a challenge, in words for the owner; undefined for a correct answer. */
export const challengeFlaw = ({ body, flaw }: Answer, challenge: string): string | undefined => {
  if (flaw !== undefined) return flaw;
  if (body.trim() === '') return 'an empty body';
  try {
    const { challenge: came } = Object(JSON.parse(body)) as { challenge?: unknown };
    if (came === challenge) return undefined;
    return came === undefined ? 'JSON without `challenge`' : 'another text in `challenge`';
  } catch {
    return 'text that is no JSON';
  }
};

type Asked = Pick<WebhookRow, 'userId' | 'url'>;

/** How long the next challenge waits after a number of unanswered ones: each one doubles the wait. */
const waitAfter = (unanswered: number): number =>
  unanswered < FREE_CHALLENGES ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (unanswered - FREE_CHALLENGES), LONGEST_WAIT_MS);

const keyOf = (text: string): string => idFromBytes(createHash('sha256').update(text).digest().subarray(0, 16));
const ownerKey = ({ userId }: Asked): string => keyOf(`owner ${userId}`);
const hostKey = ({ url }: Asked): string => keyOf(`host ${hostOf(new URL(url)).replace(/\.$/, '')}`);

/** The budgets of an owner and of a host, locked in one order. */
const lockBudgets = async (tx: Transaction, asked: Asked, now: Date): Promise<ChallengeRow[]> => {
  const keys = [ownerKey(asked), hostKey(asked)].toSorted((a, b) => (a < b ? -1 : 1));
  await insertMissing(
    tx,
    'webhook_challenges',
    ['id', 'unanswered', 'free_at'],
    keys.map((id) => [storedIdToBytes(id), 0, timeToDb(now)]),
  );
  const rows = await challengesIn(tx).find({
    where: { id: In(keys) },
    order: { id: 'ASC' },
    ...tx.dialect.lockingRows,
  });
  const isForgotten = ({ freeAt }: ChallengeRow): boolean => freeAt.getTime() + FORGOTTEN_AFTER_MS < now.getTime();
  return rows.map((row) => (isForgotten(row) ? { ...row, unanswered: 0, freeAt: now } : row));
};

/**
 * Counts a challenge as unanswered until `refundChallenge`. If too many are unanswered, returns when to try again:
 * soon, while the last one may still be answered.
 */
export const chargeChallenge = async (
  tx: Transaction,
  asked: Asked,
  now: Date,
): Promise<{ retryAt: Date; isSoon: boolean } | undefined> => {
  const budgets = await lockBudgets(tx, asked, now);
  const time = now.getTime();
  const [spent] = budgets
    .filter(({ freeAt }) => freeAt.getTime() > time)
    .toSorted((a, b) => b.freeAt.getTime() - a.freeAt.getTime());
  if (spent) {
    const freeAt = spent.freeAt.getTime();
    const isSoon = freeAt - waitAfter(spent.unanswered) + UNDER_WAY_MS > time;
    return { retryAt: new Date(isSoon ? Math.min(time + SECOND_MS, freeAt) : freeAt), isSoon };
  }
  for (const { id, unanswered: before } of budgets) {
    const unanswered = before + 1;
    await challengesIn(tx).update({ id }, { unanswered, freeAt: new Date(time + waitAfter(unanswered)) });
  }
  return undefined;
};

/**
 * Refunds a challenge that was answered or never sent. A host that answers wants challenges, so its budget is deleted.
 */
export const refundChallenge = async (
  tx: Transaction,
  asked: Asked,
  { isAnswered, now }: { isAnswered: boolean; now: Date },
): Promise<void> => {
  const host = hostKey(asked);
  for (const { id, unanswered } of await lockBudgets(tx, asked, now)) {
    if (isAnswered && id === host) await challengesIn(tx).delete({ id });
    else await challengesIn(tx).update({ id }, { unanswered: Math.max(unanswered - 1, 0), freeAt: now });
  }
};

/** Removes some budgets whose counts have expired. Returns whether more may remain. */
export const sweepChallenges = (db: Pick<WorkloadPool, 'manager' | 'transaction'>, now: Date): Promise<boolean> =>
  sweepRows(db, challengesIn, () => ({ freeAt: LessThan(new Date(now.getTime() - FORGOTTEN_AFTER_MS)) }));
