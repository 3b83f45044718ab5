import type { QueryRunner } from 'typeorm';
import { sleep } from '../../../base/runtime.ts';
import {
  BEGINNING,
  type Direction,
  type HalfDone,
  type Journal,
  MigrationError,
  type Position,
  PROGRESS_TABLE,
} from '../../migration/steps.ts';
import { driverError, faultOf, isColumnUnknown, isInterrupted, isTransient } from '../errors.ts';

// MySQL and MariaDB commit each change of a table by itself. So a migration that was interrupted must go on where it was.

const AT_LENGTH = 200;

/** It has one row at most. It stays, since dropping it takes a privilege that nothing else needs. */
const CREATE = `CREATE TABLE IF NOT EXISTS ${PROGRESS_TABLE} (
  name varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  direction varchar(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  step int NOT NULL,
  reached varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  is_running tinyint(1) NOT NULL,
  statement varchar(${AT_LENGTH}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB`;

/** Reads the migration that was interrupted; fails where none ever began. */
export const READ_PROGRESS = `SELECT name, direction, step, reached, is_running, statement FROM ${PROGRESS_TABLE}`;

/** Forgets the migration that was interrupted. */
const FORGET_PROGRESS = `DELETE FROM ${PROGRESS_TABLE}`;

interface ProgressRow {
  name: string;
  direction: Direction;
  step: number;
  reached: string | null;
  is_running: number;
  statement: string;
}

export const halfDoneOf = ([row]: readonly unknown[]): HalfDone | undefined => {
  if (row === undefined) return undefined;
  const { name, direction, step, reached, statement } = row as ProgressRow;
  return { name, direction, step, reached: reached ?? undefined, at: statement };
};

/** Statements that a transaction can undo. */
const CHANGES_ROWS = /^\s*(?:INSERT|UPDATE|DELETE|REPLACE)\b/i;
/** A server that lets others win over a transaction has done none of it. */
const TRIES = 10;
/** A table, or a row, that is in use. */
const LOCK_WAIT_TIMEOUT = 1205;
/** How often a change is tried where something is in use: for two minutes, of which others wait for one at most. */
const IN_USE_TRIES = 60;
/** How long others have the table, or the rows, before it is tried again. */
const IN_USE_PAUSE_MS = 1000;
/** A tablet tells vtgate of changed tables within a second or two. */
const TOLD_MS = 2000;

/** The errors of a server for a change of a table that was made before. */
const DONE_ALREADY: readonly (readonly [RegExp, number])[] = [
  [/^\s*CREATE TABLE\b/i, 1050],
  [/^\s*ALTER TABLE \S+ ADD COLUMN\b/i, 1060],
  [/^\s*CREATE (?:UNIQUE )?INDEX\b/i, 1061],
  [/^\s*DROP TABLE\b/i, 1051],
  // Vitess says so by another number.
  [/^\s*DROP TABLE\b/i, 1109],
  [/^\s*(?:DROP INDEX|ALTER TABLE \S+ DROP COLUMN)\b/i, 1091],
];

const isDoneAlready = (sql: string, error: unknown): boolean => {
  const { errno } = driverError(error);
  return DONE_ALREADY.some(([form, number]) => number === errno && form.test(sql));
};

const beginningOf = (sql: string): string =>
  Array.from(sql.replaceAll(/\s+/g, ' ').trim()).slice(0, AT_LENGTH).join('');

const quoted = (text: string): string => `X'${Buffer.from(text).toString('hex')}'`;

/** Remembers the steps of a migration in a table, on the connection that runs them. */
export class MysqlJournal implements Journal {
  readonly #runner: QueryRunner;
  /** Whether vtgate checks columns, since tables are on several shards. */
  readonly #isSharded: boolean;
  #name = '';
  /** The step that was running when the migration was interrupted: it may be done. */
  #doubtful: number | undefined;

  constructor(runner: QueryRunner, { isSharded }: { isSharded: boolean }) {
    this.#runner = runner;
    this.#isSharded = isSharded;
  }

