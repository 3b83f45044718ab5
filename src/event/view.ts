import type { Contract, OutputOf } from '../../contract/index.ts';
import { type EventRecordKind, kindOf } from './outbox/record.ts';
import type { EventRecords, StoredEvent } from './service.ts';

export type EventView = OutputOf<Contract['event']['list']>['items'][number];

/** The member of an event that contains its record, by kind. */
const MEMBERS = { game: 'game', image: 'imagePost', user: 'user', tag: 'tag' } as const satisfies Record<
  EventRecordKind,
  keyof EventView
>;

/** An event on the wire. If `records` are given, it contains its current record: null if that no longer exists. */
export const eventView = (
  { id, position, type, recordId, actorId, happenedAt }: StoredEvent,
  records?: EventRecords,
): EventView => {
  const kind = kindOf(type);
  return {
    id,
    position,
    type,
    record: { kind, id: recordId },
    actorId,
    at: happenedAt.toISOString(),
    ...(records && { [MEMBERS[kind]]: records.get(kind)?.get(recordId) ?? null }),
  };
};
