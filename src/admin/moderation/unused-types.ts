import { And, In, LessThan, MoreThan } from 'typeorm';
import { countersIn } from '../../content/entity.ts';
import type { Database } from '../../db/database.ts';
import { AFTER_TYPES, typeCounter } from '../../game/kind.ts';

const DELETED_AT_ONCE = 100;
/** The counter of games without a type, which is never deleted. */
const UNTYPED = typeCounter(null);

/** The counters of types that no shown game has. Hidden games bring their types with them. */
const findUnused = async (db: Database): Promise<string[]> => {
  const where = { name: And(MoreThan(UNTYPED), LessThan(AFTER_TYPES)), n: 0 };
  return (await countersIn(db).find({ where, order: { name: 'ASC' } })).map(({ name }) => name);
};

/** The number of types that no game has. */
export const countUnusedTypes = async (db: Database): Promise<number> => (await findUnused(db)).length;

/** Deletes the counters of types that no game has: publishing creates them again. @returns how many */
export const deleteUnusedTypes = async (db: Database): Promise<number> => {
  const names = await findUnused(db);
  let deleted = 0;
  for (let start = 0; start < names.length; start += DELETED_AT_ONCE) {
    const some = names.slice(start, start + DELETED_AT_ONCE);
    const { affected } = await db.transaction((tx) => countersIn(tx).delete({ name: In(some), n: 0 }));
    deleted += affected ?? 0;
  }
  return deleted;
};
