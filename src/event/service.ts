import type { Contract, EventType, OutputOf } from '../../contract/index.ts';
import type { Reader } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import type { EventRow } from './outbox/entity.ts';
import { type EventRecordKind, kindOf, typeCodes } from './outbox/record.ts';
import type { EventReads } from './reads.ts';

type EventView = OutputOf<Contract['event']['list']>['items'][number];

/** The members of an event that contain its record, by kind. */
interface ShownRecords {
  game: EventView['game'];
  image: EventView['imagePost'];
  user: EventView['user'];
  tag: EventView['tag'];
}

/** Reads the current records as lists show them, by id; tags by slug. Each kind provides its own. */
type ReadShown<Shown = unknown> = (
  reader: Reader,
  ids: readonly string[],
) => Promise<ReadonlyMap<string, NonNullable<Shown>>>;

/** The dependencies of the router `event`. */
export interface EventContext {
  db: Database;
  /** The clock. */
  now: () => Date;
  events: EventReads;
  readShown: { [Kind in EventRecordKind]: ReadShown<ShownRecords[Kind]> };
}

const typeOfCode = new Map(Object.entries(typeCodes).map(([type, code]) => [code, type as EventType]));

/** An event of the feed. */
export interface StoredEvent {
  position: number;
  id: string;
  type: EventType;
  /** The id of a record, or the slug of a tag. */
  recordId: string;
  actorId: string | null;
  happenedAt: Date;
}

/** The current records of events, by kind and id. */
export type EventRecords = ReadonlyMap<EventRecordKind, ReadonlyMap<string, object>>;

/** Converts a row to an event. Only later versions know types that have no name here. */
export const storedEvent = ({ type, recordId, slug, ...event }: EventRow): StoredEvent => ({
  ...event,
  type: typeOfCode.get(type) as EventType,
  recordId: slug ?? recordId,
});

/** Reads the records of events. */
export const readRecords = async (
  readShown: EventContext['readShown'],
  reader: Reader,
  events: readonly StoredEvent[],
): Promise<EventRecords> => {
  const ids = new Map<EventRecordKind, Set<string>>();
  for (const { type, recordId } of events) {
    const kind = kindOf(type);
    ids.set(kind, (ids.get(kind) ?? new Set()).add(recordId));
  }
  const read = async ([kind, some]: readonly [EventRecordKind, ReadonlySet<string>]) =>
    [kind, await readShown[kind](reader, [...some])] as const;
  return new Map(await Promise.all([...ids].map(read)));
};
