import { inParts } from '../../db/manager.ts';
import { In, Like } from 'typeorm';
import type { Reader } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { partsOf } from '../../db/sql/in-list.ts';
import { eventsIn, outboxIn } from './entity.ts';
import { type RecordedEvent, slugId } from './record.ts';

const ROWS_AT_ONCE = 1000;

/** The number of events that name a user as their actor. */
export const countEventsBy = (reader: Pick<Reader, 'manager'>, userId: string): Promise<number> =>
  eventsIn(reader).countBy({ actorId: userId });

/**
 * Erases a user as the actor of events, some events at once; none of the user's events waits for a position afterwards.
 * The event of the deletion stays, since copies rely on it. @returns the number of changed events
 */
export const eraseFromEvents = async (db: Database, userId: string): Promise<number> => {
  const text = userId.replaceAll('-', '');
  let changed = 0;
  const parts = inParts(eventsIn(db), { key: 'position', first: 0, take: ROWS_AT_ONCE }, (later) => ({
    select: { position: true, actorId: true },
    where: { position: later() },
  }));
  for await (const rows of parts) {
    const own = rows.filter(({ actorId }) => actorId === userId).map(({ position }) => position);
    if (own.length === 0) continue;
    await db.transaction((tx) => eventsIn(tx).update({ position: In(own) }, { actorId: null }));
    changed += own.length;
  }
  // The outbox still holds events of the user if no instance runs that moves them.
  const made = `","${text}"]`;
  for (const { seq, events } of await outboxIn(db).findBy({ events: Like(`%${made}%`) })) {
    await db.transaction((tx) => outboxIn(tx).update({ seq }, { events: events.replaceAll(made, '"]') }));
  }
  return changed;
};

/** Replaces the slug of an erased tag. */
export const ERASED_SLUG = 'erased';

/** Erases the slugs of tags that no record has any more from events: they may be names of persons. */
export const eraseSlugs = async (db: Database, slugs: ReadonlySet<string>): Promise<void> => {
  for (const part of partsOf([...slugs])) {
    await db.transaction((tx) =>
      eventsIn(tx).update(
        { recordId: In(part.map(slugId)), slug: In(part) },
        { slug: ERASED_SLUG, recordId: slugId(ERASED_SLUG) },
      ),
    );
  }
  for (const { seq, events } of await outboxIn(db).find()) {
    const told = JSON.parse(events) as RecordedEvent[];
    if (!told.some(([, name]) => slugs.has(name))) continue;
    const without = told.map(([type, name, ...actor]) => [type, slugs.has(name) ? ERASED_SLUG : name, ...actor]);
    await db.transaction((tx) => outboxIn(tx).update({ seq }, { events: JSON.stringify(without) }));
  }
};
