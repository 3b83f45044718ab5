import type { Parameter, Reader } from '../connection.ts';
import { type Bytes, idFromBytes } from '../values.ts';
import { inList } from './in-list.ts';

// Rows, with columns of other tables. One server reads all by one statement. Shards hold the other tables elsewhere, where a
// join would ask for one row after the other: they take a statement each for the ids, the rows, and what these refer to.

/** A part of a statement. */
export interface Fragment {
  sql: string;
  parameters: readonly Parameter[];
}

/** Columns of rows that are made of other tables. */
export interface ForeignColumns<Row, Columns> {
  columns: readonly string[];
  /** The table to join, and by what. */
  join?: string;
  /** Adds the columns to rows that were read without them. It leaves out rows that a join would leave out. */
  addTo: (reader: Reader, rows: readonly Row[]) => Promise<(Row & Columns)[]>;
}

/** Rows of a table, which is called `r`. */
export interface RowSelect<Row, Columns> {
  table: string;
  columns: string;
  /** Joins with tables whose rows are on the same shard. */
  joins?: Fragment;
  foreign: ForeignColumns<Row, Columns>;
}

/** A page of rows. */
export interface PageSelect {
  /** SELECTs of a column `id`, and of those to sort by, in the order of the page: the rows of one before those of the next. */
  ids: readonly Fragment[];
  /** ORDER BY of the same order, where `p` is the table of the ids. */
  order: string;
  /** Columns that concern no row, such as totals. */
  columns?: readonly Fragment[];
  /** Such columns that tell the state which the others are of. Shards leave them out: their statements see several states. */
  stamps?: readonly Fragment[];
}

const NOTHING: Fragment = { sql: '', parameters: [] };

/** Reads rows with foreign columns, by a statement that is made with these or without. */
export const readWith = async <Row, Columns>(
  reader: Reader,
  foreign: ForeignColumns<Row, Columns>,
  statement: (columns: readonly string[], join: string) => Fragment,
): Promise<(Row & Columns)[]> => {
  const { isSharded, joinInOrder } = reader.dialect;
  const join = foreign.join === undefined ? '' : `${joinInOrder} ${foreign.join}`;
  const { sql, parameters } = isSharded ? statement([], '') : statement(foreign.columns, join);
  const rows = await reader.read<Row & Columns>(sql, parameters);
  return isSharded && rows.length > 0 ? foreign.addTo(reader, rows) : rows;
};

/** Reads the rows with these ids, in any order. */
export const readByIds = async <Row, Columns>(
  reader: Reader,
  { table, columns, joins = NOTHING, foreign }: RowSelect<Row, Columns>,
  ids: readonly Uint8Array[],
): Promise<(Row & Columns)[]> => {
  if (ids.length === 0) return [];
  const { sql, parameters } = inList(ids);
  return readWith(reader, foreign, (more, join) => ({
    sql: `SELECT ${[columns, ...more].join(', ')} FROM ${table} r ${join} ${joins.sql} WHERE r.id IN (${sql})`,
    parameters: [...joins.parameters, ...parameters],
  }));
};

const sqlOf = ({ sql }: Fragment): string => sql;
const parametersOf = (fragments: readonly Fragment[]): Parameter[] => fragments.flatMap(({ parameters }) => parameters);

/** A UNION takes no ORDER BY and LIMIT of its parts. */
const union = (selects: readonly Fragment[]): string =>
  selects.length === 1
    ? selects.map(sqlOf).join('')
    : selects.map(({ sql }) => `SELECT * FROM (${sql}) part`).join(' UNION ALL ');

/** Reads a page of rows. */
export const readPage = <Row extends { id: Bytes }, Columns>(
  reader: Reader,
  rows: RowSelect<Row, Columns>,
  page: PageSelect,
): Promise<(Row & Columns)[]> => {
  if (reader.dialect.isSharded) return readPageApart(reader, rows, page);
  const { table, columns, joins = NOTHING, foreign } = rows;
  const { ids, order, columns: more = [], stamps = [] } = page;
  const expressions = [...more, ...stamps];
  return readWith(reader, foreign, (foreignColumns, join) => ({
    sql: `SELECT ${[...expressions.map(sqlOf), columns, ...foreignColumns].join(', ')}
    FROM (${union(ids)}) p ${reader.dialect.joinInOrder} ${table} r ON r.id = p.id
    ${join} ${joins.sql} ${order}`,
    parameters: [...parametersOf(expressions), ...parametersOf(ids), ...joins.parameters],
  }));
};

/** To merge what the shards find, vtgate adds columns to a SELECT, by which a UNION would mix them up. */
const readPageApart = async <Row extends { id: Bytes }, Columns>(
  reader: Reader,
  rows: RowSelect<Row, Columns>,
  { ids, columns = [] }: PageSelect,
): Promise<(Row & Columns)[]> => {
  const found = await Promise.all(ids.map(({ sql, parameters }) => reader.read<{ id: Bytes }>(sql, parameters)));
  const places = found.flat().map(({ id }): [name: string, id: Bytes] => [idFromBytes(id), id]);
  const distinct = await readByIds(reader, rows, [...new Map(places).values()]);
  const byId = new Map(distinct.map((row) => [idFromBytes(row.id), row]));
  if (byId.size === 0) return [];
  // Totals come last, so that none is older than its page.
  const [values] =
    columns.length === 0
      ? []
      : await reader.read<object>(`SELECT ${columns.map(sqlOf).join(', ')}`, parametersOf(columns));
  return places.flatMap(([name]) => {
    const row = byId.get(name);
    return row ? [{ ...row, ...values }] : [];
  });
};

/** The rows `r` of a table whose ids a SELECT yields, as the source of another one. */
export const sourceOfFound = async (
  reader: Reader,
  table: string,
  found: Fragment,
): Promise<{ from: string; where: string[]; parameters: readonly Parameter[] }> => {
  if (!reader.dialect.isSharded) {
    return { from: `(${found.sql}) c JOIN ${table} r ON r.id = c.id`, where: [], parameters: found.parameters };
  }
  const rows = await reader.read<{ id: Bytes }>(found.sql, found.parameters);
  // A list of none would be no SQL.
  const { sql, parameters } = inList([Buffer.alloc(16), ...rows.map(({ id }) => id)]);
  return { from: `${table} r`, where: [`r.id IN (${sql})`], parameters };
};
