import type { Parameter, Reader } from '../connection.ts';
import { type Bytes, idFromBytes } from '../values.ts';
import { inList } from './in-list.ts';

// Rows with columns of other tables. One server reads all by one statement. On shards, a join would query the other
// tables row by row: so the ids, the rows, and the rows that they refer to take one statement each.

/** A part of a statement. */
export interface Fragment {
  sql: string;
  parameters: readonly Parameter[];
}

/** Columns of rows that other tables provide. */
export interface ForeignColumns<Row, Columns> {
  columns: readonly string[];
  /** The table to join, and the condition. */
  join?: string;
  /** Adds the columns to rows that were read without them. Omits the rows that a join would omit. */
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
  /** SELECTs of a column `id` and the columns to sort by, in page order: all rows of one precede those of the next. */
  ids: readonly Fragment[];
  /** The ORDER BY for the same order; `p` is the table of the ids. */
  order: string;
  /** Columns that concern no row, such as totals. */
  columns?: readonly Fragment[];
  /** Columns for the state that the other columns belong to. Shards omit them: their statements see several states. */
  stamps?: readonly Fragment[];
}

const NOTHING: Fragment = { sql: '', parameters: [] };

/** Reads rows with foreign columns: one statement joins them, or, on shards, a further one adds them. */
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

/** A UNION of SELECTs. It does not take the ORDER BY and LIMIT of its parts directly. */
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

/** Reads a page without a UNION: vtgate adds columns to SELECTs to merge shards, and a UNION would mix them up. */
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
  // Totals are read last, so that none is older than its page.
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
  // An empty list is invalid SQL.
  const { sql, parameters } = inList([Buffer.alloc(16), ...rows.map(({ id }) => id)]);
  return { from: `${table} r`, where: [`r.id IN (${sql})`], parameters };
};
