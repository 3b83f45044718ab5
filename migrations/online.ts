import type { QueryRunner } from 'typeorm';
import { engineOf } from './columns.ts';

// Tables are changed while instances of the version before go on writing.
//
// MySQL and MariaDB commit each change of a table by itself, so a migration that was interrupted goes on at the statement
// where it was. Each run must therefore have the same changing statements in the same order, whatever it reads, and each must
// change one table in one way. `inParts` counts as one.

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

/** Returns the statements for the next part of the rows, after the given end, and the end of it; the last part has none. */
export type NextPart = (after: string | undefined) => Promise<{ statements: string[]; end: string | undefined }>;

/**
 * The runner of each migration: it runs all parts of one step, each in a transaction of its own where the engine commits
 * changes of tables by themselves, and goes on after the last part that was done when it was interrupted.
 */
export interface PartsRunner extends QueryRunner {
  parts(next: NextPart): Promise<void>;
}

const literal = (id: Uint8Array): string => `X'${Buffer.from(id).toString('hex')}'`;

/**
 * Runs statements for all rows of a table with ids, some rows at a time. Each statement is made for a condition on a column
 * that holds such ids: `between('game_id')`. Rows that are added meanwhile may be left out.
 */
export const inParts = async (
  runner: QueryRunner,
  table: string,
  statements: (between: (column: string) => string) => string[],
): Promise<void> => {
  if (!(await runner.hasTable(table))) return;
  await (runner as PartsRunner).parts(async (after) => {
    const from = after === undefined ? '' : `WHERE id > ${after}`;
    const [last] = (await runner.query(
      `SELECT id FROM ${table} ${from} ORDER BY id LIMIT 1 OFFSET ${ROWS_AT_ONCE - 1}`,
    )) as { id: Uint8Array }[];
    const end = last && literal(last.id);
    const between = (column: string): string => {
      const bounds = [
        ...(after === undefined ? [] : [`${column} > ${after}`]),
        ...(end === undefined ? [] : [`${column} <= ${end}`]),
      ];
      return bounds.length === 0 ? '1 = 1' : bounds.join(' AND ');
    };
    return { statements: statements(between), end };
  });
};
