import type { Contract, EventType, InputOf } from '../../contract/index.ts';
import type { ContentKind } from '../content/kind.ts';
import { type ContentRecord, readRecordMap } from '../content/records.ts';
import { currentTags, type TagName } from '../content/tag/dictionary.ts';
import { findTags } from '../content/tag/service.ts';
import type { Reader } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { idFromBytes, timeToDb } from '../db/values.ts';
import { AppError } from '../errors.ts';
import type { GameSummaryColumns } from '../game/entity.ts';
import { gameKind } from '../game/kind.ts';
import type { ImagePostSummaryColumns } from '../image/entity.ts';
import { imageKind } from '../image/kind.ts';
import type { EventColumns, EventRow } from '../outbox/entity.ts';
import { typeCodes } from '../outbox/record.ts';
import type { Call } from '../procedure.ts';
import type { UserSummaryColumns } from '../user/entity.ts';
import { readUsers } from '../user/reads.ts';
import { decodeEventCursor, type EventCursor, encodeEventCursor } from './cursor.ts';
import { type EventReads, startOf } from './reads.ts';

/** The dependencies of the router `event`. */
export interface EventContext {
  db: Database;
  /** The clock. */
  now: () => Date;
  events: EventReads;
}

type ListInput = InputOf<Contract['event']['list']>;

const typeOfCode = new Map(Object.entries(typeCodes).map(([type, code]) => [code, type as EventType]));

/** An event as it is stored. */
export interface StoredEvent {
  position: number;
  id: string;
  type: EventType;
  recordId: string;
  actorId: string | null;
  /** As the database has it. */
  happenedAt: string;
}

/** The records of events as they are now, by their ids; a tag by its slug. */
export interface EventRecords {
  games: ReadonlyMap<string, ContentRecord<GameSummaryColumns>>;
  images: ReadonlyMap<string, ContentRecord<ImagePostSummaryColumns>>;
  users: ReadonlyMap<string, UserSummaryColumns>;
  tags: ReadonlyMap<string, TagName>;
}

/** A page of events. */
export interface ListedEvents {
  events: StoredEvent[];
  /** Only where they were asked for. */
  records: EventRecords | undefined;
  nextCursor: string;
  hasMore: boolean;
}

export const storedEventOf = (row: EventColumns): StoredEvent => ({
  position: row.position,
  id: idFromBytes(row.id),
  type: typeOfCode.get(row.type) as EventType,
  recordId: row.slug ?? idFromBytes(row.record_id),
  actorId: row.actor_id && idFromBytes(row.actor_id),
  happenedAt: row.happened_at,
});

/** As `storedEventOf`, of an entity. */
export const storedEvent = ({ type, recordId, slug, happenedAt, ...event }: EventRow): StoredEvent => ({
  ...event,
  type: typeOfCode.get(type) as EventType,
  recordId: slug ?? recordId,
  happenedAt: timeToDb(happenedAt),
});

/** One page of events. @throws AppError CURSOR_INVALID, EVENTS_GONE, EVENTS_OFF */
export const listEvents = async (c: EventContext, input: ListInput, { deadline }: Call): Promise<ListedEvents> => {
  const { db, now, events } = c;
  if (!db.events.isOn) throw new AppError('EVENTS_OFF');
  const { after, start, types, recordId, limit, include } = input;
  const reader = db.within(deadline);
  if (after === undefined && start !== 'earliest') {
    const end = await startOf(start, reader, now());
    return { events: [], records: undefined, nextCursor: encodeEventCursor(end), hasMore: false };
  }
  const cursor: EventCursor | undefined = after === undefined ? undefined : decodeEventCursor(after);
  const query = { after: cursor, types, recordId, limit };
  const page = await events.load(query, deadline, JSON.stringify([after, types, recordId, limit]));
  const stored = page.events.map(storedEventOf);
  return {
    events: stored,
    records: include === 'record' ? await readRecords(reader, stored) : undefined,
    nextCursor: encodeEventCursor(page.end),
    hasMore: page.hasMore,
  };
};

const idsOf = (events: readonly StoredEvent[], router: string): string[] => [
  ...new Set(events.filter(({ type }) => type.startsWith(router)).map(({ recordId }) => recordId)),
];

/** Reads the records that events tell of, with the names that tags have now: a copy goes by them. */
export const readRecords = async (reader: Reader, events: readonly StoredEvent[]): Promise<EventRecords> => {
  const recordsOf = <Columns>(kind: ContentKind, router: string) =>
    readRecordMap<Columns>(reader, currentTags, kind, { detail: false, viewerId: undefined }, idsOf(events, router));
  const userIds = idsOf(events, 'user.');
  const [games, images, users, tags] = await Promise.all([
    recordsOf<GameSummaryColumns>(gameKind, 'game.'),
    recordsOf<ImagePostSummaryColumns>(imageKind, 'image.'),
    userIds.length === 0 ? new Map<string, UserSummaryColumns>() : readUsers(reader, userIds),
    findTags(reader, idsOf(events, 'tag.')),
  ]);
  return { games, images, users, tags };
};
