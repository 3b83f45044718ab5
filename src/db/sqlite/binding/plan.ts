import type { SqliteConnection } from './binding.ts';

/** The steps of a plan that read no table. */
const READS_NOTHING = /^(SCAN CONSTANT ROW|(CORRELATED )?(SCALAR|LIST) SUBQUERY \d+|USE TEMP B-TREE FOR .+)$/;
/** A step that looks rows up by their rowid. */
const BY_NUMBER = /^SEARCH \w+ USING INTEGER PRIMARY KEY \(rowid=\?\)( LEFT-JOIN)?$/;
const BY_INDEX = /^SEARCH \w+ USING (?:COVERING )?INDEX (?<index>\w+) \((?<columns>[^)]*)\)(?: LEFT-JOIN)?$/;

/** The number of columns of a unique index; undefined for another index. */
const columnsOfUnique = (connection: SqliteConnection, index: string): number | undefined => {
  const [row] = connection.all(
    `SELECT (SELECT COUNT(*) FROM pragma_index_info(i.name)) AS n
    FROM sqlite_schema s, pragma_index_list(s.tbl_name) i WHERE s.name = ? AND i.name = s.name AND i."unique" = 1`,
    [index],
  );
  return row?.n as number | undefined;
};

/** Whether a step reads no table, or looks rows up by a whole unique key, which finds at most one for each key. */
const isByKey = (connection: SqliteConnection, step: string): boolean => {
  if (READS_NOTHING.test(step) || BY_NUMBER.test(step)) return true;
  const { index, columns } = BY_INDEX.exec(step)?.groups ?? {};
  if (index === undefined || columns === undefined) return false;
  const compared = columns.split(' AND ');
  return compared.every((column) => column.endsWith('=?')) && compared.length === columnsOfUnique(connection, index);
};

/**
 * Whether a SELECT, by its plan, only looks rows up by unique keys. That takes less time than the round trip to a thread;
 * any other plan may take long.
 */
export const isLookUp = (connection: SqliteConnection, sql: string): boolean =>
  connection.all(`EXPLAIN QUERY PLAN ${sql}`).every(({ detail }) => isByKey(connection, String(detail)));
