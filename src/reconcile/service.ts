import { typeCounter } from '../game/type-counters.ts';
import type { ContentKind } from '../content/kind.ts';
import { gameKind } from '../game/kind.ts';
import { imageKind } from '../image/kind.ts';
import type { Reader, Transaction } from '../db/connection.ts';
import type { Database } from '../db/database.ts';
import { chunksOf, inList } from '../db/in-list.ts';
import { type Bytes, idFromBytes } from '../db/values.ts';

/** A stored counter that differs from the rows it stands for. */
export interface Difference {
  /** `games.like_count`, or `counters.n`. */
  what: string;
  /** The id of the row that holds the counter. */
  id: string;
  stored: number;
  actual: number;
}

/** The differences of a kind. */
export interface Finding {
  what: string;
  /** How many there are. */
  total: number;
  /** The first of them. */
  samples: Difference[];
}

interface Options {
  /** Whether to correct what differs. */
  fix: boolean;
  /** Hears of how many rows more the counters have been compared. */
  onCompared?: (rows: number) => void;
}

const SAMPLES = 20;
const COMPARED_ROWS = 1000;
/** Fewer at once, since those who want to change these rows have to wait. */
const MENDED_ROWS = 100;

/** A table with counters, and for each of them the rows that it counts, of the row `p` that holds it. */
interface CountedTable {
  table: string;
  counts: Record<string, string>;
}

const kinds = [gameKind, imageKind];

const recordCounts = ({ table, foreignKey, favoriteTable, reactionTable }: ContentKind): CountedTable => ({
  table,
  counts: {
    like_count: `${reactionTable} x WHERE x.${foreignKey} = p.id AND x.type = 'like'`,
    dislike_count: `${reactionTable} x WHERE x.${foreignKey} = p.id AND x.type = 'dislike'`,
    favorite_count: `${favoriteTable} x WHERE x.${foreignKey} = p.id`,
  },
});

const countsPerKind = (table: string, counted: (kind: ContentKind) => string): CountedTable => ({
  table,
  counts: Object.fromEntries(kinds.map((kind) => [kind.countColumn, counted(kind)])),
});

const countedTables: readonly CountedTable[] = [
  ...kinds.map(recordCounts),
  countsPerKind('tags', ({ tagTable }) => `${tagTable} x WHERE x.tag_id = p.id`),
  countsPerKind('users', ({ table }) => `${table} x WHERE x.author_id = p.id`),
];

/** How many rows `reconcile` compares, the few rows of `counters` aside. */
export const countRowsToCompare = async (db: Database): Promise<number> => {
  const counts = countedTables.map(({ table }) => `(SELECT COUNT(*) FROM ${table})`);
  const [row] = await db.read<{ n: number }>(`SELECT ${counts.join(' + ')} AS n`);
  return row?.n ?? 0;
};

/**
 * Compares every stored counter with the rows it stands for, and corrects those that differ if asked to. Safe beside a
 * running service: one statement reads counter and rows, which the service changes in one transaction; and it corrects
 * under the lock that the service takes, after counting again.
 */
export const reconcile = async (db: Database, { fix, onCompared = () => {} }: Options): Promise<Finding[]> => {
  const findings = new Map<string, Finding>();
  const note = (differences: readonly Difference[]): void => {
    for (const difference of differences) {
      const { what } = difference;
      const finding = findings.get(what) ?? { what, total: 0, samples: [] };
      findings.set(what, finding);
      finding.total += 1;
      if (finding.samples.length < SAMPLES) finding.samples.push(difference);
    }
  };
  for (const counted of countedTables) {
    for await (const rows of comparedRows(db, counted)) {
      const wrong = rows.filter((row) => differencesOf(counted, row).length > 0);
      note(wrong.flatMap((row) => differencesOf(counted, row)));
      if (fix) await mendRows(db, counted, wrong);
      onCompared(rows.length);
    }
  }
  const wrong = (await compareCounters(db)).filter(differs);
  note(wrong.map(({ name, ...numbers }) => ({ what: 'counters.n', id: name, ...numbers })));
  if (fix && wrong.length > 0) await db.transaction((tx) => mendCounters(tx, wrong));
  return [...findings.values()];
};

interface Counter {
  stored: number;
  actual: number;
}

const differs = ({ stored, actual }: Counter): boolean => stored !== actual;

/** A row with `<counter>` and `actual_<counter>` for each counter of its table. */
type ComparedRow = { id: Bytes | number } & Record<string, number>;

const selectCompared = ({ table, counts }: CountedTable): string =>
  `SELECT p.id, ${Object.entries(counts)
    .map(([column, counted]) => `p.${column}, (SELECT COUNT(*) FROM ${counted}) AS actual_${column}`)
    .join(', ')} FROM ${table} p`;

const differencesOf = ({ table, counts }: CountedTable, row: ComparedRow): Difference[] =>
  Object.keys(counts)
    .map((column) => ({
      what: `${table}.${column}`,
      id: typeof row.id === 'number' ? String(row.id) : idFromBytes(row.id),
      stored: row[column] ?? 0,
      actual: row[`actual_${column}`] ?? 0,
    }))
    .filter(differs);

async function* comparedRows(db: Database, counted: CountedTable): AsyncGenerator<ComparedRow[]> {
  const select = selectCompared(counted);
  let rows = await db.read<ComparedRow>(`${select} ORDER BY p.id LIMIT ${COMPARED_ROWS}`);
  while (rows.length > 0) {
    yield rows;
    const last = rows.at(-1)?.id ?? null;
    rows = await db.read<ComparedRow>(`${select} WHERE p.id > ? ORDER BY p.id LIMIT ${COMPARED_ROWS}`, [last]);
  }
}

const mendRows = async (db: Database, counted: CountedTable, wrong: readonly ComparedRow[]): Promise<void> => {
  for (let start = 0; start < wrong.length; start += MENDED_ROWS) {
    const ids = wrong.slice(start, start + MENDED_ROWS).map(({ id }) => id);
    await db.transaction((tx) => mendBatch(tx, counted, ids));
  }
};

const mendBatch = async (tx: Transaction, counted: CountedTable, ids: readonly (Bytes | number)[]): Promise<void> => {
  const { table, counts } = counted;
  const { sql, parameters } = inList(ids);
  const among = `WHERE p.id IN (${sql})`;
  await tx.read(`SELECT p.id FROM ${table} p ${among} ORDER BY p.id ${tx.dialect.forUpdate}`, parameters);
  // A statement of its own: the one that waited for the locks still sees what was there before.
  const rows = await tx.read<ComparedRow>(`${selectCompared(counted)} ${among}`, parameters);
  const columns = Object.keys(counts);
  const assignments = columns.map((column) => `${column} = ?`).join(', ');
  for (const row of rows) {
    await tx.execute(`UPDATE ${table} SET ${assignments} WHERE id = ?`, [
      ...columns.map((column) => row[`actual_${column}`] ?? 0),
      row.id,
    ]);
  }
};

interface NamedCounter extends Counter {
  name: string;
}

/** What comes after the counters of all types. `LIKE` on MySQL would miss names with a character beyond U+FFFF. */
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

const mendCounters = async (tx: Transaction, wrong: readonly NamedCounter[]): Promise<void> => {
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
