import type { Contract, EventType, InputOf, OutputOf } from '../../contract/index.ts';
import { MAX_WEBHOOKS, ROTATION_HOURS } from '../../contract/index.ts';
import { type Actor, record } from '../audit/log.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import { insertRows } from '../db/sql/insert.ts';
import { type Bytes, idFromBytes, newId, soughtId, storedIdToBytes, timeFromDb, timeToDb } from '../db/values.ts';
import { AppError } from '../errors.ts';
import { readFeed } from '../outbox/feed.ts';
import { lockUser } from '../user/service.ts';
import type { WebhookColumns } from './entity.ts';
import { ForbiddenTarget, parseTarget, type WebhookPolicy } from './sender/guard.ts';
import { newSecret, type WebhookSecrets } from './secrets.ts';
import { changeState, WEBHOOK_COLUMNS } from './sender/store.ts';

const HOUR_MS = 3_600_000;

/** The owner of webhooks, who reaches no others, or an operator, whose acts the audit keeps. */
export type WebhookActor = { now: Date; ownerId: string } | Actor;

/** A webhook, as its owner sees it. */
export type Webhook = OutputOf<Contract['webhook']['update']>;
/** A webhook, as operators see it. */
export interface OwnedWebhook extends Webhook {
  userId: string;
}
export const optionalTime = (stored: string | null): string | null => (stored === null ? null : timeFromDb(stored));

const webhookOf = (row: WebhookColumns): Webhook => ({
  id: idFromBytes(row.id),
  url: row.url,
  types: row.types === null ? null : (JSON.parse(row.types) as EventType[]),
  recordId: row.record_id,
  state: row.state,
  reason: row.reason,
  failingSince: optionalTime(row.failing_since),
  createdAt: timeFromDb(row.created_at),
  updatedAt: timeFromDb(row.updated_at),
});

/** The ids of two rows are the same. */
const isSame = (stored: Bytes, id: string): boolean => idFromBytes(stored) === id;

/** Tells the audit of an operator's act. */
export const note = async (tx: Transaction, by: WebhookActor, act: Parameters<typeof record>[2]): Promise<void> => {
  if ('name' in by) await record(tx, by, act);
};

/** @throws AppError WEBHOOK_URL_FORBIDDEN for a URL whose form alone forbids it */
const assertTarget = (url: string, policy: WebhookPolicy): void => {
  try {
    parseTarget(url, policy);
  } catch (error) {
    if (!(error instanceof ForbiddenTarget)) throw error;
    throw new AppError('WEBHOOK_URL_FORBIDDEN', { hint: `The URL cannot be used: ${error.message}.`, cause: error });
  }
};

/** A webhook to make: its URL, and its filters. */
export type NewWebhook = InputOf<Contract['webhook']['create']> & { userId: string };

/**
 * Makes a webhook, which gets events from now on, once its endpoint has answered a challenge. The secret is shown only here.
 * @throws AppError USER_NOT_FOUND, WEBHOOK_URL_FORBIDDEN, WEBHOOK_LIMIT, EVENTS_OFF, WEBHOOK_SECRETS_OFF
 */
export const createWebhook = async (
  tx: Transaction,
  { userId, url, types, recordId }: NewWebhook,
  { policy, secrets }: { policy: WebhookPolicy; secrets: WebhookSecrets },
  by: WebhookActor,
): Promise<Webhook & { secret: string }> => {
  if (!tx.recording) throw new AppError('EVENTS_OFF');
  if (!secrets.isOn) throw new AppError('WEBHOOK_SECRETS_OFF');
  assertTarget(url, policy);
  await lockUser(tx, userId);
  const [row] = await tx.read<{ n: number }>('SELECT COUNT(*) AS n FROM webhooks WHERE user_id = ?', [
    storedIdToBytes(userId),
  ]);
  if ((row?.n ?? 0) >= MAX_WEBHOOKS) throw new AppError('WEBHOOK_LIMIT');
  const { last_position: position, last_id: positionId } = await readFeed(tx);
  const id = newId(by.now);
  const secret = newSecret();
  await insertWebhook(tx, {
    id,
    userId,
    url,
    secret: secrets.encrypt(secret, id),
    types: types ?? null,
    recordId: recordId ?? null,
    position,
    positionId,
    now: by.now,
  });
  await note(tx, by, {
    action: 'webhooks create',
    subject: `webhook ${id}`,
    after: { userId, url, types, recordId },
  });
  return { ...webhookOf(await lockWebhook(tx, id, by)), secret };
};

