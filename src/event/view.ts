import type { Contract, OutputOf } from '../../contract/index.ts';
import { timeFromDb } from '../db/values.ts';
import { gameSummaryView } from '../game/view.ts';
import { imagePostSummaryView } from '../image/view.ts';
import { userSummaryView } from '../user/view.ts';
import type { EventRecords, ListedEvents, StoredEvent } from './service.ts';

type ListView = OutputOf<Contract['event']['list']>;
export type EventView = ListView['items'][number];

type Kind = EventView['record']['kind'];

const view = <Stored, Shown>(stored: Stored | undefined, show: (one: Stored) => Shown): Shown | null =>
  stored === undefined ? null : show(stored);

/** The record of an event as it is now, under the name of its kind. */
const recordViews: Record<Kind, (id: string, records: EventRecords) => Partial<EventView>> = {
  game: (id, { games }) => ({ game: view(games.get(id), gameSummaryView) }),
  image: (id, { images }) => ({ imagePost: view(images.get(id), imagePostSummaryView) }),
  user: (id, { users }) => ({ user: view(users.get(id), userSummaryView) }),
  tag: (id, { tags }) => ({ tag: view(tags.get(id), ({ name, slug }) => ({ name, slug })) }),
};

/** An event on the wire. */
export const eventView = (
  { id, position, type, recordId, actorId, happenedAt }: StoredEvent,
  records?: EventRecords,
): EventView => {
  const kind = type.slice(0, type.indexOf('.')) as Kind;
  return {
    id,
    position,
    type,
    record: { kind, id: recordId },
    actorId,
    at: timeFromDb(happenedAt),
    ...(records && recordViews[kind](recordId, records)),
  };
};

/** A page of events on the wire. */
export const eventsView = ({ events, records, nextCursor, hasMore }: ListedEvents): ListView => ({
  items: events.map((event) => eventView(event, records)),
  nextCursor,
  hasMore,
});
