import { EntitySchema } from 'typeorm';
import { columnTypes } from '../db/columns.ts';
import type { Database, Transaction } from '../db/database.ts';
import type { Engine } from '../db/dialect.ts';

/** How many records there are, all and by type, so that no list has to count them. */
export const counterEntity = (engine: Engine): EntitySchema =>
  new EntitySchema({
    name: 'Counter',
    tableName: 'counters',
    columns: { name: { ...columnTypes(engine).text(64), primary: true }, n: columnTypes(engine).count },
  });

const TYPE_PREFIX = 'games:';

/** The counter of the games of a type; the counter of games without one ends in a colon. */
export const typeCounter = (gameType: string | null): string => `${TYPE_PREFIX}${gameType ?? ''}`;

/** Adds to counters, which begin at 0. In the order of their names, so that transactions do not lock crosswise. */
export const addToCounters = async (tx: Transaction, additions: ReadonlyMap<string, number>): Promise<void> => {
  for (const [name, n] of [...additions].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const changed = await tx.execute('UPDATE counters SET n = n + ? WHERE name = ?', [n, name]);
    if (changed === 0) {
      await tx.execute(`${tx.dialect.insertIgnore} INTO counters (name, n) VALUES (?, 0)`, [name]);
      await tx.execute('UPDATE counters SET n = n + ? WHERE name = ?', [n, name]);
    }
  }
};

/** The value of a counter. */
export const readCounter = async (db: Database, name: string): Promise<number> => {
  const [row] = await db.read<{ n: number }>('SELECT n FROM counters WHERE name = ?', [name]);
  return row?.n ?? 0;
};

/** The number of games of each type that has any. */
export const readTypeCounters = async (db: Database): Promise<{ gameType: string | null; count: number }[]> => {
  const rows = await db.read<{ name: string; n: number }>(
    `SELECT name, n FROM counters WHERE name >= ? AND name < ? AND n > 0`,
    [TYPE_PREFIX, 'games;'],
  );
  return rows.map(({ name, n }) => ({ gameType: name.slice(TYPE_PREFIX.length) || null, count: n }));
};
