/** The kinds of database server. MySQL and MariaDB share their SQL; TypeORM must distinguish them. */
export type Engine = 'sqlite' | 'mysql' | 'mariadb';

/** The SQL that differs between the engines. All other SQL of the service is common to them. */
export interface Dialect {
  engine: Engine;
  /** Appended to a SELECT whose rows are to be locked until the transaction ends. */
  forUpdate: string;
  /** The options of TypeORM's `find` that lock the rows in the same way. */
  lockingRows: { lock?: { mode: 'pessimistic_write' } };
  /** Like `forUpdate`, but skips locked rows. */
  skipLocked: string;
  /** An INSERT that skips rows whose key exists. */
  insertIgnore: string;
  /** Ends an INSERT, before assignments to a row whose `key` exists. */
  onConflict(key: string): string;
  /** The number of changed rows that such an INSERT reports for an existing row; it reports 1 for a new row. */
  changesOfUpdate: 1 | 2;
  /** In these assignments, the value of a column in the INSERT. */
  inserted(column: string): string;
  /** Whether one UPDATE can change rows of several tables. */
  updatesTables: boolean;
  /** A join that forces the planner to read its left side first. */
  joinInOrder: string;
  /** Whether the bytes of a text differ from those of a parameter; null equals null. */
  differs(column: string): string;
  /** The number of elements of a JSON list. */
  jsonLength(list: string): string;
  /** Whether the rows of one table are on several servers: `sql/read-rows.ts` and `sql/lock-rows.ts` handle that. */
  isSharded: boolean;
  /**
   * The key by which statements and transactions for records are batched. On one server, all records have the same key.
   * On shards, each has its own: a query for several records fails if one shard is down, and a transaction for several
   * commits twice and locks in no order.
   */
  batchKey(id: string): string;
  /** Whether a join with a subquery looks its rows up; SQLite reads all of them repeatedly. */
  gathers: boolean;
  /** Forces the planner to use this index; follows a table's name. */
  useIndex(name: string): string;
  /**
   * A condition on rows that come after a given one in the order of `columns`, with as many parameters as `values`
   * returns. MySQL plans ranges for spelled-out comparisons only, SQLite for row values only.
   */
  seek(columns: readonly string[], direction: 'ASC' | 'DESC'): string;
  /** The parameters of `seek` for the columns' values of the given row. */
  seekParameters<T>(values: readonly T[]): T[];
}

const sqlite: Dialect = {
  engine: 'sqlite',
  // Writing transactions exclude each other from their beginning.
  forUpdate: '',
  lockingRows: {},
  skipLocked: '',
  insertIgnore: 'INSERT OR IGNORE',
  changesOfUpdate: 1,
  onConflict: (key) => `ON CONFLICT (${key}) DO UPDATE SET`,
  inserted: (column) => `excluded.${column}`,
  updatesTables: false,
  joinInOrder: 'CROSS JOIN',
  differs: (column) => `${column} IS NOT ?`,
  jsonLength: (list) => `json_array_length(${list})`,
  isSharded: false,
  batchKey: () => '',
  gathers: false,
  useIndex: (name) => `INDEXED BY ${name}`,
  seek: (columns, direction) =>
    `(${columns.join(', ')}) ${direction === 'ASC' ? '>' : '<'} (${columns.map(() => '?').join(', ')})`,
  seekParameters: (values) => [...values],
};

const mysql = (engine: 'mysql' | 'mariadb', isSharded: boolean): Dialect => ({
  engine,
  isSharded,
  forUpdate: 'FOR UPDATE',
  lockingRows: { lock: { mode: 'pessimistic_write' } },
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  insertIgnore: 'INSERT IGNORE',
  changesOfUpdate: 2,
  onConflict: () => 'ON DUPLICATE KEY UPDATE',
  inserted: (column) => `VALUES(${column})`,
  updatesTables: true,
  joinInOrder: 'STRAIGHT_JOIN',
  // Their collations treat texts that differ only in trailing spaces as equal.
  differs: (column) => `NOT (CAST(${column} AS BINARY) <=> CAST(? AS BINARY))`,
  jsonLength: (list) => `JSON_LENGTH(${list})`,
  batchKey: (id) => (isSharded ? id : ''),
  gathers: true,
  useIndex: (name) => `FORCE INDEX (${name})`,
  seek: (columns, direction) => {
    const sign = direction === 'ASC' ? '>' : '<';
    const cases = columns.map((column, index) =>
      [...columns.slice(0, index).map((equal) => `${equal} = ?`), `${column} ${sign} ?`].join(' AND '),
    );
    return `(${cases.map((one) => `(${one})`).join(' OR ')})`;
  },
  seekParameters: (values) => values.flatMap((_, index) => values.slice(0, index + 1)),
});

/** The SQL of an engine. Only MySQL's tables may be sharded, by Vitess. */
export const dialectOf = (engine: Engine, isSharded = false): Dialect =>
  engine === 'sqlite' ? sqlite : mysql(engine, isSharded);
