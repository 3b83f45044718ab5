import { In } from 'typeorm';
import {
  type Contract,
  type EventType,
  eventTypes,
  type InputOf,
  RECENT_EVENTS_SECONDS,
} from '../../contract/index.ts';
import { BatchLoader } from '../db/batching/batch-loader.ts';
import type { Parameter, Reader } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { type Bytes, idFromBytes, idToBytes, storedIdToBytes, timeFromDb } from '../db/values.ts';
import { AppError } from '../base/errors.ts';
import { type EventRow, eventsIn, type FeedRow } from './outbox/entity.ts';
import { readFeed } from './outbox/feed.ts';
import { slugId, typeCodes } from './outbox/record.ts';
import type { EventCursor } from './cursor.ts';

/** The filter of events, and the place to start from. */
export interface EventQuery {
  after: EventCursor | undefined;
  types: readonly EventType[] | undefined;
  recordId: string | undefined;
  limit: number;
}

/** Events, oldest first, and the place of the next ones. */
export interface EventPage {
  events: EventRow[];
  end: EventCursor;
  hasMore: boolean;
}

const COLUMNS = 'position, id, type, record_id, slug, actor_id, happened_at';

/** A condition on the leading columns of an index. */
interface IndexRange {
  where: string;
  parameters: Parameter[];
}

/** The index ranges that contain the wanted events, each in the order of positions. */
const indexRangesOf = ({ types, recordId }: EventQuery): IndexRange[] => {
  if (types === undefined && recordId === undefined) return [{ where: '', parameters: [] }];
  const wanted = [...new Set(types ?? eventTypes)];
  if (recordId === undefined) {
    return wanted.map((type) => ({ where: 'type = ? AND', parameters: [typeCodes[type]] }));
  }
  const id = idToBytes(recordId);
  return wanted.flatMap((type) => {
    const key = type.startsWith('tag.') ? storedIdToBytes(slugId(recordId)) : id;
    return key ? [{ where: 'record_id = ? AND type = ? AND', parameters: [key, typeCodes[type]] }] : [];
  });
};

/** The columns of an event, as the drivers return them. */
interface EventColumns {
  position: number;
  id: Bytes;
  type: number;
  record_id: Bytes;
  slug: string | null;
  actor_id: Bytes | null;
  happened_at: string;
}

/** The extent of the feed and the id of the event at a cursor, joined with one event, or with none if none follows. */
type FoundRow = {
  last_position: number;
  last_id: Bytes;
  removed_through: number;
  removed_id: Bytes;
  cursor_id: Bytes | null;
} & (EventColumns | { [Name in keyof EventColumns]: null });

const eventRowOf = ({ record_id: record, actor_id: actor, happened_at: time, ...event }: EventColumns): EventRow => ({
  position: event.position,
  id: idFromBytes(event.id),
  type: event.type,
  recordId: idFromBytes(record),
  slug: event.slug,
  actorId: actor && idFromBytes(actor),
  happenedAt: new Date(timeFromDb(time)),
});

/** Reads the extent of the feed, the event at a position, and later events as one snapshot. SQL: each read runs it. */
const readFound = (reader: Reader, query: EventQuery, from: number): Promise<FoundRow[]> => {
  const ranges = indexRangesOf(query);
  const most = query.limit + 1;
  const found = ranges.map(
    ({ where }, index) =>
      `SELECT * FROM (SELECT ${COLUMNS} FROM events WHERE ${where} position > ? ORDER BY position LIMIT ${most}) r${index}`,
  );
  // No event has a position below 0.
  const all = found.length > 0 ? found.join(' UNION ALL ') : `SELECT ${COLUMNS} FROM events WHERE position < 0`;
  return reader.read<FoundRow>(
    `SELECT f.last_position, f.last_id, f.removed_through, f.removed_id, c.id AS cursor_id, e.* FROM event_feed f
    LEFT JOIN events c ON c.position = ?
    LEFT JOIN (SELECT ${COLUMNS} FROM (${all}) u ORDER BY position LIMIT ${most}) e ON e.position > 0
    ORDER BY e.position`,
    [from, ...ranges.flatMap(({ parameters }) => [...parameters, from])],
  );
};

