import type { QueryRunner } from 'typeorm';
import { engineOf } from './columns.ts';

// Tables are changed while instances of the version before go on writing.
//
// MySQL and MariaDB commit each change of a table by itself, so a migration that was interrupted is run again from its beginning.
// The server's error for a change that was made before is passed over: so each statement must change one table in one way, and a
// statement that changes rows must do nothing the second time.

/**
 * Words at the end of a statement that changes a table which may be big: by them a server refuses what it could do only by
 * copying the table or by keeping writers out. SQLite, which needs no such words, changes its catalogue or builds an index.
 */
export const onlineWords = (runner: QueryRunner) =>
  engineOf(runner) === 'sqlite'
    ? { instantly: '', inPlace: '' }
    : { instantly: ', ALGORITHM=INSTANT', inPlace: ' ALGORITHM=INPLACE LOCK=NONE' };

/** Few enough that other writes wait only briefly for their locks. */
const ROWS_AT_ONCE = 500;

const literal = (id: Uint8Array): string => `X'${Buffer.from(id).toString('hex')}'`;

/**
 * Runs statements for all rows of a table with ids, some rows at a time. Each statement is made for a condition on a column
 * that holds such ids: `between('game_id')`. Rows that are added meanwhile may be left out. The statements must do nothing the
 * second time.
 */
export const inParts = async (
  runner: QueryRunner,
  table: string,
  statements: (between: (column: string) => string) => string[],
): Promise<void> => {
  if (!(await runner.hasTable(table))) return;
  let after: string | undefined;
  do {
    const from = after === undefined ? '' : `WHERE id > ${after}`;
    const [last] = (await runner.query(
      `SELECT id FROM ${table} ${from} ORDER BY id LIMIT 1 OFFSET ${ROWS_AT_ONCE - 1}`,
    )) as { id: Uint8Array }[];
    const bounds = {
      '>': after,
      '<=': last && literal(last.id),
    };
    const between = (column: string): string => {
      const conditions = Object.entries(bounds).flatMap(([sign, id]) =>
        id === undefined ? [] : [`${column} ${sign} ${id}`],
      );
      return conditions.length === 0 ? '1 = 1' : conditions.join(' AND ');
    };
    for (const sql of statements(between)) await runner.query(sql);
    after = bounds['<='];
  } while (after !== undefined);
};
