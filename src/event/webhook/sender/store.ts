import { IsNull, LessThanOrEqual, type SelectQueryBuilder } from 'typeorm';
import type { WebhookState } from '../../../../contract/index.ts';
import type { Reader, Transaction } from '../../../db/connection.ts';
import { insertRows } from '../../../db/sql/write-rows.ts';
import type { WorkloadPool } from '../../../db/workload-pool.ts';
import { newId, storedIdToBytes } from '../../../db/values.ts';
import { AppError } from '../../../base/errors.ts';
import { readEvents } from '../../reads.ts';
import { deliveriesIn, type DeliveryRow, type WebhookRow, webhooksIn } from '../entity.ts';
import { chargeChallenge, refundChallenge } from './challenges.ts';
import { DEAD_AFTER_MS, nextAttempt } from './schedule.ts';
import type { Tried } from './in-flight.ts';
import type { Condition } from './new-events.ts';
import { type Answer, isTaken } from './send.ts';

/** The next time of a webhook that only waits for events. */
export const NEVER = new Date('9999-12-31T23:59:59.999Z');
/** The type of a test message, which is not an event. */
export const TEST_TYPE = 0;
/** Events turned into deliveries at once, and the most that wait for an endpoint: further events wait in the feed. */
const PULLED_AT_ONCE = 100;
const MOST_WAITING = 1000;
const GONE = 410;

/** A process that delivers, and the end of its lease on a webhook. */
export interface Lease {
  holder: string;
  until: Date;
}

/** A webhook whose lease this process holds, with the address that it had when the lease was taken. */
export type LeasedWebhook = Pick<WebhookRow, 'id' | 'holder' | 'generation'>;

/**
 * Takes the lease of a webhook, unless another process has it by now or the webhook has to wait for its challenge. A
 * lease that is never released expires, and the webhook is due again.
 */
export const takeLease = (
  db: Pick<WorkloadPool, 'transaction'>,
  id: string,
  { holder, until }: Lease,
  due: Condition,
  now: Date,
): Promise<WebhookRow | undefined> =>
  db.transaction(async (tx) => {
    // SQL: same condition as in `readDue`.
    const [free] = await tx.read(`SELECT w.id FROM webhooks w WHERE w.id = ? AND ${due.sql} ${tx.dialect.skipLocked}`, [
      storedIdToBytes(id),
      ...due.parameters,
    ]);
    if (!free) return undefined;
    const webhook = await webhooksIn(tx).findOneByOrFail({ id });
    const refused = webhook.state === 'pending' ? await chargeChallenge(tx, webhook, now) : undefined;
    if (refused) {
      const { retryAt, isSoon } = refused;
      await webhooksIn(tx).update({ id }, { nextAt: retryAt });
      const why = `Too many challenges of its owner, or to its host, were not answered: the next one follows at ${retryAt.toISOString()}.`;
      if (!isSoon) await changeState(tx, id, 'pending', why, now);
      return undefined;
    }
    await webhooksIn(tx).update({ id }, { leaseUntil: until, nextAt: until, holder });
    return { ...webhook, holder };
  });

/** Locks a webhook; null if its lease is lost, its address changed, it is challenged anew, or it was deleted. */
const lockLeased = (tx: Transaction, { id, holder, generation }: LeasedWebhook): Promise<WebhookRow | null> =>
  webhooksIn(tx).findOne({ where: { id, holder, generation }, ...tx.dialect.lockingRows });

/**
 * Stores deliveries for the next events, and extends the lease. Returns the webhook; undefined if its lease is lost or
 * its user is suspended.
 */
export const pullEvents = (
  db: Pick<WorkloadPool, 'transaction'>,
  leased: LeasedWebhook,
  until: Date,
  now: Date,
): Promise<WebhookRow | undefined> =>
  db.transaction(async (tx) => {
    const webhook = await lockLeased(tx, leased);
    if (!webhook || webhook.state !== 'active') return undefined;
    const { id, userId, types, recordId } = webhook;
    if (!(await tx.manager.existsBy('User', { id: userId, suspendedAt: IsNull() }))) return undefined;
    await webhooksIn(tx).update({ id }, { leaseUntil: until, nextAt: until });
    if ((await deliveriesIn(tx).countBy({ webhookId: id, state: 'waiting' })) >= MOST_WAITING) return webhook;
    const query = {
      after: { position: webhook.position, id: webhook.positionId },
      types: types ?? undefined,
      recordId: recordId ?? undefined,
      limit: PULLED_AT_ONCE,
    };
    try {
      const { events, end } = await readEvents(tx, query);
      const deliveries = events.map(({ id: eventId, ...event }) => ({
        ...event,
        id: newId(now),
        webhookId: id,
        eventId,
        state: 'waiting' as const,
        attempts: 0,
        nextAt: now,
      }));
      await insertRows(tx, 'WebhookDelivery', deliveries);
      await webhooksIn(tx).update({ id }, { position: end.position, positionId: end.id });
      return webhook;
    } catch (error) {
      if (!(error instanceof AppError) || error.reason !== 'EVENTS_GONE') throw error;
      await changeState(tx, id, 'paused', 'The events that follow are no longer kept. Resume to go on from now.', now);
      return undefined;
    }
  });

/** The deliveries of a webhook that may be sent: for each record, the first one that waits. */
const firstOfRecords = (reader: Pick<Reader, 'manager'>, id: string): SelectQueryBuilder<DeliveryRow> => {
  const deliveries = deliveriesIn(reader).createQueryBuilder('d');
  const earlier = deliveries
    .subQuery()
    .select('1')
    .from('WebhookDelivery', 'e')
    .where("e.webhookId = d.webhookId AND e.recordId = d.recordId AND e.state = 'waiting' AND e.position < d.position");
  return deliveries.where({ webhookId: id, state: 'waiting' }).andWhere(`NOT EXISTS ${earlier.getQuery()}`);
};