  async begin(name: string, direction: Direction, statements: readonly string[]): Promise<Position> {
    this.#name = name;
    await this.#runner.query(CREATE);
    const rows = (await this.#runner.query(READ_PROGRESS)) as ProgressRow[];
    const halfDone = halfDoneOf(rows);
    if (halfDone?.name === name && halfDone.direction === direction) {
      this.#doubtful = rows[0]?.is_running === 1 ? halfDone.step : undefined;
      return halfDone;
    }
    // A migration that an operator noted as applied by hand is finished.
    await this.#transaction([
      FORGET_PROGRESS,
      `INSERT INTO ${PROGRESS_TABLE} (name, direction, step, is_running, statement) VALUES ('${name}', '${direction}', 0, 0, '')`,
      ...statements,
    ]);
    this.#doubtful = undefined;
    return BEGINNING;
  }

  async statement(sql: string, step: number): Promise<void> {
    if (CHANGES_ROWS.test(sql)) {
      await this.#noting([sql], { step: step + 1, reached: undefined });
      return;
    }
    const mayBeDone = this.#doubtful === step;
    await this.#note({ step, reached: undefined }, { isRunning: true, sql });
    try {
      await this.#change(sql);
    } catch (error) {
      if (mayBeDone && isDoneAlready(sql, error)) return;
      // The server has answered, and so has not done it. Otherwise it may do it yet.
      if (faultOf(error) === undefined && !isInterrupted(error)) {
        await this.#note({ step, reached: undefined }, { isRunning: mayBeDone, sql });
      }
      throw this.#failure(error, step, sql);
    }
  }

  /** Changes a table once it is not in use. */
  async #change(sql: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#runner.query(sql);
        return;
      } catch (error) {
        if (driverError(error).errno !== LOCK_WAIT_TIMEOUT || tries === IN_USE_TRIES) throw error;
        await sleep(IN_USE_PAUSE_MS);
      }
    }
  }

  async part(statements: readonly string[], end: string | undefined, step: number): Promise<void> {
    await this.#noting(statements, end === undefined ? { step: step + 1, reached: undefined } : { step, reached: end });
  }

  async finish(statements: readonly string[]): Promise<void> {
    // The service that is started next must find all columns.
    if (this.#isSharded) await sleep(TOLD_MS);
    await this.#transaction([...statements, FORGET_PROGRESS]);
  }

  /** Runs statements and notes the position after them, in one transaction. */
  async #noting(statements: readonly string[], after: Position): Promise<void> {
    const [sql = ''] = statements;
    try {
      await this.#transaction([...statements, this.#progressStatement(after, { isRunning: false, sql })]);
    } catch (error) {
      throw this.#failure(error, after.reached === undefined ? after.step - 1 : after.step, sql);
    }
  }

  async #note(position: Position, state: { isRunning: boolean; sql: string }): Promise<void> {
    await this.#runner.query(this.#progressStatement(position, state));
  }

  #progressStatement({ step, reached }: Position, { isRunning, sql }: { isRunning: boolean; sql: string }): string {
    return (
      `UPDATE ${PROGRESS_TABLE} SET step = ${step}, reached = ${reached === undefined ? 'NULL' : quoted(reached)}, ` +
      `is_running = ${isRunning ? 1 : 0}, statement = ${quoted(beginningOf(sql))} WHERE name = '${this.#name}'`
    );
  }

  async #transaction(statements: readonly string[]): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#runner.query('START TRANSACTION');
        for (const sql of statements) await this.#runner.query(sql);
        await this.#runner.query('COMMIT');
        return;
      } catch (error) {
        await this.#runner.query('ROLLBACK').catch(() => undefined);
        const isUnknown = isColumnUnknown(error);
        const isInUse = driverError(error).errno === LOCK_WAIT_TIMEOUT;
        if (tries === (isInUse ? IN_USE_TRIES : TRIES) || !(isUnknown || isTransient(error))) throw error;
        if (isUnknown || isInUse) await sleep(isInUse ? IN_USE_PAUSE_MS : TOLD_MS);
      }
    }
  }

  #failure(error: unknown, step: number, sql: string): MigrationError {
    const { message, code } = driverError(error);
    return new MigrationError(
      `${this.#name} stopped at step ${step + 1}, ${beginningOf(sql)}: ${message || code}. ` +
        'What was done before is kept: when the cause is gone, run it again',
      { cause: error },
    );
  }
}
