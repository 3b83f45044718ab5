import { In, LessThan, MoreThan } from 'typeorm';
import type { Contract, InputOf, OutputOf } from '../../../contract/index.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { Dialect } from '../../db/dialect.ts';
import { partsOf } from '../../db/sql/in-list.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { sweepFound } from '../../db/sweep.ts';
import { isId, newId } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { ERASED_SLUG } from '../outbox/erase.ts';
import { slugId } from '../outbox/record.ts';
import { storedEvent } from '../service.ts';
import { deliveriesIn, type DeliveryRow, eventOf, webhooksIn } from './entity.ts';
import { IS_SERVED } from './sender/due.ts';
import { TEST_TYPE } from './sender/store.ts';
import { assertOwned, changeWebhook, lockWebhook, auditOperator, type WebhookActor } from './webhooks.ts';

const DAY_MS = 86_400_000;

/** A delivery, as its owner sees it. */
export type Delivery = OutputOf<Contract['webhook']['redeliver']>;

const deliveryOf = (row: DeliveryRow): Delivery => {
  const event = row.type === TEST_TYPE ? undefined : storedEvent(eventOf(row));
  return {
    id: row.id,
    type: event?.type ?? 'webhook.test',
    recordId: event?.recordId ?? null,
    state: row.state,
    attempts: row.attempts,
    nextAt: row.state === 'waiting' ? row.nextAt.toISOString() : null,
    answeredAt: row.answeredAt?.toISOString() ?? null,
    status: row.status,
    answer: row.answer,
  };
};

/**
 * Queues a message of the type `webhook.test`. Returns the id of the delivery.
 * @throws AppError WEBHOOK_NOT_FOUND, WEBHOOK_NOT_ACTIVE
 */
export const testWebhook = (tx: Transaction, id: string, by: WebhookActor): Promise<string> =>
  changeWebhook(tx, id, by, 'test', async (webhook) => {
    const { state, reason } = webhook;
    if (state !== 'active') {
      throw new AppError('WEBHOOK_NOT_ACTIVE', { hint: `It is ${state}. ${reason ?? ''}`.trim() });
    }
    const deliveryId = newId(by.now);
    await deliveriesIn(tx).insert({
      id: deliveryId,
      webhookId: id,
      position: 0,
      eventId: deliveryId,
      type: TEST_TYPE,
      recordId: deliveryId,
      happenedAt: by.now,
      state: 'waiting',
      attempts: 0,
      nextAt: by.now,
    });
    await webhooksIn(tx).update({ id }, { nextAt: by.now });
    return deliveryId;
  });

type DeliveryQuery = Omit<InputOf<Contract['webhook']['deliveries']>, 'id'>;

/** The deliveries of a webhook, latest first. @throws AppError WEBHOOK_NOT_FOUND */
export const listDeliveries = async (
  reader: Pick<Reader, 'manager'>,
  id: string,
  { state, before, limit }: DeliveryQuery,
  ownerId?: string,
): Promise<{ items: Delivery[]; hasMore: boolean }> => {
  assertOwned(isId(id) ? await webhooksIn(reader).findOneBy({ id }) : null, ownerId);
  const rows = await deliveriesIn(reader).find({
    where: { webhookId: id, ...(state && { state }), ...(before !== undefined && { id: LessThan(before) }) },
    order: { id: 'DESC' },
    take: limit + 1,
  });
  return { items: rows.slice(0, limit).map(deliveryOf), hasMore: rows.length > limit };
};

/** Locks a delivery and its webhook, which may be deleted meanwhile. @throws AppError DELIVERY_NOT_FOUND */
const lockDelivery = async (tx: Transaction, id: string, by: WebhookActor): Promise<DeliveryRow> => {
  const read = async (lock: Dialect['lockingRows']): Promise<DeliveryRow> => {
    const row = isId(id) ? await deliveriesIn(tx).findOne({ where: { id }, ...lock }) : null;
    if (!row) throw new AppError('DELIVERY_NOT_FOUND');
    return row;
  };
  const { webhookId } = await read({});
  try {
    await lockWebhook(tx, webhookId, by);
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== 'WEBHOOK_NOT_FOUND') throw error;
    throw new AppError('DELIVERY_NOT_FOUND', { cause: error });
  }
  return read(tx.dialect.lockingRows);
};

/** Queues a delivery again, under the same id. @throws AppError DELIVERY_NOT_FOUND */
export const redeliver = async (tx: Transaction, deliveryId: string, by: WebhookActor): Promise<Delivery> => {
  const row = await lockDelivery(tx, deliveryId, by);
  const again = { state: 'waiting', attempts: 0, nextAt: by.now } as const;
  await deliveriesIn(tx).update({ id: deliveryId }, again);
  await webhooksIn(tx).update({ id: row.webhookId, state: 'active', nextAt: MoreThan(by.now) }, { nextAt: by.now });
  await auditOperator(tx, by, { action: 'webhooks redeliver', subject: `delivery ${deliveryId}` });
  return deliveryOf({ ...row, ...again });
};

/** Erases a user as the actor of deliveries, and the names of these tags, which no record has any more. */
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

/** The webhook of a delivery `d` is served: only then may its waiting deliveries still be sent. */
const WAITS_FOR_ATTEMPT = `EXISTS (SELECT 1 FROM webhooks w
  WHERE w.id = d.webhook_id AND w.state IN ('active', 'pending') AND ${IS_SERVED})`;

/**
 * Removes some deliveries that ended long ago, or whose events are no longer kept while their webhooks are paused,
 * disabled or owned by a suspended user. Returns whether more may remain.
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
