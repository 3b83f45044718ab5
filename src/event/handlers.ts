import type { Contract } from '../../contract/index.ts';
import type { Handlers } from '../auth/procedure.ts';
import { AppError } from '../base/errors.ts';
import { decodeEventCursor, encodeEventCursor } from './cursor.ts';
import { startOf } from './reads.ts';
import { type EventContext, readRecords, storedEvent } from './service.ts';
import { eventView } from './view.ts';

/** The procedures of the router `event`. */
export const eventHandlers = ({ db, now, events, readShown }: EventContext): Handlers<Contract['event']> => ({
  list: async ({ after, start, types, recordId, limit, include }, { deadline }) => {
    if (!db.events.isOn) throw new AppError('EVENTS_OFF');
    const reader = db.within(deadline);
    if (after === undefined && start !== 'earliest') {
      const end = await startOf(start, reader, now());
      return { items: [], nextCursor: encodeEventCursor(end), hasMore: false };
    }
    const query = { after: after === undefined ? undefined : decodeEventCursor(after), types, recordId, limit };
    const page = await events.load(query, deadline, JSON.stringify([after, types, recordId, limit]));
    const found = page.events.map(storedEvent);
    const records = include === 'record' ? await readRecords(readShown, reader, found) : undefined;
    return {
      items: found.map((event) => eventView(event, records)),
      nextCursor: encodeEventCursor(page.end),
      hasMore: page.hasMore,
    };
  },
});
