import type { EventType } from '../../../contract/index.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import { insertInto, insertValues } from '../../db/sql/insert.ts';
import { inList, partsOf } from '../../db/sql/in-list.ts';
import { ERASED_SLUG } from '../../outbox/erase.ts';
import { slugKey } from '../../outbox/record.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { type Bytes, newId, storedIdToBytes, timeFromDb, timeToDb } from '../../db/values.ts';
import { AppError } from '../../errors.ts';
import { readEvents } from '../../event/reads.ts';
import type { DeliveryColumns, WebhookColumns } from '../entity.ts';
import { chargeChallenge, refundChallenge } from './challenges.ts';
import { DEAD_AFTER_MS, MAX_ATTEMPTS, nextAttempt } from './schedule.ts';
import type { Tried } from './in-flight.ts';
import { type Answer, isTaken } from './send.ts';

const COLUMNS = `id, user_id, url, secret, old_secret, old_secret_until, types, record_id, state, reason, attempts,
  failing_since, position, position_id, next_at, lease_until, holder, generation, created_at, updated_at`;
const DELIVERY_COLUMNS = `d.id, d.webhook_id, d.position, d.event_id, d.type, d.record_id, d.slug, d.actor_id, d.happened_at,
  d.state, d.attempts, d.next_at, d.answered_at, d.status, d.answer`;

/** The time of a webhook that has nothing to do but wait for events. */
export const NEVER = '9999-12-31 23:59:59.999';
/** The type of a test, which is no event. */
export const TEST_TYPE = 0;
/** Events for which deliveries are stored at once, and the most that wait for an endpoint: the others wait in the feed. */
const PULLED_AT_ONCE = 100;
const MOST_WAITING = 1000;
const GONE = 410;
const SWEPT_AT_ONCE = 500;
const DAY_MS = 86_400_000;

const insertion = insertInto('webhook_deliveries', [
  'id',
  'webhook_id',
  'position',
  'event_id',
  'type',
  'record_id',
  'slug',
  'actor_id',
  'happened_at',
  'state',
  'attempts',
  'next_at',
]);

/** Webhooks that have something to do and no holder; not those of suspended users. Its parameters: see `dueParameters`. */
const DUE = `w.lease_until <= ? AND (w.state = 'active' AND (w.position < ? OR w.next_at <= ?) OR w.state = 'pending' AND w.next_at <= ?)
  AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = w.user_id AND u.suspended_at IS NOT NULL)`;

const dueParameters = (now: Date, lastPosition: number): (string | number)[] => {
  const time = timeToDb(now);
  return [time, lastPosition, time, time];
};

/** Failing webhooks come after the others of their owner, and of owners with as many places. */
const FAILING = 'CASE WHEN w.failing_since IS NULL AND w.attempts = 0 THEN 0 ELSE 1 END';

/** A webhook that has something to do. */
export type DueWebhook = Pick<WebhookColumns, 'id' | 'user_id' | 'generation'>;

/** Some webhooks that have something to do: first one of each owner, then the second ones, and so on. */
export const readDue = (
  reader: Pick<Reader, 'read'>,
  now: Date,
  lastPosition: number,
  limit: number,
): Promise<DueWebhook[]> =>
  reader.read<DueWebhook>(
    `SELECT d.id, d.user_id, d.generation FROM (
      SELECT w.id, w.user_id, w.generation, w.lease_until, ${FAILING} AS failing,
        ROW_NUMBER() OVER (PARTITION BY w.user_id ORDER BY ${FAILING}, w.lease_until, w.id) AS place
      FROM webhooks w WHERE ${DUE}) d
    ORDER BY d.place, d.failing, d.lease_until, d.id LIMIT ${limit}`,
    dueParameters(now, lastPosition),
  );

/** A process that delivers, and until when it holds a webhook. */
export interface Lease {
  holder: Bytes;
  until: Date;
}

/** A webhook of which this process has the lease, at the address that it had then. */
export type LeasedWebhook = Pick<WebhookColumns, 'id' | 'holder' | 'generation'>;

/**
 * Takes the lease of a webhook, unless another process has it by now, or it is to wait for its challenge. Where it is never given
 * back, the webhook is due when it ends.
 */
