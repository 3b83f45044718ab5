import type { Contract, InputOf, OutputOf } from '../../contract/index.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import { insertValues } from '../db/sql/insert.ts';
import { idFromBytes, newId, soughtId, storedIdToBytes, timeFromDb, timeToDb } from '../db/values.ts';
import { AppError } from '../errors.ts';
import { storedEventOf } from '../event/service.ts';
import type { DeliveryColumns, WebhookColumns } from './entity.ts';
import { DELIVERY_COLUMNS, deliveryInsertion, TEST_TYPE } from './sender/store.ts';
import { assertReached, change, lockWebhook, note, optionalTime, type WebhookActor } from './webhooks.ts';

/** A delivery, as its owner sees it. */
export type Delivery = OutputOf<Contract['webhook']['redeliver']>;

const deliveryOf = (row: DeliveryColumns): Delivery => {
  const event = row.type === TEST_TYPE ? undefined : storedEventOf(row);
  return {
    id: idFromBytes(row.id),
    type: event?.type ?? 'webhook.test',
    recordId: event?.recordId ?? null,
    state: row.state,
    attempts: row.attempts,
    nextAt: row.state === 'waiting' ? timeFromDb(row.next_at) : null,
    answeredAt: optionalTime(row.answered_at),
    status: row.status,
    answer: row.answer,
  };
};

/**
 * Has a message of the type `webhook.test` sent. Returns the id of the delivery.
 * @throws AppError WEBHOOK_NOT_FOUND, WEBHOOK_NOT_ACTIVE
 */
export const testWebhook = (tx: Transaction, id: string, by: WebhookActor): Promise<string> =>
  change(tx, id, by, 'test', async (webhook) => {
    const { state, reason } = webhook;
    if (state !== 'active') {
      throw new AppError('WEBHOOK_NOT_ACTIVE', { hint: `It is ${state}. ${reason ?? ''}`.trim() });
    }
    const deliveryId = newId(by.now);
    const key = storedIdToBytes(deliveryId);
    const time = timeToDb(by.now);
    await insertValues(tx, deliveryInsertion, [
      [key, webhook.id, 0, key, TEST_TYPE, key, null, null, time, 'waiting', 0, time],
    ]);
    await tx.execute('UPDATE webhooks SET next_at = ? WHERE id = ?', [time, webhook.id]);
    return deliveryId;
  });

type DeliveryQuery = Omit<InputOf<Contract['webhook']['deliveries']>, 'id'>;

/** Deliveries of a webhook, the latest first. @throws AppError WEBHOOK_NOT_FOUND */
export const listDeliveries = async (
  reader: Pick<Reader, 'read'>,
  id: string,
  { state, before, limit }: DeliveryQuery,
  ownerId?: string,
): Promise<{ items: Delivery[]; hasMore: boolean }> => {
  const key = soughtId(id);
  const [known] = await reader.read<Pick<WebhookColumns, 'user_id'>>('SELECT user_id FROM webhooks WHERE id = ?', [
    key,
  ]);
  assertReached(known, ownerId);
  const rows = await reader.read<DeliveryColumns>(
    `SELECT ${DELIVERY_COLUMNS} FROM webhook_deliveries d WHERE d.webhook_id = ?
    ${state === undefined ? '' : 'AND d.state = ?'} ${before === undefined ? '' : 'AND d.id < ?'}
    ORDER BY d.id DESC LIMIT ?`,
    [key, ...(state === undefined ? [] : [state]), ...(before === undefined ? [] : [soughtId(before)]), limit + 1],
  );
  return { items: rows.slice(0, limit).map(deliveryOf), hasMore: rows.length > limit };
};

/** The delivery and its webhook, locked, which may be deleted meanwhile. @throws AppError DELIVERY_NOT_FOUND */
const lockDelivery = async (tx: Transaction, id: string, by: WebhookActor): Promise<DeliveryColumns> => {
  const read = async (more: string): Promise<DeliveryColumns> => {
    const [row] = await tx.read<DeliveryColumns>(
      `SELECT ${DELIVERY_COLUMNS} FROM webhook_deliveries d WHERE d.id = ? ${more}`,
      [soughtId(id)],
    );
    if (!row) throw new AppError('DELIVERY_NOT_FOUND');
    return row;
  };
  const { webhook_id: webhookId } = await read('');
  try {
    await lockWebhook(tx, idFromBytes(webhookId), by);
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== 'WEBHOOK_NOT_FOUND') throw error;
    throw new AppError('DELIVERY_NOT_FOUND', { cause: error });
  }
  return read(tx.dialect.forUpdate);
};

/** Has a delivery made again, under the same id. @throws AppError DELIVERY_NOT_FOUND */
export const redeliver = async (tx: Transaction, deliveryId: string, by: WebhookActor): Promise<Delivery> => {
  const row = await lockDelivery(tx, deliveryId, by);
  const time = timeToDb(by.now);
  await tx.execute("UPDATE webhook_deliveries SET state = 'waiting', attempts = 0, next_at = ? WHERE id = ?", [
    time,
    row.id,
  ]);
  await tx.execute(
    "UPDATE webhooks SET next_at = CASE WHEN next_at < ? THEN next_at ELSE ? END WHERE id = ? AND state = 'active'",
    [time, time, row.webhook_id],
  );
  await note(tx, by, { action: 'webhooks redeliver', subject: `delivery ${deliveryId}` });
  return deliveryOf({ ...row, state: 'waiting', attempts: 0, next_at: time });
};
