import type { QueryRunner } from 'typeorm';
import { sleep } from '../../../base/runtime.ts';
import { MigrationError, type RunStatement } from '../../migration/run.ts';
import { driverError, isColumnUnknown, isTransient } from '../errors.ts';

// MySQL and MariaDB commit each change of a table by itself. An interrupted migration is therefore run again from its
// beginning, and skips the changes that were made before.

/** The maximum number of attempts of a statement that lost a conflict: the server has done none of it. */
const TRIES = 10;
/** A table or a row is in use. */
const LOCK_WAIT_TIMEOUT = 1205;
/** The attempts of a change to something in use: for two minutes, while others wait for one at most. */
const IN_USE_TRIES = 60;
/** The pause between attempts, in which others can use the table or the rows. */
const IN_USE_PAUSE_MS = 1000;
/** A tablet tells vtgate of changed tables within a second or two. */
export const TOLD_MS = 2000;

const TABLE_EXISTS = 1050;
/** The errors of a server for a change that was made before. */
const DONE_ALREADY: readonly (readonly [RegExp, number])[] = [
  [/^\s*CREATE TABLE\b/i, TABLE_EXISTS],
  [/^\s*ALTER TABLE \S+ ADD COLUMN\b/i, 1060],
  [/^\s*CREATE (?:UNIQUE )?INDEX\b/i, 1061],
  [/^\s*INSERT\b/i, 1062],
  [/^\s*DROP TABLE\b/i, 1051],
  // Vitess has another number for this.
  [/^\s*DROP TABLE\b/i, 1109],
  [/^\s*(?:DROP INDEX|ALTER TABLE \S+ DROP COLUMN)\b/i, 1091],
];

/** The columns that a CREATE TABLE of TypeORM declares: each is a quoted name before its type. */
const DECLARED = /[(,] ?`(\w+)` \w/g;

/** Whether the existing table is that of this statement: a different table of its name lacks some of its columns. */
const isSameTable = async (runner: QueryRunner, sql: string): Promise<boolean> => {
  const [, table = ''] = /^\s*CREATE TABLE (\S+)/i.exec(sql) ?? [];
  const columns = (await runner.query(`SHOW COLUMNS FROM ${table}`)) as { Field: string }[];
  const names = new Set(columns.map(({ Field }) => Field));
  return Array.from(sql.matchAll(DECLARED), ([, name = '']) => name).every((name) => names.has(name));
};

const isDoneAlready = async (runner: QueryRunner, sql: string, errno: number | undefined): Promise<boolean> =>
  DONE_ALREADY.some(([form, number]) => number === errno && form.test(sql)) &&
  (errno !== TABLE_EXISTS || (await isSameTable(runner, sql)));

const MOST_SHOWN = 200;
const beginningOf = (sql: string): string =>
  Array.from(sql.replaceAll(/\s+/g, ' ').trim()).slice(0, MOST_SHOWN).join('');

/**
 * Makes the function that runs migration statements on this connection, each once its tables and rows are not in use.
 * @throws MigrationError
 */
export const statementsOn =
  (runner: QueryRunner): RunStatement =>
  async (sql, migration) => {
    for (let tries = 1; ; tries += 1) {
      try {
        await runner.query(sql);
        return;
      } catch (error) {
        const { errno, message, code } = driverError(error);
        if (await isDoneAlready(runner, sql, errno)) return;
        const isInUse = errno === LOCK_WAIT_TIMEOUT;
        const isUnknown = isColumnUnknown(error);
        if (tries === (isInUse ? IN_USE_TRIES : TRIES) || !(isUnknown || isTransient(error))) {
          throw new MigrationError(
            `${migration} stopped at ${beginningOf(sql)}: ${message || code}. ` +
              'What was done before is kept: when the cause is gone, run it again',
            { cause: error },
          );
        }
        if (isUnknown || isInUse) await sleep(isInUse ? IN_USE_PAUSE_MS : TOLD_MS);
      }
    }
  };