export const takeLease = (
  db: Pick<WorkloadPool, 'transaction'>,
  id: Bytes,
  { holder, until }: Lease,
  now: Date,
  lastPosition: number,
): Promise<WebhookColumns | undefined> =>
  db.transaction(async (tx) => {
    const [row] = await tx.read<WebhookColumns>(
      `SELECT ${COLUMNS} FROM webhooks w WHERE w.id = ? AND ${DUE} ${tx.dialect.skipLocked}`,
      [id, ...dueParameters(now, lastPosition)],
    );
    if (!row) return undefined;
    const refused = row.state === 'pending' ? await chargeChallenge(tx, row, now) : undefined;
    if (refused) {
      const retryAt = timeToDb(refused.retryAt);
      await tx.execute('UPDATE webhooks SET next_at = ? WHERE id = ?', [retryAt, id]);
      const why = `Too many challenges of its owner, or to its host, were not answered: the next one follows at ${timeFromDb(retryAt)}.`;
      if (!refused.isSoon) await changeState(tx, id, 'pending', why, now);
      return undefined;
    }
    const end = timeToDb(until);
    await tx.execute('UPDATE webhooks SET lease_until = ?, next_at = ?, holder = ? WHERE id = ?', [
      end,
      end,
      holder,
      id,
    ]);
    return { ...row, holder };
  });

/** A webhook, locked; undefined where its lease is lost, it has another address or is challenged anew, or it was deleted. */
const lockHeld = async (
  tx: Transaction,
  { id, holder, generation }: LeasedWebhook,
): Promise<WebhookColumns | undefined> => {
  const [row] = await tx.read<WebhookColumns>(
    `SELECT ${COLUMNS} FROM webhooks WHERE id = ? AND holder = ? AND generation = ? ${tx.dialect.forUpdate}`,
    [id, holder, generation],
  );
  return row;
};

/**
 * Stores deliveries for the events that follow, and prolongs the lease. Returns the webhook; undefined where it is lost, or rests
 * with its user.
 */
export const pullEvents = (
  db: Pick<WorkloadPool, 'transaction'>,
  held: LeasedWebhook,
  until: Date,
  now: Date,
): Promise<WebhookColumns | undefined> =>
  db.transaction(async (tx) => {
    const webhook = await lockHeld(tx, held);
    if (!webhook || webhook.state !== 'active') return undefined;
    const [user] = await tx.read<{ suspended_at: string | null }>('SELECT suspended_at FROM users WHERE id = ?', [
      webhook.user_id,
    ]);
    if (user?.suspended_at !== null) return undefined;
    const { id } = held;
    const leaseEnd = timeToDb(until);
    await tx.execute('UPDATE webhooks SET lease_until = ?, next_at = ? WHERE id = ?', [leaseEnd, leaseEnd, id]);
    const [waiting] = await tx.read<{ n: number }>(
      "SELECT COUNT(*) AS n FROM webhook_deliveries WHERE webhook_id = ? AND state = 'waiting'",
      [id],
    );
    if ((waiting?.n ?? 0) >= MOST_WAITING) return webhook;
    const query = {
      after: { position: webhook.position, id: webhook.position_id },
      types: webhook.types === null ? undefined : (JSON.parse(webhook.types) as EventType[]),
      recordId: webhook.record_id ?? undefined,
      limit: PULLED_AT_ONCE,
    };
    try {
      const { events, end } = await readEvents(tx, query);
      await insertValues(
        tx,
        insertion,
        events.map(({ position, id: eventId, type, record_id: recordId, slug, actor_id: actorId, happened_at: at }) => [
          storedIdToBytes(newId(now)),
          id,
          position,
          eventId,
          type,
          recordId,
          slug,
          actorId,
          at,
          'waiting',
          0,
          timeToDb(now),
        ]),
      );
      await tx.execute('UPDATE webhooks SET position = ?, position_id = ? WHERE id = ?', [end.position, end.id, id]);
      return webhook;
    } catch (error) {
      if (!(error instanceof AppError) || error.reason !== 'EVENTS_GONE') throw error;
      await changeState(tx, id, 'paused', 'The events that follow are no longer kept. Resume to go on from now.', now);
      return undefined;
    }
  });

