import type { Reader } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { inList, partsOf } from '../db/sql/in-list.ts';
import { type Bytes, idFromBytes } from '../db/values.ts';
import { type RecordedEvent, slugKey } from './record.ts';

const ROWS_AT_ONCE = 1000;

/** How many events name a user as the one who made the change. */
export const countEventsBy = async (reader: Pick<Reader, 'read'>, userId: Bytes): Promise<number> => {
  const [row] = await reader.read<{ n: number }>('SELECT COUNT(*) AS n FROM events WHERE actor_id = ?', [userId]);
  return row?.n ?? 0;
};

/**
 * Has no event name a user as the one who made the change, some events at once; nothing of them waits for a position any more.
 * The event that tells of the deletion stays, since copies go by it. @returns how many events it changed
 */
export const eraseFromEvents = async (db: Database, userId: Bytes): Promise<number> => {
  const text = idFromBytes(userId).replaceAll('-', '');
  let changed = 0;
  for (let after = 0; ;) {
    const rows = await db.read<{ position: number; isOwn: number }>(
      `SELECT position, actor_id = ? AS isOwn FROM events WHERE position > ? ORDER BY position LIMIT ${ROWS_AT_ONCE}`,
      [userId, after],
    );
    const last = rows.at(-1);
    if (!last) break;
    after = last.position;
    const own = rows.filter(({ isOwn }) => isOwn === 1).map(({ position }) => position);
    if (own.length === 0) continue;
    const { sql, parameters } = inList(own);
    changed += await db.transaction((tx) =>
      tx.execute(`UPDATE events SET actor_id = NULL WHERE position IN (${sql})`, parameters),
    );
  }
  // Where no instance runs that moves them.
  const waiting = await db.read<{ seq: number; events: string }>(
    'SELECT seq, events FROM event_outbox WHERE INSTR(events, ?) > 0',
    [`","${text}"]`],
  );
  for (const { seq, events } of waiting) {
    await db.transaction((tx) =>
      tx.execute('UPDATE event_outbox SET events = ? WHERE seq = ?', [events.replaceAll(`","${text}"]`, '"]'), seq]),
    );
  }
  return changed;
};

/** Takes the place of the slug of a tag that is erased. */
export const ERASED_SLUG = 'erased';

/** Has no event name these tags, which no record has any more: their slugs may be names of persons. */
export const eraseSlugs = async (db: Database, slugs: ReadonlySet<string>): Promise<void> => {
  for (const part of partsOf([...slugs])) {
    const [keys, names] = [inList(part.map(slugKey)), inList(part)];
    await db.transaction((tx) =>
      tx.execute(
        `UPDATE events SET slug = ?, record_id = ? WHERE record_id IN (${keys.sql}) AND slug IN (${names.sql})`,
        [ERASED_SLUG, slugKey(ERASED_SLUG), ...keys.parameters, ...names.parameters],
      ),
    );
  }
  const waiting = await db.read<{ seq: number; events: string }>('SELECT seq, events FROM event_outbox');
  for (const { seq, events } of waiting) {
    const told = JSON.parse(events) as RecordedEvent[];
    if (!told.some(([, name]) => slugs.has(name))) continue;
    const without = told.map(([type, name, ...actor]) => [type, slugs.has(name) ? ERASED_SLUG : name, ...actor]);
    await db.transaction((tx) =>
      tx.execute('UPDATE event_outbox SET events = ? WHERE seq = ?', [JSON.stringify(without), seq]),
    );
  }
};
