import { isDeepStrictEqual } from 'node:util';
import type { Contract, InputOf, OutputOf } from '../../../contract/index.ts';
import { MAX_SIGNING_SECRETS, MAX_WEBHOOKS, ROTATION_HOURS } from '../../../contract/index.ts';
import { type Actor, record } from '../../auth/audit/log.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import { lockRows } from '../../db/sql/lock-rows.ts';
import { isId, newId, NIL_ID, storedIdToBytes } from '../../db/values.ts';
import { AppError } from '../../base/errors.ts';
import { readFeed } from '../outbox/feed.ts';
import { deliveriesIn, formerSecrets, type WebhookRow, webhooksIn } from './entity.ts';
import { ForbiddenTarget, parseTarget, type WebhookPolicy } from './sender/guard.ts';
import { newSecret, type WebhookSecrets } from './secrets.ts';
import { changeState, UNREADABLE } from './sender/store.ts';

const HOUR_MS = 3_600_000;

/** The owner of webhooks, who has access to no others, or an operator, whose acts the audit log records. */
export type WebhookActor = { now: Date; ownerId: string } | Actor;

/** A webhook, as its owner sees it. */
export type Webhook = OutputOf<Contract['webhook']['update']>;
/** A webhook, as operators see it. */
export interface OwnedWebhook extends Webhook {
  userId: string;
}

/** A webhook as it is shown. It shows that its secret can be decrypted again even before it is served. */
const webhookOf = (
  { id, url, types, recordId, state, reason, secret, ...times }: WebhookRow,
  secrets?: WebhookSecrets,
): Webhook => ({
  id,
  url,
  types,
  recordId,
  state,
  reason: reason === UNREADABLE && secrets?.canDecrypt(secret, id) ? null : reason,
  failingSince: times.failingSince?.toISOString() ?? null,
  createdAt: times.createdAt.toISOString(),
  updatedAt: times.updatedAt.toISOString(),
});

