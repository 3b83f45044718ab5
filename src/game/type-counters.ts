import { readCounters } from '../content/counters.ts';
import type { Reader } from '../db/connection.ts';

const PREFIX = 'games:';

/** The counter of the games of a type; the counter of games without one ends in a colon. */
export const typeCounter = (gameType: string | null): string => `${PREFIX}${gameType ?? ''}`;

/** The number of games of each type that has any. */
export const readTypeCounters = async (db: Reader): Promise<{ gameType: string | null; count: number }[]> => {
  const counters = await readCounters(db, PREFIX);
  return counters.map(({ name, n }) => ({ gameType: name.slice(PREFIX.length) || null, count: n }));
};
