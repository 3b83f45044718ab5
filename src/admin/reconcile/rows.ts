import { currentDate } from '../../base/runtime.ts';
import { MAX_SUMMARY_IMAGES } from '../../../contract/limits.ts';
import { type ContentKind, linkedTagIds } from '../../content/kind.ts';
import type { Parameter, Reader, Transaction } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import type { Dialect } from '../../db/dialect.ts';
import { inList } from '../../db/sql/in-list.ts';
import { type Bytes, idFromBytes } from '../../db/values.ts';
import { gameKind } from '../../game/kind.ts';
import { recordEvents } from '../../event/outbox/record.ts';
import { imageKind, imageMembers, imagePostsIn, imagesOf } from '../../image/kind.ts';
import type { CountDifference } from './finding.ts';
import { lockRows, readUntilStable, recheckOnShards } from '../../db/sql/lock-rows.ts';
import { readWith } from '../../db/sql/read-rows.ts';

type RowId = Bytes | number;
type ColumnValue = number | string;

/** A value of a row `p`, as SQL, and the right value according to other rows or columns. */
interface Compared {
  field: string;
  stored: string;
  actual: string;
}

/** The rows that a counter counts: rows of a table that have the counting row's id in this column. */
interface CountedRows {
  table: string;
  column: string;
}

/** A table with values that follow from other rows. */
export interface CheckedTable {
  table: string;
  compared: readonly Compared[];
  /** For each counter, the rows to count, if they may be on other shards than the counting row. */
  apart?: readonly CountedRows[];
  /** Corrects a locked row: `actual` are the right values in the order of `compared`. */
  repair: (tx: Transaction, id: RowId, actual: readonly ColumnValue[]) => Promise<void>;
}

const kinds = [gameKind, imageKind];

const ROWS_AT_ONCE = 1000;
/** A smaller number, since calls that change these rows wait for the locks. */
const MENDED_AT_ONCE = 100;

const counted = (rows: string): string => `(SELECT COUNT(*) FROM ${rows})`;

/** Columns of a table, each with the SQL for its right value. */
const columnsOf = (table: string, values: Record<string, string>): Compared[] =>
  Object.entries(values).map(([column, actual]) => ({ field: `${table}.${column}`, stored: `p.${column}`, actual }));

/** Writes the first values into these columns, which have their SQL names. */
const assign =
  (table: string, columns: readonly string[]): CheckedTable['repair'] =>
  async (tx, id, actual) => {
    const assignments = columns.map((column) => `${column} = ?`).join(', ');
    await tx.execute(`UPDATE ${table} SET ${assignments} WHERE id = ?`, [...actual.slice(0, columns.length), id]);
  };

/** Compares the type in the tag links of a game with the type of the game. */
const linkedType = ({ tagTable, foreignKey, typeColumn = '' }: ContentKind): Compared => {
  const own = `COALESCE(p.${typeColumn}, '')`;
  const linked = `COALESCE(l.${typeColumn}, '')`;
  return {
    field: `${tagTable}.${typeColumn}`,
    stored: `COALESCE((SELECT MIN(${linked}) FROM ${tagTable} l WHERE l.${foreignKey} = p.id AND ${linked} <> ${own}), ${own})`,
    actual: own,
  };
};

/** Versions before these columns store all images of a post in `images` and leave the other columns unchanged. */
const imagesCompared = (dialect: Dialect): Compared[] => {
  const first = dialect.jsonLength('p.images');
  const more = `CASE WHEN ${first} = ${MAX_SUMMARY_IMAGES} AND p.more_images IS NOT NULL THEN ${dialect.jsonLength('p.more_images')} ELSE 0 END`;
  return [
    {
      field: 'image_posts.images',
      stored: first,
      actual: `CASE WHEN ${first} > ${MAX_SUMMARY_IMAGES} THEN ${MAX_SUMMARY_IMAGES} ELSE ${first} END`,
    },
    { field: 'image_posts.image_count', stored: 'p.image_count', actual: `${first} + ${more}` },
  ];
};

const repairImages = async (tx: Transaction, id: RowId): Promise<void> => {
  const posts = imagePostsIn(tx);
  const row = await posts.findOneBy({ id: nameOf(id) });
  if (!row) return;
  await posts.update({ id: row.id }, imageMembers(imagesOf(row)));
};

