import { isDeepStrictEqual } from 'node:util';
import { expect } from '@jest/globals';
import { typeCounter, gameKind } from '../../../src/game/kind.ts';
import type { ContentKind } from '../../../src/content/kind.ts';
import { imageKind } from '../../../src/image/kind.ts';
import type { Reader } from '../../../src/db/connection.ts';
import { type Bytes, idFromBytes } from '../../../src/db/values.ts';

interface Sorted {
  counts: { viewCount: number; likeCount: number; favoriteCount: number };
}

/** The number by which each sort order of games compares, before the time. */
export const sortCounts = {
  latest: () => 0,
  oldest: () => 0,
  views: ({ counts }: Sorted) => counts.viewCount,
  likes: ({ counts }: Sorted) => counts.likeCount,
  favorites: ({ counts }: Sorted) => counts.favoriteCount,
};

/** Numbers by what they count, such as `games 019a… favorite_count`. Zeros are left out. */
type Counts = Record<string, number>;

interface Count {
  id: Bytes | string | number;
  n: number;
}

/** A count that is stored with each row of a table, and the SELECT that counts what it stands for. */
interface StoredCount {
  table: string;
  column: string;
  counted: string;
}

const storedCountsOf = (kind: ContentKind): StoredCount[] => {
  const { table, foreignKey, favoriteTable, reactionTable, tagTable, countColumn } = kind;
  const reactions = (type: string) =>
    `SELECT ${foreignKey} AS id, COUNT(*) AS n FROM ${reactionTable} WHERE type = '${type}' GROUP BY ${foreignKey}`;
  return [
    {
      table,
      column: 'favorite_count',
      counted: `SELECT ${foreignKey} AS id, COUNT(*) AS n FROM ${favoriteTable} GROUP BY ${foreignKey}`,
    },
    { table, column: 'like_count', counted: reactions('like') },
    { table, column: 'dislike_count', counted: reactions('dislike') },
    {
      table: 'users',
      column: countColumn,
      counted: `SELECT author_id AS id, COUNT(*) AS n FROM ${table} GROUP BY author_id`,
    },
    {
      table: 'tags',
      column: countColumn,
      counted: `SELECT tag_id AS id, COUNT(*) AS n FROM ${tagTable} GROUP BY tag_id`,
    },
  ];
};

const storedCounts = [gameKind, imageKind].flatMap(storedCountsOf);

const nameOf = (id: Count['id']): string => (id instanceof Uint8Array ? idFromBytes(id) : String(id));

const counterName = (id: Count['id']): string => `counter ${nameOf(id)}`;

const countsBy = (rows: readonly Count[], nameOfRow: (id: Count['id']) => string): Counts =>
  Object.fromEntries(rows.filter(({ n }) => n !== 0).map(({ id, n }) => [nameOfRow(id), n]));

const readStoredCounts = async (db: Reader): Promise<Counts> => {
  const stored: Counts = {};
  for (const { table, column } of storedCounts) {
    const rows = await db.read<Count>(`SELECT id, ${column} AS n FROM ${table}`);
    Object.assign(
      stored,
      countsBy(rows, (id) => `${table} ${nameOf(id)} ${column}`),
    );
  }
  // What was removed is counted, too, and there to be counted no more.
  const counters = "SELECT name AS id, n FROM counters WHERE name NOT LIKE 'removed:%' AND name NOT LIKE 'renewal:%'";
  return Object.assign(stored, countsBy(await db.read<Count>(counters), counterName));
};

const countRows = async (db: Reader): Promise<Counts> => {
  const counted: Counts = {};
  for (const { table, column, counted: count } of storedCounts) {
    Object.assign(
      counted,
      countsBy(await db.read<Count>(count), (id) => `${table} ${nameOf(id)} ${column}`),
    );
  }
  for (const { table } of [gameKind, imageKind]) {
    const rows = await db.read<Count>(`SELECT '${table}' AS id, COUNT(*) AS n FROM ${table}`);
    Object.assign(counted, countsBy(rows, counterName));
  }
  const types = await db.read<{ game_type: string | null; n: number }>(
    'SELECT game_type, COUNT(*) AS n FROM games GROUP BY game_type',
  );
  for (const { game_type, n } of types) counted[counterName(typeCounter(game_type))] = n;
  return counted;
};

/** Holds every stored count against the rows that it counts. Only views have no rows. */
export const expectExactCounts = async (db: Reader): Promise<void> => {
  const stored = await readStoredCounts(db);
  const counted = await countRows(db);
  // A server stores what a killed instance had committed even after its death: then both are read again.
  const isStill = isDeepStrictEqual(await readStoredCounts(db), stored);
  if (isStill) expect(stored).toEqual(counted);
  else await expectExactCounts(db);
};