/** @throws AppError EVENTS_GONE where the feed no longer holds all that followed a cursor */
const assertKept = ({ position, id }: EventCursor, feed: FoundRow): void => {
  if (position < feed.removed_through || position > feed.last_position) throw new AppError('EVENTS_GONE');
  const there = position === feed.removed_through ? feed.removed_id : feed.cursor_id;
  if (!there || idFromBytes(there) !== id) throw new AppError('EVENTS_GONE');
};

/** One page of the feed. @throws AppError EVENTS_GONE */
export const readEvents = async (reader: Reader, query: EventQuery): Promise<EventPage> => {
  // The beginning of the feed changes while old events are removed, so it is read with them.
  const start = query.after ?? (await earliest(reader));
  const rows = await readFound(reader, query, start.position);
  const [feed] = rows;
  if (!feed) throw new Error('the row of the feed is missing');
  assertKept(start, feed);
  const events = rows.flatMap((row) => (row.position === null ? [] : [eventRowOf(row)]));
  const hasMore = events.length > query.limit;
  const shown = events.slice(0, query.limit);
  const last = shown.at(-1);
  const end = { position: feed.last_position, id: idFromBytes(feed.last_id) };
  return { events: shown, end: hasMore && last ? { position: last.position, id: last.id } : end, hasMore };
};

/** The place before the first kept event. */
const beginningOf = ({ removedThrough: position, removedId: id }: FeedRow): EventCursor => ({ position, id });

const earliest = async (reader: Reader): Promise<EventCursor> => beginningOf(await readFeed(reader));

/** The option where to begin without a cursor. */
export type EventStart = InputOf<Contract['event']['list']>['start'];

/** The place after the last event. */
export const readLatest = async (reader: Reader): Promise<EventCursor> => {
  const { lastPosition: position, lastId: id } = await readFeed(reader);
  return { position, id };
};

/** The number of steps back that are tried: 1, 2, 4, … positions. */
const STEPS = 40;

/**
 * A place before all events of the last two minutes. It may be slightly earlier, which saves reading many positions.
 */
const readRecent = async (reader: Reader, now: Date): Promise<EventCursor> => {
  const feed = await readFeed(reader);
  const positions = Array.from({ length: STEPS }, (_, step) => feed.lastPosition - (2 ** step - 1)).filter(
    (position) => position > feed.removedThrough,
  );
  const rows = await eventsIn(reader).find({
    select: { position: true, id: true, happenedAt: true },
    where: { position: In(positions) },
    order: { position: 'DESC' },
  });
  const end = new Date(now.getTime() - RECENT_EVENTS_SECONDS * 1000);
  return rows.find(({ happenedAt }) => happenedAt < end) ?? beginningOf(feed);
};

const startReaders: Record<EventStart, (reader: Reader, now: Date) => Promise<EventCursor>> = {
  earliest,
  recent: readRecent,
  latest: readLatest,
};

/** The place for a start option. */
export const startOf = (start: EventStart, reader: Reader, now: Date): Promise<EventCursor> =>
  startReaders[start](reader, now);

/** Loads pages of the feed. Waiting calls for the same page share its query. */
export type EventReads = BatchLoader<EventQuery, EventPage>;

/** Always reads from the primary: a replica may not know the event of a cursor. */
export const eventReads = (db: Database): EventReads =>
  new BatchLoader({
    note: db.observer?.coalesced('events'),
    maxRunning: 1,
    run: async (queries, deadline) => {
      const page = await readEvents(db.within(deadline), queries[0] as EventQuery);
      return queries.map(() => page);
    },
  });