const recordTable = (kind: ContentKind, dialect: Dialect): CheckedTable => {
  const { table, foreignKey, favoriteTable, reactionTable, tagTable, typeColumn } = kind;
  const columns = {
    like_count: counted(`${reactionTable} x WHERE x.${foreignKey} = p.id AND x.type = 'like'`),
    dislike_count: counted(`${reactionTable} x WHERE x.${foreignKey} = p.id AND x.type = 'dislike'`),
    favorite_count: counted(`${favoriteTable} x WHERE x.${foreignKey} = p.id`),
    tag_ids: linkedTagIds(kind, 'p'),
  };
  const assignColumns = assign(table, Object.keys(columns));
  return {
    table,
    compared: [
      ...columnsOf(table, columns),
      ...(typeColumn === undefined ? [] : [linkedType(kind)]),
      ...(kind === imageKind ? imagesCompared(dialect) : []),
    ],
    repair: async (tx, id, actual) => {
      await assignColumns(tx, id, actual);
      if (typeColumn !== undefined) {
        // One UPDATE copies the record's value to all links.
        await tx.execute(
          `UPDATE ${tagTable} SET ${typeColumn} = (SELECT r.${typeColumn} FROM ${table} r WHERE r.id = ?) WHERE ${foreignKey} = ?`,
          [id, id] as (Uint8Array | number)[],
        );
      }
      if (kind === imageKind) await repairImages(tx, id);
      await recordEvents(tx, [{ type: `${kind.router}.updated`, record: id as Bytes }], currentDate());
    },
  };
};

const ownerTable = (table: string, rowsOf: (kind: ContentKind) => CountedRows): CheckedTable => {
  const apart = kinds.map(rowsOf);
  const columns = Object.fromEntries(
    kinds.map(({ countColumn }, place) => [
      countColumn,
      counted(`${apart[place]?.table} x WHERE x.${apart[place]?.column} = p.id`),
    ]),
  );
  return { table, compared: columnsOf(table, columns), apart, repair: assign(table, Object.keys(columns)) };
};

/** The tables of records. */
export const recordTables = (dialect: Dialect): CheckedTable[] => kinds.map((kind) => recordTable(kind, dialect));

/** The tables of tags and users, which count their records. */
export const ownerTables: readonly CheckedTable[] = [
  ownerTable('tags', ({ tagTable }) => ({ table: tagTable, column: 'tag_id' })),
  ownerTable('users', ({ table }) => ({ table, column: 'author_id' })),
];

/** A row with `stored<n>` and `actual<n>` for each compared value. */
type ComparedRow = { id: RowId } & Record<string, ColumnValue>;

/** Reads the rows of a table that `end` selects, with all compared values. */
const readCompared = (
  reader: Reader,
  { table, compared, apart }: CheckedTable,
  end: string,
  parameters: readonly Parameter[] = [],
): Promise<ComparedRow[]> => {
  const stored = compared.map((column, place) => `${column.stored} AS stored${place}`);
  const actual = compared.map((column, place) => `${column.actual} AS actual${place}`);
  const statement = (columns: readonly string[]) => ({
    sql: `SELECT p.id, ${columns.join(', ')} FROM ${table} p ${end}`,
    parameters,
  });
  if (!apart) return reader.read<ComparedRow>(statement([...stored, ...actual]).sql, parameters);
  const counts = { columns: actual, addTo: addCounts(apart) };
  return readWith<ComparedRow, object>(reader, counts, (more) => statement([...stored, ...more]));
};

/** Adds the actual counts to rows. */
const addCounts =
  (apart: readonly CountedRows[]) =>
  async (reader: Reader, rows: readonly ComparedRow[]): Promise<ComparedRow[]> => {
    const counts = await Promise.all(apart.map((counting) => countRows(reader, counting, idsOf(rows))));
    return rows.map((row) => ({
      ...row,
      ...Object.fromEntries(counts.map((count, place) => [`actual${place}`, count.get(nameOf(row.id)) ?? 0])),
    }));
  };

const idsOf = (rows: readonly ComparedRow[]): RowId[] => rows.map(({ id }) => id);

const nameOf = (id: RowId): string => (typeof id === 'number' ? String(id) : idFromBytes(id));

