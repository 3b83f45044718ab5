import type { Reader, Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { chunksOf, inList } from '../../db/sql/in-list.ts';
import { gameKind } from '../../game/kind.ts';
import { typeCounter } from '../../game/type-counters.ts';
import { imageKind } from '../../image/kind.ts';
import type { CountDifference } from './finding.ts';

interface NamedCounter {
  name: string;
  stored: number;
  actual: number;
}

/** The upper bound of the names of all type counters. `LIKE` on MySQL would miss names with a character beyond U+FFFF. */
const AFTER_TYPES = typeCounter(null).replace(/:$/, ';');

/**
 * The rows of `counters` that count records, those included that are missing. The cast keeps MySQL from making decimals,
 * which arrive as texts, of signed and unsigned numbers.
 */
const compareCounters = async (reader: Reader): Promise<NamedCounter[]> => {
  // `stored` would be the natural name, but is a word of MySQL's.
  const rows = await reader.read<{ name: string; n: number; actual: number }>(
    `SELECT name, CAST(SUM(n) AS SIGNED) AS n, MAX(actual) AS actual FROM (
      SELECT name, CAST(n AS SIGNED) AS n, 0 AS actual FROM counters
      UNION ALL SELECT '${gameKind.table}', 0, COUNT(*) FROM games
      UNION ALL SELECT '${imageKind.table}', 0, COUNT(*) FROM image_posts
      UNION ALL SELECT CONCAT('${typeCounter(null)}', COALESCE(game_type, '')), 0, COUNT(*) FROM games GROUP BY game_type
    ) c
    WHERE name IN ('${gameKind.table}', '${imageKind.table}') OR (name >= '${typeCounter(null)}' AND name < '${AFTER_TYPES}')
    GROUP BY name ORDER BY name`,
  );
  return rows.map(({ name, n, actual }) => ({ name, stored: n, actual }));
};

const repairCounters = async (tx: Transaction, wrong: readonly NamedCounter[]): Promise<void> => {
  const names = wrong.map(({ name }) => name);
  const { sql, parameters } = inList(names);
  const found = await tx.read<{ name: string }>(
    `SELECT name FROM counters WHERE name IN (${sql}) ORDER BY name ${tx.dialect.forUpdate}`,
    parameters,
  );
  const missing = names.filter((name) => !found.some((row) => row.name === name));
  for (const chunk of chunksOf(missing)) {
    await tx.execute(
      `${tx.dialect.insertIgnore} INTO counters (name, n) VALUES ${chunk.map(() => '(?, 0)').join(', ')}`,
      chunk,
    );
  }
  for (const { name, actual } of await compareCounters(tx)) {
    if (names.includes(name)) await tx.execute('UPDATE counters SET n = ? WHERE name = ?', [actual, name]);
  }
};

/** Compares the counters of all records, and of those of each type, and corrects those that are wrong if asked to. */
export const checkCounters = async (db: Database, fix: boolean): Promise<CountDifference[]> => {
  const wrong = (await compareCounters(db)).filter(({ stored, actual }) => stored !== actual);
  if (fix && wrong.length > 0) await db.transaction((tx) => repairCounters(tx, wrong));
  return wrong.map(({ name, ...numbers }) => ({ what: 'counters.n', id: name, ...numbers }));
};
