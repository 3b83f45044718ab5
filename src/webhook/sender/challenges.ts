import { createHash } from 'node:crypto';
import type { Parameter, Transaction } from '../../db/connection.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { type Bytes, idFromBytes, timeFromDb, timeToDb } from '../../db/values.ts';
import type { ChallengeColumns, WebhookColumns } from '../entity.ts';
import { hostOf } from './guard.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
/** Challenges of an owner, or to a host, that may be without an answer before the next one has to wait. */
const FREE_CHALLENGES = 5;
const FIRST_WAIT_MS = MINUTE_MS;
const LONGEST_WAIT_MS = 60 * MINUTE_MS;
/** How long after the next challenge would have been free all is forgotten. */
const FORGOTTEN_AFTER_MS = LONGEST_WAIT_MS;
/** Longer than an exchange: until then, the last challenge may yet be answered. */
const UNDER_WAY_MS = 15 * SECOND_MS;
const SWEPT_AT_ONCE = 500;

type Asked = Pick<WebhookColumns, 'user_id' | 'url'>;

/** How long the next challenge waits after a number of unanswered ones: twice as long for each further one. */
const waitAfter = (unanswered: number): number =>
  unanswered < FREE_CHALLENGES ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (unanswered - FREE_CHALLENGES), LONGEST_WAIT_MS);

const keyOf = (text: string): Buffer => createHash('sha256').update(text).digest().subarray(0, 16);
const ownerKey = ({ user_id: owner }: Asked): Buffer => keyOf(`owner ${idFromBytes(owner)}`);
const hostKey = ({ url }: Asked): Buffer => keyOf(`host ${hostOf(new URL(url)).replace(/\.$/, '')}`);

const msOf = (stored: string): number => Date.parse(timeFromDb(stored));

const changeBudget = (tx: Transaction, id: Bytes, unanswered: number, freeAt: number): Promise<number> =>
  tx.execute('UPDATE webhook_challenges SET unanswered = ?, free_at = ? WHERE id = ?', [
    unanswered,
    timeToDb(new Date(freeAt)),
    id,
  ]);

/** The budgets of an owner and of a host, locked in one order. */
const lockBudgets = async (tx: Transaction, asked: Asked, now: Date): Promise<ChallengeColumns[]> => {
  const keys: Parameter[] = [ownerKey(asked), hostKey(asked)].toSorted((a, b) => Buffer.compare(a, b));
  for (const key of keys) {
    await tx.execute(`${tx.dialect.insertIgnore} INTO webhook_challenges (id, unanswered, free_at) VALUES (?, ?, ?)`, [
      key,
      0,
      timeToDb(now),
    ]);
  }
  const rows = await tx.read<ChallengeColumns>(
    `SELECT id, unanswered, free_at FROM webhook_challenges WHERE id IN (?, ?) ORDER BY id ${tx.dialect.forUpdate}`,
    keys,
  );
  const isForgotten = ({ free_at: freeAt }: ChallengeColumns): boolean =>
    msOf(freeAt) + FORGOTTEN_AFTER_MS < now.getTime();
  return rows.map((row) => (isForgotten(row) ? { ...row, unanswered: 0, free_at: timeToDb(now) } : row));
};

/**
 * Counts a challenge as one without an answer, until `refundChallenge`. Returns when to ask again, where too many have none: soon,
 * while the last one may yet be answered.
 */
export const chargeChallenge = async (
  tx: Transaction,
  asked: Asked,
  now: Date,
): Promise<{ retryAt: Date; isSoon: boolean } | undefined> => {
  const budgets = await lockBudgets(tx, asked, now);
  const time = now.getTime();
  const [spent] = budgets
    .filter(({ free_at: freeAt }) => msOf(freeAt) > time)
    .toSorted((a, b) => msOf(b.free_at) - msOf(a.free_at));
  if (spent) {
    const freeAt = msOf(spent.free_at);
    const isSoon = freeAt - waitAfter(spent.unanswered) + UNDER_WAY_MS > time;
    return { retryAt: new Date(isSoon ? Math.min(time + SECOND_MS, freeAt) : freeAt), isSoon };
  }
  for (const { id, unanswered } of budgets)
    await changeBudget(tx, id, unanswered + 1, time + waitAfter(unanswered + 1));
  return undefined;
};

/**
 * Takes back what a challenge counted that was answered, or was never sent. A host that answers has no budget: it wants them.
 */
export const refundChallenge = async (
  tx: Transaction,
  asked: Asked,
  { isAnswered, now }: { isAnswered: boolean; now: Date },
): Promise<void> => {
  const host = hostKey(asked);
  for (const { id, unanswered } of await lockBudgets(tx, asked, now)) {
    if (isAnswered && Buffer.compare(id, host) === 0)
      await tx.execute('DELETE FROM webhook_challenges WHERE id = ?', [id]);
    else await changeBudget(tx, id, Math.max(unanswered - 1, 0), now.getTime());
  }
};

/** Removes some budgets of which nothing counts any more. Returns whether there may be more. */
export const sweepChallenges = async (db: Pick<WorkloadPool, 'transaction'>, now: Date): Promise<boolean> => {
  const end = timeToDb(new Date(now.getTime() - FORGOTTEN_AFTER_MS));
  const removed = await db.transaction(async (tx) => {
    const rows = await tx.read<{ id: Bytes }>(
      `SELECT id FROM webhook_challenges WHERE free_at < ? LIMIT ${SWEPT_AT_ONCE}`,
      [end],
    );
    for (const { id } of rows) {
      await tx.execute('DELETE FROM webhook_challenges WHERE id = ? AND free_at < ?', [id, end]);
    }
    return rows.length;
  });
  return removed === SWEPT_AT_ONCE;
};
