import { EntitySchema } from 'typeorm';
import { columnTypes, idTransformer } from '../../db/sql/columns.ts';
import type { Engine } from '../../db/dialect.ts';
import { repositoryOf } from '../../db/manager.ts';

/** The events of one transaction, which have no positions yet. */
export interface OutboxRow {
  seq: number;
  happenedAt: Date;
  /** JSON of `RecordedEvent[]`, see record.ts. */
  events: string;
}

/** A record whose reactions or favorites have changed since its last event about them. */
export interface PendingReactionsRow {
  recordId: string;
  /** The code of the event's type. */
  type: number;
  happenedAt: Date;
}

/** The extent of the feed: a table with one row. Positions have no gaps; 0 is before the first. */
export interface FeedRow {
  name: string;
  lastPosition: number;
  lastId: string;
  /** The last position whose event was removed. */
  removedThrough: number;
  removedId: string;
  /** The lease id of the relay that moves events into the feed. */
  holder: string;
}

/** An event at its position in the feed. */
export interface EventRow {
  position: number;
  id: string;
  type: number;
  recordId: string;
  /** The slug of a tag. */
  slug: string | null;
  actorId: string | null;
  happenedAt: Date;
}

export const outboxIn = repositoryOf<OutboxRow>('EventOutbox');
export const pendingReactionsIn = repositoryOf<PendingReactionsRow>('EventReactions');
export const feedIn = repositoryOf<FeedRow>('EventFeed');
export const eventsIn = repositoryOf<EventRow>('Event');

/** The tables of events: the outbox, whose events wait for a position, and the feed. */
export const eventEntities = (engine: Engine): EntitySchema[] => {
  const { id, text, longText, time, small, big } = columnTypes(engine);
  const key = (name: string) => ({ ...id, name, transformer: idTransformer }) as const;
  return [
    new EntitySchema<OutboxRow>({
      name: 'EventOutbox',
      tableName: 'event_outbox',
      columns: {
        seq: { ...big, primary: true, generated: 'increment' },
        happenedAt: { ...time, name: 'happened_at' },
        events: longText,
      },
    }),
    new EntitySchema<PendingReactionsRow>({
      name: 'EventReactions',
      tableName: 'event_reactions',
      columns: {
        recordId: { ...key('record_id'), primary: true },
        type: small,
        happenedAt: { ...time, name: 'happened_at' },
      },
    }),
    new EntitySchema<FeedRow>({
      name: 'EventFeed',
      tableName: 'event_feed',
      columns: {
        name: { ...text(16), primary: true },
        lastPosition: { ...big, name: 'last_position' },
        lastId: key('last_id'),
        removedThrough: { ...big, name: 'removed_through' },
        removedId: key('removed_id'),
        holder: key('holder'),
      },
    }),
    new EntitySchema<EventRow>({
      name: 'Event',
      tableName: 'events',
      columns: {
        position: { ...big, primary: true },
        id: key('id'),
        type: small,
        recordId: key('record_id'),
        slug: { ...text(200), nullable: true },
        actorId: { ...key('actor_id'), nullable: true },
        happenedAt: { ...time, name: 'happened_at' },
      },
      indices: [
        { name: 'events_type', columns: ['type', 'position'] },
        { name: 'events_record', columns: ['recordId', 'type', 'position'] },
      ],
    }),
  ];
};
