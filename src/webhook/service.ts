import type { EventType } from '../../contract/index.ts';
import { type Actor, record } from '../audit/log.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { insertRows, insertValues } from '../db/sql/insert.ts';
import { type Bytes, idFromBytes, idToBytes, newId, storedIdToBytes, timeFromDb, timeToDb } from '../db/values.ts';
import { storedEventOf } from '../event/service.ts';
import { readFeed } from '../outbox/feed.ts';
import { lockUser } from '../user/service.ts';
import type { DeliveryColumns, DeliveryState, WebhookColumns, WebhookState } from './entity.ts';
import { parseTarget, type WebhookPolicy } from './guard.ts';
import { newSecret } from './signature.ts';
import { changeState, DELIVERY_COLUMNS, deliveryInsertion, TEST_TYPE, WEBHOOK_COLUMNS } from './store.ts';

/** Webhooks of a user. */
export const MAX_WEBHOOKS = 20;
/** For so long the secret before signs, too. */
export const OVERLAP_MS = 86_400_000;

/** A webhook that cannot be made or changed: the message says why. */
export class WebhookError extends Error {}

/** A webhook, without its secret. */
export interface Webhook {
  id: string;
  userId: string;
  url: string;
  /** Null for all. */
  types: EventType[] | null;
  recordId: string | null;
  state: WebhookState;
  reason: string | null;
  /** Since when nothing was delivered, if that failed. */
  failingSince: string | null;
  createdAt: string;
}

/** A delivery, as its owner sees it. */
export interface Delivery {
  id: string;
  /** `webhook.test` for a test. */
  type: string;
  recordId: string | null;
  state: DeliveryState;
  attempts: number;
  /** When it is tried again. */
  nextAt: string | null;
  answeredAt: string | null;
  status: number | null;
  answer: string | null;
}

const optionalTime = (stored: string | null): string | null => (stored === null ? null : timeFromDb(stored));

const webhookOf = (row: WebhookColumns): Webhook => ({
  id: idFromBytes(row.id),
  userId: idFromBytes(row.user_id),
  url: row.url,
  types: row.types === null ? null : (JSON.parse(row.types) as EventType[]),
  recordId: row.record_id,
  state: row.state,
  reason: row.reason,
  failingSince: optionalTime(row.failing_since),
  createdAt: timeFromDb(row.created_at),
});

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

/** A webhook to make: its URL, and its filters. */
export interface NewWebhook {
  userId: string;
  url: string;
  types?: readonly EventType[] | undefined;
  recordId?: string | undefined;
}

/**
 * Makes a webhook, which gets events from now on, once its endpoint has answered a challenge. The secret is shown only here.
 * @throws AppError USER_NOT_FOUND, ForbiddenTarget for a URL that may not be called, WebhookError beyond `MAX_WEBHOOKS`
 */
export const createWebhook = async (
  db: Database,
  { userId, url, types, recordId }: NewWebhook,
  policy: WebhookPolicy,
  by: Actor,
): Promise<{ id: string; secret: string }> => {
  parseTarget(url, policy);
  return db.transaction(async (tx) => {
    await lockUser(tx, userId);
    const [row] = await tx.read<{ n: number }>('SELECT COUNT(*) AS n FROM webhooks WHERE user_id = ?', [
      storedIdToBytes(userId),
    ]);
    if ((row?.n ?? 0) >= MAX_WEBHOOKS) throw new WebhookError(`A user has ${MAX_WEBHOOKS} webhooks at most.`);
    const { last_position: position, last_id: positionId } = await readFeed(tx);
    const id = newId(by.now);
    const secret = newSecret();
    await insertRows(tx, 'Webhook', [
      {
        id,
        userId,
        url,
        secret,
        types: types ?? null,
        recordId: recordId ?? null,
        state: 'pending',
        attempts: 0,
        position,
        positionId: idFromBytes(positionId),
        nextAt: by.now,
        leaseUntil: by.now,
        holder: NOBODY,
        createdAt: by.now,
        updatedAt: by.now,
      },
    ]);
    await record(tx, by, {
      action: 'webhooks create',
      subject: `webhook ${id}`,
      after: { userId, url, types, recordId },
    });
    return { id, secret };
  });
};

const NOBODY = '00000000-0000-0000-0000-000000000000';

/** All webhooks, or those of a user, the oldest first. */
export const listWebhooks = async (reader: Pick<Reader, 'read'>, userId?: string): Promise<Webhook[]> => {
  const rows = await reader.read<WebhookColumns>(
    `SELECT ${WEBHOOK_COLUMNS} FROM webhooks ${userId === undefined ? '' : 'WHERE user_id = ?'} ORDER BY id`,
    userId === undefined ? [] : [idToBytes(userId) ?? Buffer.alloc(0)],
  );
  return rows.map(webhookOf);
};

/** A webhook, locked. @throws WebhookError */
const lockWebhook = async (tx: Transaction, id: string): Promise<WebhookColumns> => {
  const [row] = await tx.read<WebhookColumns>(
    `SELECT ${WEBHOOK_COLUMNS} FROM webhooks WHERE id = ? ${tx.dialect.forUpdate}`,
    [idToBytes(id) ?? Buffer.alloc(0)],
  );
  if (!row) throw new WebhookError(`There is no webhook ${id}.`);
  return row;
};