/** Some deliveries to make now: of each record the first one that waits. */
export const readDueDeliveries = (
  reader: Pick<Reader, 'read'>,
  id: Bytes,
  now: Date,
  limit: number,
): Promise<DeliveryColumns[]> =>
  reader.read<DeliveryColumns>(
    `SELECT ${DELIVERY_COLUMNS} FROM webhook_deliveries d
    WHERE d.webhook_id = ? AND d.state = 'waiting' AND d.next_at <= ? AND NOT EXISTS (
      SELECT 1 FROM webhook_deliveries e
      WHERE e.webhook_id = d.webhook_id AND e.record_id = d.record_id AND e.state = 'waiting' AND e.position < d.position)
    ORDER BY d.position, d.id LIMIT ${limit}`,
    [id, timeToDb(now)],
  );

export const changeState = async (
  tx: Transaction,
  id: Bytes,
  state: WebhookColumns['state'],
  reason: string | null,
  now: Date,
): Promise<void> => {
  await tx.execute('UPDATE webhooks SET state = ?, reason = ?, updated_at = ? WHERE id = ?', [
    state,
    reason,
    timeToDb(now),
    id,
  ]);
};

const said = ({ status, text }: Answer): string => (status === undefined ? text : `It answered ${status}.`);

/**
 * Stores how deliveries went. An endpoint that is gone, or dead for days, gets no more. Where the webhook has another address by now,
 * or is challenged anew, nothing is stored: the deliveries wait for the one that answers.
 */
export const storeAnswers = (
  db: Pick<WorkloadPool, 'transaction'>,
  held: LeasedWebhook,
  tried: readonly Tried[],
  now: Date,
): Promise<void> =>
  db.transaction(async (tx) => {
    const webhook = await lockHeld(tx, held);
    if (!webhook) return;
    const { id } = held;
    let failingSince = webhook.failing_since;
    for (const { delivery, answer } of tried) {
      const attempts = delivery.attempts + 1;
      const next = nextAttempt(now, attempts, answer.retryAfter);
      const isOver = next === undefined || attempts >= MAX_ATTEMPTS || answer.status === GONE;
      const state = isTaken(answer) ? 'delivered' : isOver ? 'failed' : 'waiting';
      await tx.execute(
        'UPDATE webhook_deliveries SET state = ?, attempts = ?, next_at = ?, answered_at = ?, status = ?, answer = ? WHERE id = ?',
        [state, attempts, timeToDb(next ?? now), timeToDb(now), answer.status ?? null, answer.text, delivery.id],
      );
      if (isTaken(answer)) failingSince = null;
      else failingSince ??= timeToDb(now);
      if (answer.status === GONE) await changeState(tx, id, 'disabled', 'It answered 410: it is gone.', now);
      else if (
        state === 'failed' &&
        failingSince !== null &&
        failingSince <= timeToDb(new Date(now.getTime() - DEAD_AFTER_MS))
      ) {
        await changeState(tx, id, 'paused', `Nothing was delivered for three days. ${said(answer)}`, now);
      }
    }
    await tx.execute('UPDATE webhooks SET failing_since = ? WHERE id = ?', [failingSince, id]);
  });

/**
 * Stores whether an endpoint answered the challenge: then it gets events, else it is tried again a few times. Where the webhook has
 * another address by now, or is challenged anew, the answer says nothing of it.
 */
export const storeChallenge = (
  db: Pick<WorkloadPool, 'transaction'>,
  asked: WebhookColumns,
  { isAnswered, answer }: { isAnswered: boolean; answer: Answer },
  now: Date,
): Promise<void> =>
  db.transaction(async (tx) => {
    const webhook = await lockHeld(tx, asked);
    if (isAnswered || answer.isNotSent) await refundChallenge(tx, asked, { isAnswered, now });
    if (!webhook || webhook.state !== 'pending') return;
    const { id } = asked;
    if (isAnswered) {
      await changeState(tx, id, 'active', null, now);
      await tx.execute('UPDATE webhooks SET attempts = 0 WHERE id = ?', [id]);
      return;
    }
    const attempts = webhook.attempts + 1;
    const next = nextAttempt(now, attempts, answer.retryAfter);
    const why = `It did not answer the challenge. ${said(answer)}`;
    await changeState(tx, id, next ? 'pending' : 'disabled', why, now);
    await tx.execute('UPDATE webhooks SET attempts = ?, next_at = ? WHERE id = ?', [
      attempts,
      timeToDb(next ?? now),
      id,
    ]);
  });

