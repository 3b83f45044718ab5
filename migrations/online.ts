import type { QueryRunner } from 'typeorm';
import { engineOf } from './columns.ts';

// Tables are changed while instances of the version before go on writing.

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
/** A server that lets others win over a part has done none of it. */
const TRIES = 10;
const LOST = new Set(['ER_LOCK_DEADLOCK', 'ER_LOCK_WAIT_TIMEOUT', 'ER_CHECKREAD']);

const runPart = async (runner: QueryRunner, sql: string): Promise<void> => {
  for (let tries = 1; ; tries += 1) {
    try {
      await runner.query(sql);
      return;
    } catch (error) {
      if (tries === TRIES || !LOST.has((error as { code?: string }).code ?? '')) throw error;
    }
  }
};

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
  let after: string | undefined;
  for (;;) {
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
    for (const sql of statements(between)) await runPart(runner, sql);
    if (end === undefined) return;
    after = end;
  }
};
