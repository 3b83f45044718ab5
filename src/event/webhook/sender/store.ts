import { In, IsNull, LessThan, LessThanOrEqual, type SelectQueryBuilder } from 'typeorm';
import type { WebhookState } from '../../../../contract/index.ts';
import type { Reader, Transaction } from '../../../db/connection.ts';
import { insertRows } from '../../../db/sql/insert.ts';
import { inList, partsOf } from '../../../db/sql/in-list.ts';
import { ERASED_SLUG } from '../../outbox/erase.ts';
import { slugId } from '../../outbox/record.ts';
import { sweepFound } from '../../../db/sweep.ts';
import type { WorkloadPool } from '../../../db/workload-pool.ts';
import { type Bytes, idFromBytes, newId, storedIdToBytes, timeFromDb, timeToDb } from '../../../db/values.ts';
import { AppError } from '../../../base/errors.ts';
import { readEvents } from '../../reads.ts';
import { deliveriesIn, type DeliveryRow, type WebhookRow, webhooksIn } from '../entity.ts';
import { chargeChallenge, refundChallenge } from './challenges.ts';
import { DEAD_AFTER_MS, MAX_ATTEMPTS, nextAttempt } from './schedule.ts';
import type { Tried } from './in-flight.ts';
import type { Condition, NewEvents } from './new-events.ts';
import { type Answer, isTaken } from './send.ts';

/** The time of a webhook that has nothing to do but wait for events. */
export const NEVER = new Date('9999-12-31T23:59:59.999Z');
/** The type of a test, which is no event. */
export const TEST_TYPE = 0;
/** Events for which deliveries are stored at once, and the most that wait for an endpoint: the others wait in the feed. */
const PULLED_AT_ONCE = 100;
const MOST_WAITING = 1000;
const GONE = 410;
const DAY_MS = 86_400_000;

/**
 * The condition on webhooks that have something to do and no holder; not those of suspended users, nor those whose secrets are
 * encrypted with another key than these.
 */
export const dueWebhooks = (now: Date, { after, end, wanting }: NewEvents, keyIds: readonly string[]): Condition => {
  const time = timeToDb(now);
  const news = wanting ? `OR w.position < ? AND ${wanting.sql}` : '';
  const readable = readableBy(keyIds);
  return {
    sql: `w.lease_until <= ?
      AND (w.state = 'active' AND (w.next_at <= ? OR w.position < ? ${news}) OR w.state = 'pending' AND w.next_at <= ?)
      AND ${readable.sql} AND ${IS_SERVED}`,
    parameters: [
      time,
      time,
      after,
      ...(wanting ? [end.position, ...wanting.parameters] : []),
      time,
      ...readable.parameters,
    ],
  };
};

/** Webhooks of users who are not suspended. */
const IS_SERVED = 'NOT EXISTS (SELECT 1 FROM users u WHERE u.id = w.user_id AND u.suspended_at IS NOT NULL)';

/** Webhooks whose secrets are encrypted with one of some keys, or not at all. */
const readableBy = (keyIds: readonly string[]): Condition => {
  if (keyIds.length === 0) return { sql: "w.secret LIKE 'whsec%'", parameters: [] };
  const { sql, parameters } = inList(keyIds);
  return { sql: `(w.secret LIKE 'whsec%' OR SUBSTR(w.secret, 4, 8) IN (${sql}))`, parameters };
};

/** Failing webhooks come after the others of their owner, and of owners with as many places. */
const FAILING = 'CASE WHEN w.failing_since IS NULL AND w.attempts = 0 THEN 0 ELSE 1 END';

/** A webhook that has something to do. */
export type DueWebhook = Pick<WebhookRow, 'id' | 'userId' | 'generation'>;

/**
 * Some webhooks that have something to do: first one of each owner, then the second ones, and so on. In SQL, since TypeORM knows no
 * window functions.
 */
export const readDue = async (reader: Pick<Reader, 'read'>, due: Condition, limit: number): Promise<DueWebhook[]> => {
  const rows = await reader.read<{ id: Bytes; user_id: Bytes; generation: number }>(
    `SELECT d.id, d.user_id, d.generation FROM (
      SELECT w.id, w.user_id, w.generation, w.lease_until, ${FAILING} AS failing,
        ROW_NUMBER() OVER (PARTITION BY w.user_id ORDER BY ${FAILING}, w.lease_until, w.id) AS place
      FROM webhooks w WHERE ${due.sql}) d
    ORDER BY d.place, d.failing, d.lease_until, d.id LIMIT ${limit}`,
    due.parameters,
  );
  return rows.map(({ id, user_id: userId, generation }) => ({
    id: idFromBytes(id),
    userId: idFromBytes(userId),
    generation,
  }));
};

