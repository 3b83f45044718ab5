import { expect } from '@jest/globals';
import { typeCounter } from '../../../src/game/type-counters.ts';
import type { ContentKind } from '../../../src/content/kind.ts';
import { gameKind } from '../../../src/game/kind.ts';
import { imageKind } from '../../../src/image/kind.ts';
import type { Reader } from '../../../src/db/connection.ts';
import { type Bytes, idFromBytes } from '../../../src/db/values.ts';

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

const nameOf = (id: Count['id']): string => (id instanceof Uint8Array ? idFromBytes(id) : String(id));

const countsBy = (rows: readonly Count[], nameOfRow: (id: Count['id']) => string): Counts =>
  Object.fromEntries(rows.filter(({ n }) => n !== 0).map(({ id, n }) => [nameOfRow(id), n]));

const readCounts = async (db: Reader): Promise<{ stored: Counts; counted: Counts }> => {
  const stored: Counts = {};
  const counted: Counts = {};
  for (const { table, column, counted: count } of [gameKind, imageKind].flatMap(storedCountsOf)) {
    const name = (id: Count['id']) => `${table} ${nameOf(id)} ${column}`;
    Object.assign(stored, countsBy(await db.read<Count>(`SELECT id, ${column} AS n FROM ${table}`), name));
    Object.assign(counted, countsBy(await db.read<Count>(count), name));
  }
  const counter = (id: Count['id']) => `counter ${nameOf(id)}`;
  // What was removed is counted, too, and there to be counted no more.
  const counters = "SELECT name AS id, n FROM counters WHERE name NOT LIKE 'removed:%' AND name NOT LIKE 'renewal:%'";
  Object.assign(stored, countsBy(await db.read<Count>(counters), counter));
  for (const { table } of [gameKind, imageKind]) {
    const rows = await db.read<Count>(`SELECT '${table}' AS id, COUNT(*) AS n FROM ${table}`);
    Object.assign(counted, countsBy(rows, counter));
  }
  const types = await db.read<{ game_type: string | null; n: number }>(
    'SELECT game_type, COUNT(*) AS n FROM games GROUP BY game_type',
  );
  for (const { game_type, n } of types) counted[counter(typeCounter(game_type))] = n;
  return { stored, counted };
};

/** Holds every stored count against the rows that it counts. Only views have no rows. */
export const expectExactCounts = async (db: Reader): Promise<void> => {
  const { stored, counted } = await readCounts(db);
  expect(stored).toEqual(counted);
};
