import type { Reader } from '../../../db/connection.ts';
import { inList } from '../../../db/sql/in-list.ts';
import type { WorkloadPool } from '../../../db/workload-pool.ts';
import { type Bytes, idFromBytes, timeFromDb, timeToDb } from '../../../db/values.ts';
import type { WebhookRow } from '../entity.ts';
import type { Condition, NewEvents } from './new-events.ts';
import { UNREADABLE } from './store.ts';

// Selects the webhooks that are due, and measures how late they are.

/** Webhooks of users who are not suspended. */
export const IS_SERVED = 'NOT EXISTS (SELECT 1 FROM users u WHERE u.id = w.user_id AND u.suspended_at IS NOT NULL)';

/** Selects webhooks whose secrets are unencrypted or encrypted with one of these keys. */
const readableBy = (keyIds: readonly string[]): Condition => {
  if (keyIds.length === 0) return { sql: "w.secret LIKE 'whsec%'", parameters: [] };
  const { sql, parameters } = inList(keyIds);
  return { sql: `(w.secret LIKE 'whsec%' OR SUBSTR(w.secret, 4, 8) IN (${sql}))`, parameters };
};

/**
 * Selects webhooks that are due and not leased, except those of suspended users and those whose secrets are encrypted
 * with other keys than these.
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

/** Sorts failing webhooks after the others of their owner, and after those of owners with as many places. */
const FAILING = 'CASE WHEN w.failing_since IS NULL AND w.attempts = 0 THEN 0 ELSE 1 END';

/** A webhook that is due. */
export type DueWebhook = Pick<WebhookRow, 'id' | 'userId' | 'generation'>;

/**
 * Selects some due webhooks: first one of each owner, then a second one of each, and so on. In SQL, since TypeORM does
 * not support window functions.
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

/**
 * Tells owners that nothing is sent if their webhooks have waited for the duration of a lease and have secrets
 * encrypted with other keys than these: an instance that has the key would have served them by then. Returns how many.
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
 * The time since when the longest-waiting webhook has waited for an attempt, a challenge or an event that it wants; for
 * an event, only while its endpoint does not fail.
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