/** A process that delivers, and until when it holds a webhook. */
export interface Lease {
  holder: string;
  until: Date;
}

/** A webhook of which this process has the lease, at the address that it had then. */
export type LeasedWebhook = Pick<WebhookRow, 'id' | 'holder' | 'generation'>;

/**
 * Takes the lease of a webhook, unless another process has it by now, or it is to wait for its challenge. Where it is never given
 * back, the webhook is due when it ends.
 */
export const takeLease = (
  db: Pick<WorkloadPool, 'transaction'>,
  id: string,
  { holder, until }: Lease,
  due: Condition,
  now: Date,
): Promise<WebhookRow | undefined> =>
  db.transaction(async (tx) => {
    // SQL: the condition is that of `readDue`.
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

/** A webhook, locked; null where its lease is lost, it has another address or is challenged anew, or it was deleted. */
const lockLeased = (tx: Transaction, { id, holder, generation }: LeasedWebhook): Promise<WebhookRow | null> =>
  webhooksIn(tx).findOne({ where: { id, holder, generation }, ...tx.dialect.lockingRows });

/**
 * Stores deliveries for the events that follow, and prolongs the lease. Returns the webhook; undefined where it is lost, or rests
 * with its user.
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
      const deliveries = events.map(
        ({ id: eventId, record_id: ofRecord, actor_id: actorId, happened_at: happenedAt, ...event }) => ({
          ...event,
          id: newId(now),
          webhookId: id,
          eventId: idFromBytes(eventId),
          recordId: idFromBytes(ofRecord),
          actorId: actorId && idFromBytes(actorId),
          happenedAt: new Date(timeFromDb(happenedAt)),
          state: 'waiting' as const,
          attempts: 0,
          nextAt: now,
        }),
      );
      await insertRows(tx, 'WebhookDelivery', deliveries);
      await webhooksIn(tx).update({ id }, { position: end.position, positionId: end.id });
      return webhook;
    } catch (error) {
      if (!(error instanceof AppError) || error.reason !== 'EVENTS_GONE') throw error;
      await changeState(tx, id, 'paused', 'The events that follow are no longer kept. Resume to go on from now.', now);
      return undefined;
    }
  });

/** The deliveries of a webhook that may be made: of each record the first one that waits. */
const firstOfRecords = (reader: Pick<Reader, 'manager'>, id: string): SelectQueryBuilder<DeliveryRow> => {
  const deliveries = deliveriesIn(reader).createQueryBuilder('d');
  const earlier = deliveries
    .subQuery()
    .select('1')
    .from('WebhookDelivery', 'e')
    .where("e.webhookId = d.webhookId AND e.recordId = d.recordId AND e.state = 'waiting' AND e.position < d.position");
  return deliveries.where({ webhookId: id, state: 'waiting' }).andWhere(`NOT EXISTS ${earlier.getQuery()}`);
};

/** Some deliveries to make now. */
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
 * Stores how deliveries went. An endpoint that is gone, or dead for days, gets no more. Where the webhook has another address by now,
 * or is challenged anew, nothing is stored: the deliveries wait for the one that answers.
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
      const isOver = next === undefined || attempts >= MAX_ATTEMPTS || answer.status === GONE;
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
 * Stores whether an endpoint answered the challenge: then it gets events, else it is tried again a few times. Where the webhook has
 * another address by now, or is challenged anew, the answer says nothing of it.
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

/** Tells the owner of a webhook that nothing can be sent for want of its secret; the operator restores the key. */
export const UNREADABLE =
  'Its secret cannot be decrypted, so nothing is sent: the operator has to restore the key. `webhook.rotateSecret` makes a new one.';

/** Stores whether the secret of a webhook can be decrypted. Where it cannot, no challenge is sent that would count. */
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

/**
 * Tells the owners of webhooks that have waited for the time of a lease, and whose secrets are encrypted with other keys than these,
 * that nothing is sent. An instance that has the key would have served them by then. Returns how many.
 */
export const tellUnreadable = (
  db: Pick<WorkloadPool, 'transaction'>,
  keyIds: readonly string[],
  since: Date,
  now: Date,
): Promise<number> => {
  const readable = readableBy(keyIds);
  const time = timeToDb(since);
  return db.transaction((tx) =>
    tx.execute(
      `UPDATE webhooks AS w SET reason = ?, updated_at = ?
      WHERE NOT ${readable.sql} AND w.lease_until <= ? AND (w.reason IS NULL OR w.reason <> ?) AND ${IS_SERVED}
        AND (w.state IN ('active', 'pending') AND w.next_at <= ? OR w.state = 'active'
          AND EXISTS (SELECT 1 FROM events e WHERE e.position = w.position + 1 AND e.happened_at <= ?))`,
      [UNREADABLE, timeToDb(now), ...readable.parameters, time, UNREADABLE, time, time],
    ),
  );
};

/**
 * Since when the webhook waits that has waited longest: for an attempt or a challenge, or for an event that it wants, where nothing
 * that its endpoint leaves unanswered holds that up.
 */
export const readOverdue = async (reader: Pick<Reader, 'read'>, matchedThrough: number): Promise<Date | undefined> => {
  const [row] = await reader.read<{ due: string | null; happened: string | null }>(
    `SELECT MIN(w.next_at) AS due, MIN(e.happened_at) AS happened FROM webhooks w
    LEFT JOIN events e ON e.position = w.position + 1 AND w.position < ? AND w.state = 'active' AND w.failing_since IS NULL
    WHERE w.state IN ('active', 'pending') AND ${IS_SERVED}`,
    [matchedThrough],
  );
  const times = [row?.due, row?.happened].flatMap((time) => (time ? [timeFromDb(time)] : []));
  const first = times.toSorted()[0];
  return first === undefined ? undefined : new Date(first);
};

/** Gives a lease back, and notes when the next delivery is due. */
export const releaseLease = (db: Pick<WorkloadPool, 'transaction'>, leased: LeasedWebhook, now: Date): Promise<void> =>
  db.transaction(async (tx) => {
    const webhook = await lockLeased(tx, leased);
    if (!webhook) return;
    const { id } = leased;
    const next = await firstOfRecords(tx, id).select(['d.id', 'd.nextAt']).orderBy('d.nextAt', 'ASC').limit(1).getOne();
    const nextAt = webhook.state === 'pending' ? webhook.nextAt : (next?.nextAt ?? NEVER);
    await webhooksIn(tx).update({ id }, { leaseUntil: now, nextAt });
  });

/** Removes a user as the actor of deliveries, and the names of these tags, which no record has any more. */
export const eraseFromDeliveries = async (
  db: Pick<WorkloadPool, 'transaction'>,
  userId: string,
  slugs: ReadonlySet<string>,
): Promise<void> => {
  await db.transaction((tx) => deliveriesIn(tx).update({ actorId: userId }, { actorId: null }));
  for (const part of partsOf([...slugs])) {
    await db.transaction(async (tx) => {
      const erased = { slug: ERASED_SLUG, recordId: slugId(ERASED_SLUG) };
      await deliveriesIn(tx).update({ slug: In(part) }, erased);
      await webhooksIn(tx).update({ recordId: In(part) }, { recordId: ERASED_SLUG });
    });
  }
};

/** The webhook of a delivery `d` is served: only then may what waits for it still be sent. */
const WAITS_FOR_ATTEMPT = `EXISTS (SELECT 1 FROM webhooks w
  WHERE w.id = d.webhook_id AND w.state IN ('active', 'pending') AND ${IS_SERVED})`;

/**
 * Removes some deliveries that ended long ago, or whose events are no longer kept while their webhooks are paused, disabled or of a
 * suspended user. Returns whether there may be more.
 */
export const sweepDeliveries = (
  db: Pick<WorkloadPool, 'manager' | 'transaction'>,
  now: Date,
  retentionDays: number,
): Promise<boolean> =>
  sweepFound(
    db,
    (take) =>
      deliveriesIn(db)
        .createQueryBuilder('d')
        .select('d.id')
        .where({
          state: In(['delivered', 'failed', 'waiting']),
          happenedAt: LessThan(new Date(now.getTime() - retentionDays * DAY_MS)),
        })
        .andWhere(`(d.state <> 'waiting' OR NOT ${WAITS_FOR_ATTEMPT})`)
        .limit(take)
        .getMany(),
    (tx, rows) => deliveriesIn(tx).delete({ id: In(rows.map(({ id }) => id)) }),
  );
