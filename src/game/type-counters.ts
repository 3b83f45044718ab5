import { readCounters } from '../content/write/counters.ts';
import type { Reader } from '../db/connection.ts';
import { gamesIn } from './kind.ts';

const PREFIX = 'games:';
/** The upper bound of the names of all type counters. `LIKE` on MySQL would miss names with a character beyond U+FFFF. */
export const AFTER_TYPES = 'games;';

/** The counter of the games of a type; the counter of games without one ends in a colon. */
export const typeCounter = (gameType: string | null): string => `${PREFIX}${gameType ?? ''}`;

/** Counts an author's games of each type. */
export const countGamesByType = (reader: Pick<Reader, 'manager'>, authorId: string) =>
  gamesIn(reader)
    .createQueryBuilder('g')
    .select('g.gameType', 'type')
    .addSelect('COUNT(*)', 'n')
    .where({ authorId })
    .groupBy('g.gameType')
    .getRawMany<{ type: string | null; n: number }>();

/** How many games there are of types. */
export interface TypeCounts {
  /** The most frequent types, of those that have any. Equally frequent ones are in the order of their names. */
  items: { gameType: string | null; count: number }[];
  /** The games of all other types. */
  otherCount: number;
  total: number;
}

/** The number of games of each of the `limit` most frequent types. */
export const readTypeCounters = async (db: Reader, limit: number): Promise<TypeCounts> => {
  const { highest, total } = await readCounters(db, PREFIX, limit);
  const items = highest.map(({ name, n }) => ({ gameType: name.slice(PREFIX.length) || null, count: n }));
  return { items, otherCount: items.reduce((rest, { count }) => rest - count, total), total };
};