/** Records an operator's act in the audit log. */
export const auditOperator = async (
  tx: Transaction,
  by: WebhookActor,
  act: Parameters<typeof record>[2],
): Promise<void> => {
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

/** A webhook to create: its URL and its filters. */
export type NewWebhook = InputOf<Contract['webhook']['create']> & { userId: string };

/**
 * Creates a webhook. It gets events from now on, once its endpoint has answered a challenge. Only here is the secret
 * shown.
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
  // The lock serialises these calls, so that none exceeds the limit.
  const [user] = isId(userId) ? await lockRows(tx, 'users', [storedIdToBytes(userId)]) : [];
  if (!user) throw new AppError('USER_NOT_FOUND');
  if ((await webhooksIn(tx).countBy({ userId })) >= MAX_WEBHOOKS) throw new AppError('WEBHOOK_LIMIT');
  const { lastPosition: position, lastId: positionId } = await readFeed(tx);
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
  await auditOperator(tx, by, {
    action: 'webhooks create',
    subject: `webhook ${id}`,
    after: { userId, url, types, recordId },
  });
  return { ...(await readWebhook(tx, id, secrets, by)), secret };
};

/** A webhook to store. Its secret is encrypted, and the event at its position is not sent to it. */
type StoredWebhook = Pick<
  WebhookRow,
  'id' | 'userId' | 'url' | 'secret' | 'types' | 'recordId' | 'position' | 'positionId'
> & { now: Date };

/** Stores a webhook whose endpoint has yet to answer the challenge. */
export const insertWebhook = async (tx: Transaction, { now, ...webhook }: StoredWebhook): Promise<void> => {
  await webhooksIn(tx).insert({
    ...webhook,
    state: 'pending',
    attempts: 0,
    nextAt: now,
    leaseUntil: now,
    holder: NIL_ID,
    generation: 0,
    createdAt: now,
    updatedAt: now,
  });
};

const readWebhooks = async (reader: Pick<Reader, 'manager'>, userId: string | undefined): Promise<WebhookRow[]> =>
  userId === undefined || isId(userId)
    ? webhooksIn(reader).find({ where: { ...(userId !== undefined && { userId }) }, order: { id: 'ASC' } })
    : [];

/** All webhooks, or those of one user, with their users, oldest first. */
export const listWebhooks = async (
  reader: Pick<Reader, 'manager'>,
  userId?: string,
  secrets?: WebhookSecrets,
): Promise<OwnedWebhook[]> =>
  (await readWebhooks(reader, userId)).map((row) => ({ ...webhookOf(row, secrets), userId: row.userId }));

/** The webhooks of a user, oldest first. */
export const listOwnWebhooks = async (
  reader: Pick<Reader, 'manager'>,
  userId: string,
  secrets?: WebhookSecrets,
): Promise<Webhook[]> => (await readWebhooks(reader, userId)).map((row) => webhookOf(row, secrets));

/** The webhook, if it exists and the owner, or an operator, may access it. @throws AppError WEBHOOK_NOT_FOUND */
export const assertOwned = (webhook: WebhookRow | null, ownerId: string | undefined): WebhookRow => {
  if (!webhook || (ownerId !== undefined && webhook.userId !== ownerId)) throw new AppError('WEBHOOK_NOT_FOUND');
  return webhook;
};

/** The owner to whose webhooks an act is limited; undefined for an act of an operator. */
const ownerOf = (by: WebhookActor): string | undefined => ('ownerId' in by ? by.ownerId : undefined);

/** Locks a webhook. @throws AppError WEBHOOK_NOT_FOUND */
export const lockWebhook = async (tx: Transaction, id: string, by: WebhookActor): Promise<WebhookRow> => {
  const found = isId(id) ? await webhooksIn(tx).findOne({ where: { id }, ...tx.dialect.lockingRows }) : null;
  return assertOwned(found, ownerOf(by));
};

/** Returned by the work of `change` if nothing changed. */
const UNCHANGED = Symbol('unchanged');

/** Changes a webhook, and records an operator's act in the audit log. @throws AppError WEBHOOK_NOT_FOUND */
export const changeWebhook = async <T>(
  tx: Transaction,
  id: string,
  by: WebhookActor,
  action: string,
  work: (webhook: WebhookRow) => Promise<T>,
): Promise<T> => {
  const webhook = await lockWebhook(tx, id, by);
  const result = await work(webhook);
  const { url, state, reason } = webhook;
  if (result !== UNCHANGED)
    await auditOperator(tx, by, {
      action: `webhooks ${action}`,
      subject: `webhook ${id}`,
      before: { url, state, reason },
    });
  return result;
};

/** Deletes a webhook and its deliveries. @throws AppError WEBHOOK_NOT_FOUND */
export const deleteWebhook = (tx: Transaction, id: string, by: WebhookActor): Promise<void> =>
  changeWebhook(tx, id, by, 'delete', async () => {
    await deliveriesIn(tx).delete({ webhookId: id });
    await webhooksIn(tx).delete({ id });
  });

const pause = async (tx: Transaction, { id, state, reason: earlier }: WebhookRow, reason: string, now: Date) =>
  state === 'paused' && earlier === reason ? UNCHANGED : changeState(tx, id, 'paused', reason, now);

/** Pauses a webhook until it is resumed; its events wait. @throws AppError WEBHOOK_NOT_FOUND */
export const pauseWebhook = (tx: Transaction, id: string, reason: string, by: WebhookActor): Promise<unknown> =>
  changeWebhook(tx, id, by, 'pause', (webhook) => pause(tx, webhook, reason, by.now));

/**
 * Resumes a webhook once its endpoint has answered the challenge again, since its URL may lead elsewhere by now. It
 * gets the events that waited, if they are still kept. @throws AppError WEBHOOK_NOT_FOUND
 */
export const resumeWebhook = (tx: Transaction, id: string, by: WebhookActor): Promise<unknown> =>
  changeWebhook(tx, id, by, 'resume', async (webhook) =>
    webhook.state === 'active' ? UNCHANGED : resume(tx, webhook, by.now),
  );

/** Invalidates answers that are still to arrive, and ends the lease: later work need not wait for it. */
const startGeneration = async (tx: Transaction, id: string, now: Date): Promise<void> => {
  await webhooksIn(tx).update(
    { id },
    {
      generation: () => 'generation + 1',
      holder: NIL_ID,
      leaseUntil: now,
      nextAt: now,
      attempts: 0,
      failingSince: null,
    },
  );
};

const resume = async (tx: Transaction, { id, position }: WebhookRow, now: Date): Promise<void> => {
  const feed = await readFeed(tx);
  await changeState(tx, id, 'pending', null, now);
  await startGeneration(tx, id, now);
  if (position < feed.removedThrough || position > feed.lastPosition) {
    await webhooksIn(tx).update({ id }, { position: feed.lastPosition, positionId: feed.lastId });
  }
};

type WebhookChanges = InputOf<Contract['webhook']['update']>;

/**
 * Changes the given members of a webhook. A webhook with a new URL has to answer the challenge again.
 * @throws AppError WEBHOOK_NOT_FOUND, WEBHOOK_URL_FORBIDDEN
 */
export const updateWebhook = async (
  tx: Transaction,
  { id, url, types, recordId, state }: WebhookChanges,
  { policy, secrets }: { policy: WebhookPolicy; secrets: WebhookSecrets },
  by: WebhookActor,
): Promise<Webhook> => {
  if (url !== undefined) assertTarget(url, policy);
  await changeWebhook(tx, id, by, 'update', async (webhook) => {
    const former = { url: webhook.url, types: webhook.types, recordId: webhook.recordId };
    const given = Object.entries({ url, types, recordId }).filter(([, value]) => value !== undefined);
    const wanted: typeof former = { ...former, ...Object.fromEntries(given) };
    const isMoved = wanted.url !== former.url;
    if (!isDeepStrictEqual(wanted, former)) await webhooksIn(tx).update({ id }, { ...wanted, updatedAt: by.now });
    if (state === 'paused') {
      if (isMoved) await startGeneration(tx, id, by.now);
      await pause(tx, webhook, 'Its owner has paused it.', by.now);
    } else if (isMoved || (state === 'active' && webhook.state !== 'active')) await resume(tx, webhook, by.now);
  });
  return readWebhook(tx, id, secrets, by);
};

/** Reads a webhook as it is stored, locked against changes. @throws AppError WEBHOOK_NOT_FOUND */
export const readWebhook = async (
  tx: Transaction,
  id: string,
  secrets: WebhookSecrets,
  by: WebhookActor,
): Promise<Webhook> => webhookOf(await lockWebhook(tx, id, by), secrets);

/**
 * Gives a webhook a new secret. The old one also signs for a day, and so do those before it.
 * @throws AppError WEBHOOK_NOT_FOUND, WEBHOOK_SECRETS_OFF, WEBHOOK_SECRET_LIMIT
 */
export const rotateSecret = (
  tx: Transaction,
  id: string,
  secrets: WebhookSecrets,
  by: WebhookActor,
): Promise<{ secret: string; previousUntil: string }> =>
  changeWebhook(tx, id, by, 'rotate', async (webhook) => {
    const former = formerSecrets(webhook, by.now);
    // A secret whose key is lost signs nothing.
    const signing = former.filter((one) => secrets.canDecrypt(one.secret, id));
    if (signing.length >= MAX_SIGNING_SECRETS - 1) {
      const hint = `Nothing was changed. It is possible from ${signing.at(-1)?.until} on.`;
      throw new AppError('WEBHOOK_SECRET_LIMIT', { hint });
    }
    const secret = newSecret();
    const until = new Date(by.now.getTime() + ROTATION_HOURS * HOUR_MS);
    await webhooksIn(tx).update(
      { id },
      {
        secret: secrets.encrypt(secret, id),
        oldSecret: webhook.secret,
        oldSecretUntil: until,
        olderSecrets: former.length > 0 ? former : null,
        updatedAt: by.now,
      },
    );
    return { secret, previousUntil: until.toISOString() };
  });
