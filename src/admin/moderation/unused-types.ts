import type { Database } from '../../db/database.ts';
import { inList } from '../../db/sql/in-list.ts';
import { typeCounter } from '../../game/type-counters.ts';

const DELETED_AT_ONCE = 100;
/** The counter of games without a type, which stays, and a bound above those of all types. */
const UNTYPED = typeCounter(null);
const AFTER_TYPES = UNTYPED.replace(/:$/, ';');

/** The names of the counters of types that no game has, hidden ones aside, which bring their types with them. */
const findUnused = (db: Database): Promise<{ name: string }[]> =>
  db.read('SELECT name FROM counters WHERE name > ? AND name < ? AND n = 0 ORDER BY name', [UNTYPED, AFTER_TYPES]);

/** How many types of games no game has. */
export const countUnusedTypes = async (db: Database): Promise<number> => (await findUnused(db)).length;

/** Deletes the counters of types that no game has: publishing makes one anew. @returns how many */
export const deleteUnusedTypes = async (db: Database): Promise<number> => {
  const names = (await findUnused(db)).map(({ name }) => name);
  let deleted = 0;
  for (let start = 0; start < names.length; start += DELETED_AT_ONCE) {
    const { sql, parameters } = inList(names.slice(start, start + DELETED_AT_ONCE));
    deleted += await db.transaction((tx) =>
      tx.execute(`DELETE FROM counters WHERE name IN (${sql}) AND n = 0`, parameters),
    );
  }
  return deleted;
};