/** Changes a webhook in a transaction that records it. @throws WebhookError */
const change = <T>(
  db: Database,
  id: string,
  by: Actor,
  action: string,
  work: (tx: Transaction, webhook: WebhookColumns) => Promise<T>,
): Promise<T> =>
  db.transaction(async (tx) => {
    const webhook = await lockWebhook(tx, id);
    const result = await work(tx, webhook);
    const { url, state, reason } = webhook;
    await record(tx, by, { action: `webhooks ${action}`, subject: `webhook ${id}`, before: { url, state, reason } });
    return result;
  });

/** Deletes a webhook and its deliveries. @throws WebhookError */
export const deleteWebhook = (db: Database, id: string, by: Actor): Promise<void> =>
  change(db, id, by, 'delete', async (tx, webhook) => {
    await tx.execute('DELETE FROM webhook_deliveries WHERE webhook_id = ?', [webhook.id]);
    await tx.execute('DELETE FROM webhooks WHERE id = ?', [webhook.id]);
  });

/** Has a webhook get nothing until it is resumed; its events wait. @throws WebhookError */
export const pauseWebhook = (db: Database, id: string, reason: string, by: Actor): Promise<void> =>
  change(db, id, by, 'pause', (tx, webhook) => changeState(tx, webhook.id, 'paused', reason, by.now));

/**
 * Has a webhook go on: one that was paused with the events that waited, where they are still kept, one that was disabled with the
 * challenge. @throws WebhookError
 */
export const resumeWebhook = (db: Database, id: string, by: Actor): Promise<void> =>
  change(db, id, by, 'resume', async (tx, { id: key, state, position }) => {
    if (state === 'active') throw new WebhookError(`The webhook ${id} is active.`);
    const feed = await readFeed(tx);
    await changeState(tx, key, state === 'paused' ? 'active' : 'pending', null, by.now);
    await tx.execute('UPDATE webhooks SET attempts = 0, failing_since = NULL, next_at = ? WHERE id = ?', [
      timeToDb(by.now),
      key,
    ]);
    if (position < feed.removed_through || position > feed.last_position) {
      await tx.execute('UPDATE webhooks SET position = ?, position_id = ? WHERE id = ?', [
        feed.last_position,
        feed.last_id,
        key,
      ]);
    }
  });

/** Gives a webhook another secret; the old one signs beside it for a day. @throws WebhookError */
export const rotateSecret = (db: Database, id: string, by: Actor): Promise<string> =>
  change(db, id, by, 'rotate', async (tx, webhook) => {
    const secret = newSecret();
    await tx.execute(
      'UPDATE webhooks SET secret = ?, old_secret = ?, old_secret_until = ?, updated_at = ? WHERE id = ?',
      [secret, webhook.secret, timeToDb(new Date(by.now.getTime() + OVERLAP_MS)), timeToDb(by.now), webhook.id],
    );
    return secret;
  });

/** Has a message of the type `webhook.test` sent. Returns the id of the delivery. @throws WebhookError */
export const testWebhook = (db: Database, id: string, by: Actor): Promise<string> =>
  change(db, id, by, 'test', async (tx, webhook) => {
    if (webhook.state !== 'active') throw new WebhookError(`The webhook ${id} is ${webhook.state}: resume it first.`);
    const deliveryId = newId(by.now);
    const key = storedIdToBytes(deliveryId);
    const time = timeToDb(by.now);
    await insertValues(tx, deliveryInsertion, [
      [key, webhook.id, 0, key, TEST_TYPE, key, null, null, time, 'waiting', 0, time],
    ]);
    await tx.execute('UPDATE webhooks SET next_at = ? WHERE id = ?', [time, webhook.id]);
    return deliveryId;
  });

const LISTED = 100;

/** The last deliveries of a webhook, or those in a state, the latest first. @throws WebhookError */
export const listDeliveries = async (
  reader: Pick<Reader, 'read'>,
  id: string,
  { state, limit = LISTED }: { state?: DeliveryState | undefined; limit?: number | undefined } = {},
): Promise<Delivery[]> => {
  const key = idToBytes(id) ?? Buffer.alloc(0);
  const [known] = await reader.read('SELECT id FROM webhooks WHERE id = ?', [key]);
  if (!known) throw new WebhookError(`There is no webhook ${id}.`);
  const rows = await reader.read<DeliveryColumns>(
    `SELECT ${DELIVERY_COLUMNS} FROM webhook_deliveries d WHERE d.webhook_id = ? ${state === undefined ? '' : 'AND d.state = ?'}
    ORDER BY d.id DESC LIMIT ?`,
    [key, ...(state === undefined ? [] : [state]), limit],
  );
  return rows.map(deliveryOf);
};

/** Has a delivery made again, under the same id. @throws WebhookError */
export const redeliver = (db: Database, deliveryId: string, by: Actor): Promise<void> =>
  db.transaction(async (tx) => {
    const key = idToBytes(deliveryId) ?? Buffer.alloc(0);
    const [row] = await tx.read<{ webhook_id: Bytes }>('SELECT webhook_id FROM webhook_deliveries WHERE id = ?', [key]);
    if (!row) throw new WebhookError(`There is no delivery ${deliveryId}.`);
    const webhook = await lockWebhook(tx, idFromBytes(row.webhook_id));
    const time = timeToDb(by.now);
    await tx.execute("UPDATE webhook_deliveries SET state = 'waiting', attempts = 0, next_at = ? WHERE id = ?", [
      time,
      key,
    ]);
    await tx.execute('UPDATE webhooks SET next_at = CASE WHEN next_at < ? THEN next_at ELSE ? END WHERE id = ?', [
      time,
      time,
      webhook.id,
    ]);
    await record(tx, by, { action: 'webhooks redeliver', subject: `delivery ${deliveryId}` });
  });