const UNHELD = '00000000-0000-0000-0000-000000000000';

/** A webhook to store. */
interface StoredWebhook {
  id: string;
  userId: string;
  url: string;
  /** The secret, encrypted. */
  secret: string;
  types: readonly EventType[] | null;
  recordId: string | null;
  /** The last event that it does not get. */
  position: number;
  positionId: Bytes;
  now: Date;
}

/** Stores a webhook whose endpoint is still to answer the challenge. */
export const insertWebhook = async (tx: Transaction, { now, positionId, ...webhook }: StoredWebhook): Promise<void> => {
  await insertRows(tx, 'Webhook', [
    {
      ...webhook,
      positionId: idFromBytes(positionId),
      state: 'pending',
      attempts: 0,
      nextAt: now,
      leaseUntil: now,
      holder: UNHELD,
      createdAt: now,
      updatedAt: now,
    },
  ]);
};

const readWebhooks = (reader: Pick<Reader, 'read'>, userId: string | undefined): Promise<WebhookColumns[]> =>
  reader.read<WebhookColumns>(
    `SELECT ${WEBHOOK_COLUMNS} FROM webhooks ${userId === undefined ? '' : 'WHERE user_id = ?'} ORDER BY id`,
    userId === undefined ? [] : [soughtId(userId)],
  );

/** All webhooks, or those of a user, with their users, the oldest first. */
export const listWebhooks = async (reader: Pick<Reader, 'read'>, userId?: string): Promise<OwnedWebhook[]> =>
  (await readWebhooks(reader, userId)).map((row) => ({ ...webhookOf(row), userId: idFromBytes(row.user_id) }));

/** The webhooks of a user, the oldest first. */
export const listOwnWebhooks = async (reader: Pick<Reader, 'read'>, userId: string): Promise<Webhook[]> =>
  (await readWebhooks(reader, userId)).map(webhookOf);

/** @throws AppError WEBHOOK_NOT_FOUND where there is no webhook, or not for this owner */
export const assertReached = (row: Pick<WebhookColumns, 'user_id'> | undefined, ownerId: string | undefined): void => {
  if (!row || (ownerId !== undefined && !isSame(row.user_id, ownerId))) throw new AppError('WEBHOOK_NOT_FOUND');
};

/** The owner whom alone an act may reach; undefined for an operator's. */
const ownerOf = (by: WebhookActor): string | undefined => ('ownerId' in by ? by.ownerId : undefined);

/** A webhook, locked. @throws AppError WEBHOOK_NOT_FOUND */
export const lockWebhook = async (tx: Transaction, id: string, by: WebhookActor): Promise<WebhookColumns> => {
  const [row] = await tx.read<WebhookColumns>(
    `SELECT ${WEBHOOK_COLUMNS} FROM webhooks WHERE id = ? ${tx.dialect.forUpdate}`,
    [soughtId(id)],
  );
  assertReached(row, ownerOf(by));
  return row!;
};

/** Changes a webhook, and tells the audit of an operator's act. @throws AppError WEBHOOK_NOT_FOUND */
export const change = async <T>(
  tx: Transaction,
  id: string,
  by: WebhookActor,
  action: string,
  work: (webhook: WebhookColumns) => Promise<T>,
): Promise<T> => {
  const webhook = await lockWebhook(tx, id, by);
  const result = await work(webhook);
  const { url, state, reason } = webhook;
  await note(tx, by, { action: `webhooks ${action}`, subject: `webhook ${id}`, before: { url, state, reason } });
  return result;
};

/** Deletes a webhook and its deliveries. @throws AppError WEBHOOK_NOT_FOUND */
export const deleteWebhook = (tx: Transaction, id: string, by: WebhookActor): Promise<void> =>
  change(tx, id, by, 'delete', async (webhook) => {
    await tx.execute('DELETE FROM webhook_deliveries WHERE webhook_id = ?', [webhook.id]);
    await tx.execute('DELETE FROM webhooks WHERE id = ?', [webhook.id]);
  });