/** Some deliveries that are due. */
export const readDueDeliveries = (
  reader: Pick<Reader, 'manager'>,
  id: string,
  now: Date,
  limit: number,
): Promise<DeliveryRow[]> =>
  firstOfRecords(reader, id)
    .andWhere({ nextAt: LessThanOrEqual(now) })
    .orderBy({ 'd.position': 'ASC', 'd.id': 'ASC' })
    .limit(limit)
    .getMany();

export const changeState = async (
  tx: Transaction,
  id: string,
  state: WebhookState,
  reason: string | null,
  now: Date,
): Promise<void> => {
  await webhooksIn(tx).update({ id }, { state, reason, updatedAt: now });
};

const said = (answer: Answer): string => {
  const { status, text, flaw } = answer;
  if (status === undefined) return text;
  return `It answered ${status}${isTaken(answer) && flaw !== undefined ? ` with ${flaw}` : ''}.`;
};

/**
 * Stores the results of deliveries. An endpoint that is gone, or dead for days, gets no more. If the address changed
 * meanwhile or the webhook is challenged anew, nothing is stored: the deliveries wait for an endpoint that answers.
 */
export const storeAnswers = (
  db: Pick<WorkloadPool, 'transaction'>,
  leased: LeasedWebhook,
  tried: readonly Tried[],
  now: Date,
): Promise<void> =>
  db.transaction(async (tx) => {
    const webhook = await lockLeased(tx, leased);
    if (!webhook) return;
    const { id } = leased;
    let { failingSince } = webhook;
    for (const { delivery, answer } of tried) {
      const attempts = delivery.attempts + 1;
      const next = nextAttempt(now, attempts, answer.retryAfter);
      const isOver = next === undefined || answer.status === GONE;
      const state = isTaken(answer) ? 'delivered' : isOver ? 'failed' : 'waiting';
      await deliveriesIn(tx).update(
        { id: delivery.id },
        {
          state,
          attempts,
          nextAt: next ?? now,
          answeredAt: now,
          status: answer.status ?? null,
          answer: answer.text,
        },
      );
      if (isTaken(answer)) failingSince = null;
      else failingSince ??= now;
      if (answer.status === GONE) await changeState(tx, id, 'disabled', 'It answered 410: it is gone.', now);
      else if (state === 'failed' && failingSince !== null && failingSince.getTime() <= now.getTime() - DEAD_AFTER_MS) {
        await changeState(tx, id, 'paused', `Nothing was delivered for three days. ${said(answer)}`, now);
      }
    }
    await webhooksIn(tx).update({ id }, { failingSince });
  });

/**
 * Stores the result of a challenge: if it was answered, the endpoint gets events; else it is challenged again a few
 * times. Ignores the answer if the address changed meanwhile or the webhook is challenged anew.
 */
export const storeChallenge = (
  db: Pick<WorkloadPool, 'transaction'>,
  asked: WebhookRow,
  { isAnswered, answer }: { isAnswered: boolean; answer: Answer },
  now: Date,
): Promise<void> =>
  db.transaction(async (tx) => {
    const webhook = await lockLeased(tx, asked);
    if (isAnswered || answer.isNotSent) await refundChallenge(tx, asked, { isAnswered, now });
    if (!webhook || webhook.state !== 'pending') return;
    const { id } = asked;
    if (isAnswered) {
      await changeState(tx, id, 'active', null, now);
      await webhooksIn(tx).update({ id }, { attempts: 0 });
      return;
    }
    const attempts = webhook.attempts + 1;
    const next = nextAttempt(now, attempts, answer.retryAfter);
    const why = `It did not answer the challenge. ${said(answer)}`;
    await changeState(tx, id, next ? 'pending' : 'disabled', why, now);
    await webhooksIn(tx).update({ id }, { attempts, nextAt: next ?? now });
  });

/** Tells the owner that nothing can be sent because the secret is unreadable; the operator restores the key. */
export const UNREADABLE =
  'Its secret cannot be decrypted, so nothing is sent: the operator has to restore the key. `webhook.rotateSecret` makes a new one.';

/** Stores whether the secret of a webhook can be decrypted. If not, no challenge is sent, so none is counted. */
export const storeReadable = (
  db: Pick<WorkloadPool, 'transaction'>,
  leased: WebhookRow,
  isReadable: boolean,
  now: Date,
): Promise<void> =>
  db.transaction(async (tx) => {
    const webhook = await lockLeased(tx, leased);
    if (!webhook) return;
    if (!isReadable && webhook.state === 'pending') await refundChallenge(tx, leased, { isAnswered: false, now });
    const reason = isReadable ? null : UNREADABLE;
    if (webhook.reason !== reason) await changeState(tx, webhook.id, webhook.state, reason, now);
  });

/** Releases a lease, and stores when the next delivery is due. */
export const releaseLease = (db: Pick<WorkloadPool, 'transaction'>, leased: LeasedWebhook, now: Date): Promise<void> =>
  db.transaction(async (tx) => {
    const webhook = await lockLeased(tx, leased);
    if (!webhook) return;
    const { id } = leased;
    const next = await firstOfRecords(tx, id).select(['d.id', 'd.nextAt']).orderBy('d.nextAt', 'ASC').limit(1).getOne();
    const nextAt = webhook.state === 'pending' ? webhook.nextAt : (next?.nextAt ?? NEVER);
    await webhooksIn(tx).update({ id }, { leaseUntil: now, nextAt });
  });