/** Tells the owner of a webhook that nothing can be sent for want of its secret; the operator restores the key. */
export const UNREADABLE =
  'Its secret cannot be decrypted, so nothing is sent: the operator has to restore the key. `webhook.rotateSecret` makes a new one.';

/** Stores whether the secret of a webhook can be decrypted. Where it cannot, no challenge is sent that would count. */
export const storeReadable = (
  db: Pick<WorkloadPool, 'transaction'>,
  held: WebhookColumns,
  isReadable: boolean,
  now: Date,
): Promise<void> =>
  db.transaction(async (tx) => {
    const webhook = await lockHeld(tx, held);
    if (!webhook) return;
    if (!isReadable && webhook.state === 'pending') await refundChallenge(tx, held, { isAnswered: false, now });
    const reason = isReadable ? null : UNREADABLE;
    if (webhook.reason !== reason) await changeState(tx, webhook.id, webhook.state, reason, now);
  });

/** Gives a lease back, and notes when the next delivery is due. */
export const releaseLease = (db: Pick<WorkloadPool, 'transaction'>, held: LeasedWebhook, now: Date): Promise<void> =>
  db.transaction(async (tx) => {
    const webhook = await lockHeld(tx, held);
    if (!webhook) return;
    const { id } = held;
    const [next] = await tx.read<{ next_at: string | null }>(
      "SELECT MIN(next_at) AS next_at FROM webhook_deliveries WHERE webhook_id = ? AND state = 'waiting'",
      [id],
    );
    const due = webhook.state === 'pending' ? webhook.next_at : (next?.next_at ?? NEVER);
    await tx.execute('UPDATE webhooks SET lease_until = ?, next_at = ? WHERE id = ?', [timeToDb(now), due, id]);
  });

/** Has no delivery name a user as the one who made the change, nor these tags, which no record has any more. */
export const eraseFromDeliveries = async (
  db: Pick<WorkloadPool, 'transaction'>,
  userId: Bytes,
  slugs: ReadonlySet<string>,
): Promise<void> => {
  await db.transaction((tx) =>
    tx.execute('UPDATE webhook_deliveries SET actor_id = NULL WHERE actor_id = ?', [userId]),
  );
  for (const part of partsOf([...slugs])) {
    const { sql, parameters } = inList(part);
    await db.transaction(async (tx) => {
      await tx.execute(`UPDATE webhook_deliveries SET slug = ?, record_id = ? WHERE slug IN (${sql})`, [
        ERASED_SLUG,
        slugKey(ERASED_SLUG),
        ...parameters,
      ]);
      await tx.execute(`UPDATE webhooks SET record_id = ? WHERE record_id IN (${sql})`, [ERASED_SLUG, ...parameters]);
    });
  }
};

/** Removes some deliveries that ended long ago. Returns whether there may be more. */
export const sweepDeliveries = async (
  db: Pick<WorkloadPool, 'read' | 'transaction'>,
  now: Date,
  retentionDays: number,
): Promise<boolean> => {
  const end = timeToDb(new Date(now.getTime() - retentionDays * DAY_MS));
  const rows = await db.read<{ id: Bytes }>(
    `SELECT id FROM webhook_deliveries WHERE state IN ('delivered', 'failed') AND happened_at < ? LIMIT ${SWEPT_AT_ONCE}`,
    [end],
  );
  if (rows.length === 0) return false;
  const { sql, parameters } = inList(rows.map(({ id }) => id));
  await db.transaction((tx) => tx.execute(`DELETE FROM webhook_deliveries WHERE id IN (${sql})`, parameters));
  return rows.length === SWEPT_AT_ONCE;
};

export { COLUMNS as WEBHOOK_COLUMNS, DELIVERY_COLUMNS, insertion as deliveryInsertion };
