import type { Contract, OutputOf } from '../../contract/index.ts';
import { type EventRecordKind, kindOf } from './outbox/record.ts';
import type { EventRecords, StoredEvent } from './service.ts';

export type EventView = OutputOf<Contract['event']['list']>['items'][number];

/** The member of an event that shows its record, by the kind. */
const MEMBERS = { game: 'game', image: 'imagePost', user: 'user', tag: 'tag' } as const satisfies Record<
  EventRecordKind,
  keyof EventView
>;

/** An event on the wire, with its record as it is now if `records` are given: null if it is not there any more. */
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