/** Has a webhook get nothing until it is resumed; its events wait. @throws AppError WEBHOOK_NOT_FOUND */
export const pauseWebhook = (tx: Transaction, id: string, reason: string, by: WebhookActor): Promise<void> =>
  change(tx, id, by, 'pause', (webhook) => changeState(tx, webhook.id, 'paused', reason, by.now));

/**
 * Has a webhook go on with the events that waited, where they are still kept, once its endpoint has answered the challenge again:
 * its URL may be another one by now. @throws AppError WEBHOOK_NOT_FOUND
 */
export const resumeWebhook = (tx: Transaction, id: string, by: WebhookActor): Promise<void> =>
  change(tx, id, by, 'resume', async (webhook) => {
    if (webhook.state !== 'active') await resume(tx, webhook, by.now);
  });

/** Has no answer count any more that is still to come, and ends the lease: what follows need not wait for it. */
const startGeneration = async (tx: Transaction, id: Bytes, now: Date): Promise<void> => {
  const time = timeToDb(now);
  await tx.execute(
    `UPDATE webhooks SET generation = generation + 1, holder = ?, lease_until = ?, next_at = ?, attempts = 0, failing_since = NULL
    WHERE id = ?`,
    [storedIdToBytes(UNHELD), time, time, id],
  );
};

const resume = async (
  tx: Transaction,
  { id, position }: Pick<WebhookColumns, 'id' | 'position'>,
  now: Date,
): Promise<void> => {
  const feed = await readFeed(tx);
  await changeState(tx, id, 'pending', null, now);
  await startGeneration(tx, id, now);
  if (position < feed.removed_through || position > feed.last_position) {
    await tx.execute('UPDATE webhooks SET position = ?, position_id = ? WHERE id = ?', [
      feed.last_position,
      feed.last_id,
      id,
    ]);
  }
};

type WebhookChanges = InputOf<Contract['webhook']['update']>;

/**
 * Changes the members of a webhook that are given. One with another URL has to answer the challenge anew.
 * @throws AppError WEBHOOK_NOT_FOUND, WEBHOOK_URL_FORBIDDEN
 */
export const updateWebhook = async (
  tx: Transaction,
  { id, url, types, recordId, state }: WebhookChanges,
  policy: WebhookPolicy,
  by: WebhookActor,
): Promise<Webhook> => {
  if (url !== undefined) assertTarget(url, policy);
  await change(tx, id, by, 'update', async (webhook) => {
    const isMoved = url !== undefined && url !== webhook.url;
    await tx.execute('UPDATE webhooks SET url = ?, types = ?, record_id = ?, updated_at = ? WHERE id = ?', [
      url ?? webhook.url,
      types === undefined ? webhook.types : types && JSON.stringify(types),
      recordId === undefined ? webhook.record_id : recordId,
      timeToDb(by.now),
      webhook.id,
    ]);
    if (state === 'paused') {
      if (isMoved) await startGeneration(tx, webhook.id, by.now);
      await changeState(tx, webhook.id, 'paused', 'Its owner has paused it.', by.now);
    } else if (isMoved || (state === 'active' && webhook.state !== 'active')) await resume(tx, webhook, by.now);
  });
  return readWebhook(tx, id, by);
};

/** A webhook as it is stored, which stays so until the end of the transaction. @throws AppError WEBHOOK_NOT_FOUND */
export const readWebhook = async (tx: Transaction, id: string, by: WebhookActor): Promise<Webhook> =>
  webhookOf(await lockWebhook(tx, id, by));

/**
 * Gives a webhook another secret; the old one signs beside it for a day.
 * @throws AppError WEBHOOK_NOT_FOUND, WEBHOOK_SECRETS_OFF
 */
export const rotateSecret = (
  tx: Transaction,
  id: string,
  secrets: WebhookSecrets,
  by: WebhookActor,
): Promise<{ secret: string; previousUntil: string }> =>
  change(tx, id, by, 'rotate', async (webhook) => {
    const secret = newSecret();
    const until = timeToDb(new Date(by.now.getTime() + ROTATION_HOURS * HOUR_MS));
    await tx.execute(
      'UPDATE webhooks SET secret = ?, old_secret = ?, old_secret_until = ?, updated_at = ? WHERE id = ?',
      [secrets.encrypt(secret, idFromBytes(webhook.id)), webhook.secret, until, timeToDb(by.now), webhook.id],
    );
    return { secret, previousUntil: timeFromDb(until) };
  });
