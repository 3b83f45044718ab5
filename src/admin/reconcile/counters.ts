import { In } from 'typeorm';
import { countersIn } from '../../content/entity.ts';
import type { Reader, Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { insertMissing } from '../../db/sql/write-rows.ts';
import { recheckOnShards, readUntilStable } from '../../db/sql/lock-rows.ts';
import { gameKind, AFTER_TYPES, typeCounter } from '../../game/kind.ts';
import { imageKind } from '../../image/kind.ts';
import type { CountDifference } from './finding.ts';

interface NamedCounter {
  name: string;
  stored: number;
  actual: number;
}

const isOfRecords = (name: string): boolean =>
  name === gameKind.table || name === imageKind.table || (name >= typeCounter(null) && name < AFTER_TYPES);

/**
 * The rows of `counters` that count records, including missing ones. One statement, so that one server reads both sides
 * in one state. The cast keeps MySQL from turning signed and unsigned numbers into decimals, which arrive as texts.
 */
const compareCounters = async (reader: Reader): Promise<NamedCounter[]> => {
  const rows = await reader.read<{ name: string; n: number; actual: number }>(
    `SELECT name, CAST(n AS SIGNED) AS n, 0 AS actual FROM counters
    UNION ALL SELECT '${gameKind.table}', 0, COUNT(*) FROM games
    UNION ALL SELECT '${imageKind.table}', 0, COUNT(*) FROM image_posts
    UNION ALL SELECT CONCAT('${typeCounter(null)}', COALESCE(game_type, '')), 0, COUNT(*) FROM games GROUP BY game_type`,
  );
  const counters = new Map<string, NamedCounter>();
  for (const { name, n, actual } of rows.filter((row) => isOfRecords(row.name))) {
    const { stored, actual: counted } = counters.get(name) ?? { stored: 0, actual: 0 };
    counters.set(name, { name, stored: stored + n, actual: counted + actual });
  }
  return [...counters.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
};

const isWrong = ({ stored, actual }: NamedCounter): boolean => stored !== actual;

const compareNamed = async (tx: Transaction, names: readonly string[]): Promise<NamedCounter[]> =>
  (await compareCounters(tx)).filter(({ name }) => names.includes(name));

/** Locks counters, and returns the names of existing ones. */
const lock = async (tx: Transaction, names: readonly string[]): Promise<Set<string>> => {
  const found = await countersIn(tx).find({
    where: { name: In(names) },
    order: { name: 'ASC' },
    ...tx.dialect.lockingRows,
  });
  return new Set(found.map(({ name }) => name));
};

const repairCounters = async (tx: Transaction, wrong: readonly NamedCounter[]): Promise<void> => {
  const names = wrong.map(({ name }) => name);
  const found = await lock(tx, names);
  const missing = names.filter((name) => !found.has(name));
  await insertMissing(
    tx,
    'counters',
    ['name', 'n'],
    missing.map((name) => [name, 0]),
  );
  for (const { name, actual } of await readUntilStable(tx, () => compareNamed(tx, names))) {
    await countersIn(tx).update({ name }, { n: actual });
  }
};

/** The counters among these that still differ after they are locked. */
const stillWrong = async (tx: Transaction, seen: readonly NamedCounter[]): Promise<NamedCounter[]> => {
  const names = seen.map(({ name }) => name);
  await lock(tx, names);
  return readUntilStable(tx, async () => (await compareNamed(tx, names)).filter(isWrong));
};

/** Compares the counters of all records and of each type of records, and corrects wrong ones if asked to. */
export const checkCounters = async (db: Database, fix: boolean): Promise<CountDifference[]> => {
  const wrong = await recheckOnShards(db, (await compareCounters(db)).filter(isWrong), stillWrong);
  if (fix && wrong.length > 0) await db.transaction((tx) => repairCounters(tx, wrong));
  return wrong.map(({ name, ...numbers }) => ({ field: 'counters.n', id: name, ...numbers }));
};
