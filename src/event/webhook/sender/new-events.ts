import { MoreThan } from 'typeorm';
import type { Parameter, Reader } from '../../../db/connection.ts';
import { inList } from '../../../db/sql/in-list.ts';
import type { WorkloadPool } from '../../../db/workload-pool.ts';
import { storedIdToBytes } from '../../../db/values.ts';
import type { EventCursor } from '../../cursor.ts';
import { ERASED_SLUG } from '../../outbox/erase.ts';
import { eventsIn, type FeedRow } from '../../outbox/entity.ts';
import { type StoredEvent, storedEvent } from '../../service.ts';

/** The maximum number of events that are matched with all webhooks at once. */
const MATCHED_AT_ONCE = 1000;

/** A condition on webhooks `w`. */
export interface Condition {
  sql: string;
  parameters: Parameter[];
}

/** The latest events of the feed, which are matched with all webhooks at once. */
export interface NewEvents {
  /** The position before these events. Webhooks behind it have events to get. */
  after: number;
  /** The last of these events. */
  end: EventCursor;
  /** The last event that was removed from the feed. */
  removed: EventCursor;
  /** Whether the feed holds more events after these. */
  hasMore: boolean;
  /** The webhooks that may want one of these events; undefined if there are no events. */
  wanting: Condition | undefined;
}

/**
 * Selects webhooks that may want one of these events. A few of them want none: they want a type for one record, and
 * only another record has an event of that type.
 */
const wantingOf = (events: readonly StoredEvent[]): Condition => {
  const types = new Set<string | undefined>(events.map(({ type }) => type));
  // A later version may run beside this one: only it knows which webhooks want the type.
  if (types.has(undefined)) return { sql: '1 = 1', parameters: [] };
  // A slug may have been erased from the webhook.
  const records = [...new Set(events.map(({ recordId }) => recordId)), ERASED_SLUG];
  const names = inList(Array.from(types, (type) => `%"${type}"%`));
  const ids = inList(records);
  const hasType = names.parameters.map(() => 'w.types LIKE ?').join(' OR ');
  return {
    // JSON: all types are stored as the text `null`, or as NULL.
    sql: `(w.types IS NULL OR w.types = 'null' OR ${hasType}) AND (w.record_id IS NULL OR w.record_id IN (${ids.sql}))`,
    parameters: [...names.parameters, ...ids.parameters],
  };
};

/** The position where matching begins when a process starts. Webhooks further behind are served without matching. */
export const firstMatched = ({ lastPosition, removedThrough }: FeedRow): number =>
  Math.max(removedThrough, lastPosition - MATCHED_AT_ONCE);

/** Reads the events after a position. */
export const readNewEvents = async (
  reader: Pick<Reader, 'manager'>,
  feed: FeedRow,
  position: number,
): Promise<NewEvents> => {
  const { lastPosition, lastId, removedThrough, removedId } = feed;
  const after = Math.min(Math.max(position, removedThrough), lastPosition);
  const none = { after, end: { position: lastPosition, id: lastId }, hasMore: false, wanting: undefined };
  const removed = { position: removedThrough, id: removedId };
  if (after === lastPosition) return { ...none, removed };
  const rows = await eventsIn(reader).find({
    where: { position: MoreThan(after) },
    order: { position: 'ASC' },
    take: MATCHED_AT_ONCE,
  });
  const [first, last] = [rows[0], rows.at(-1)];
  // Webhooks behind events that were removed meanwhile miss them.
  if (!first || !last) return { ...none, after: lastPosition, removed };
  return {
    after: first.position - 1,
    end: { position: last.position, id: last.id },
    removed,
    hasMore: last.position < lastPosition,
    wanting: wantingOf(rows.map(storedEvent)),
  };
};

/**
 * Moves webhooks past events that they do not want, in one statement, which sees their filters at that moment. A
 * webhook with another end of the feed is skipped: it detects that itself.
 */
export const passOver = (
  db: Pick<WorkloadPool, 'transaction'>,
  { after, end, removed, wanting }: NewEvents,
): Promise<unknown> =>
  db.transaction((tx) =>
    tx.execute(
      `UPDATE webhooks AS w SET position = ?, position_id = ?
      WHERE w.state = 'active' AND w.position >= ? AND w.position < ? AND NOT (w.position = ? AND w.position_id <> ?)
        ${wanting ? `AND NOT (${wanting.sql})` : ''}`,
      [
        end.position,
        storedIdToBytes(end.id),
        after,
        end.position,
        removed.position,
        storedIdToBytes(removed.id),
        ...(wanting?.parameters ?? []),
      ],
    ),
  );