/** Counts rows for each of these values of a column. The names are SQL names. */
const countRows = async (
  reader: Reader,
  { table, column }: CountedRows,
  ids: readonly RowId[],
): Promise<Map<string, number>> => {
  const { sql, parameters } = inList(ids);
  const rows = await reader.read<{ id: RowId; n: number }>(
    `SELECT ${column} AS id, COUNT(*) AS n FROM ${table} WHERE ${column} IN (${sql}) GROUP BY ${column}`,
    parameters,
  );
  return new Map(rows.map(({ id, n }) => [nameOf(id), n]));
};

const differencesOf = ({ compared }: CheckedTable, row: ComparedRow): CountDifference[] =>
  compared
    .map(({ field }, place) => ({
      field,
      id: nameOf(row.id),
      stored: row[`stored${place}`] ?? 0,
      actual: row[`actual${place}`] ?? 0,
    }))
    .filter(({ stored, actual }) => stored !== actual);

async function* comparedRows(db: Database, checked: CheckedTable): AsyncGenerator<ComparedRow[]> {
  let rows = await readCompared(db, checked, `ORDER BY p.id LIMIT ${ROWS_AT_ONCE}`);
  while (rows.length > 0) {
    yield rows;
    const last = rows.at(-1)?.id ?? null;
    rows = await readCompared(db, checked, `WHERE p.id > ? ORDER BY p.id LIMIT ${ROWS_AT_ONCE}`, [last]);
  }
}

/** Locks rows of a table, and returns those that differ. */
const lockDifferent = async (tx: Transaction, checked: CheckedTable, ids: readonly RowId[]): Promise<ComparedRow[]> => {
  const { sql, parameters } = inList(ids);
  const among = `WHERE p.id IN (${sql})`;
  await lockRows(tx, checked.table, ids);
  // A separate statement is needed: the one that waited for the locks still sees the former state.
  return readUntilStable(tx, async () => {
    const rows = await readCompared(tx, checked, `${among} ORDER BY p.id`, parameters);
    return rows.filter((row) => differencesOf(checked, row).length > 0);
  });
};

const repairBatch = async (tx: Transaction, checked: CheckedTable, ids: readonly RowId[]): Promise<void> => {
  for (const row of await lockDifferent(tx, checked, ids)) {
    const actual = checked.compared.map((_, place) => row[`actual${place}`] ?? 0);
    await checked.repair(tx, row.id, actual);
  }
};

/** The rows that differ. Rereads counts from other shards, which may differ briefly during concurrent writes. */
const differentRows = async (
  db: Database,
  checked: CheckedTable,
  rows: readonly ComparedRow[],
): Promise<ComparedRow[]> => {
  const wrong = rows.filter((row) => differencesOf(checked, row).length > 0);
  if (checked.apart === undefined) return wrong;
  const sure: ComparedRow[] = [];
  for (let start = 0; start < wrong.length; start += MENDED_AT_ONCE) {
    const seen = wrong.slice(start, start + MENDED_AT_ONCE);
    sure.push(...(await recheckOnShards(db, seen, (tx) => lockDifferent(tx, checked, idsOf(seen)))));
  }
  return sure;
};

/** Compares the newest rows of a table, and returns what differs. */
export const sampleTable = async (
  db: Database,
  checked: CheckedTable,
): Promise<{ differences: CountDifference[]; rows: number }> => {
  const rows = await readCompared(db, checked, `ORDER BY p.id DESC LIMIT ${ROWS_AT_ONCE}`);
  const wrong = await differentRows(db, checked, rows);
  return { differences: wrong.flatMap((row) => differencesOf(checked, row)), rows: rows.length };
};

/** Compares all rows of a table, corrects wrong ones if asked to, and yields the differences in batches. */
export async function* checkTable(
  db: Database,
  checked: CheckedTable,
  fix: boolean,
): AsyncGenerator<{ differences: CountDifference[]; rows: number }> {
  for await (const rows of comparedRows(db, checked)) {
    const wrong = await differentRows(db, checked, rows);
    if (fix) {
      for (let start = 0; start < wrong.length; start += MENDED_AT_ONCE) {
        const ids = idsOf(wrong.slice(start, start + MENDED_AT_ONCE));
        await db.transaction((tx) => repairBatch(tx, checked, ids));
      }
    }
    yield { differences: wrong.flatMap((row) => differencesOf(checked, row)), rows: rows.length };
  }
}
