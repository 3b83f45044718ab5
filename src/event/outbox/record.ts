import { createHash } from 'node:crypto';
import { In } from 'typeorm';
import type { EventType } from '../../../contract/index.ts';
import type { Transaction } from '../../db/connection.ts';
import type { Dialect } from '../../db/dialect.ts';
import { insertInto, insertValues } from '../../db/sql/write-rows.ts';
import { memoize } from '../../base/cache.ts';
import { type Bytes, idFromBytes, timeToDb } from '../../db/values.ts';
import { pendingReactionsIn } from './entity.ts';

/** The stored codes of event types: the meaning of a code never changes. */
export const typeCodes: Readonly<Record<EventType, number>> = {
  'game.created': 1,
  'game.updated': 2,
  'game.deleted': 3,
  'game.reactionsChanged': 4,
  'image.created': 11,
  'image.updated': 12,
  'image.deleted': 13,
  'image.reactionsChanged': 14,
  'user.created': 21,
  'user.updated': 22,
  'user.deleted': 23,
  'tag.updated': 31,
  'tag.merged': 32,
};

/** The kinds of records that have events: the prefixes of the event types. */
export type EventRecordKind = EventType extends `${infer Kind}.${string}` ? Kind : never;

export const kindOf = (type: EventType): EventRecordKind => type.slice(0, type.indexOf('.')) as EventRecordKind;

/** A change of a record, or of a tag, which is identified by its slug. */
export interface Change {
  type: EventType;
  record: Bytes | { slug: string };
  /** The user who made the change by a call; undefined for an operator. */
  actor?: Bytes | undefined;
}

/** A change that waits for its position: type, record as hex digits or slug, actor as hex digits. */
export type RecordedEvent = readonly [type: number, record: string, actor?: string];

/** The id that represents a slug in a column of ids. */
export const slugId = (slug: string): string => idFromBytes(createHash('sha256').update(slug).digest().subarray(0, 16));

const hex = (bytes: Bytes): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');

const recorded = ({ type, record, actor }: Change): RecordedEvent => {
  const named = 'slug' in record ? record.slug : hex(record);
  return actor ? [typeCodes[type], named, hex(actor)] : [typeCodes[type], named];
};

const insertion = insertInto('event_outbox', ['happened_at', 'events']);

/**
 * Stores events in the transaction of the changes, so that neither exists without the other. Stores nothing if events
 * are off. The transaction must have locked the records, so that events of one record enter the feed in order.
 */
export const recordEvents = async (tx: Transaction, changes: readonly Change[], at: Date): Promise<void> => {
  const { recording } = tx;
  if (!recording || changes.length === 0) return;
  await insertValues(tx, insertion, [[timeToDb(at), JSON.stringify(changes.map(recorded))]]);
  recording.hasRecorded = true;
};

const reactionsInsertion = memoize((dialect: Dialect) =>
  insertInto(
    'event_reactions',
    ['record_id', 'type', 'happened_at'],
    `${dialect.onConflict('record_id')} happened_at = ${dialect.inserted('happened_at')}`,
  ),
);

/** Stores that reactions or favorites of locked records change: one event will report all changes of a second. */
export const recordReactions = async (
  tx: Transaction,
  type: EventType,
  records: readonly Bytes[],
  at: Date,
): Promise<void> => {
  const { recording } = tx;
  if (!recording || records.length === 0) return;
  const time = timeToDb(at);
  await insertValues(
    tx,
    reactionsInsertion(tx.dialect),
    records.toSorted((a, b) => Buffer.compare(a, b)).map((id) => [id, typeCodes[type], time]),
  );
  recording.hasRecorded = true;
};

/** Deletes the pending reactions to records, which are locked and about to be deleted. */
export const forgetReactions = async (tx: Transaction, records: readonly Bytes[]): Promise<void> => {
  if (!tx.recording || records.length === 0) return;
  await pendingReactionsIn(tx).delete({ recordId: In(records.map(idFromBytes)) });
};
