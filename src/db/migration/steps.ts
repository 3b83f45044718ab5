import type { QueryRunner, Table } from 'typeorm';
import type { NextPart, PartsRunner } from '../../../migrations/online.ts';

/** Statements by which a migration inspects the database before it changes anything. */
const READS = /^\s*(?:SELECT|PRAGMA|SHOW)\b/i;

export type Direction = 'up' | 'down';

/** How far a migration has come. Its steps are its changing statements, and its changes of all rows, part by part. */
export interface Position {
  /** The number of steps that are done. */
  step: number;
  /** Of the step after them, the end of the last part that is done. */
  reached: string | undefined;
}

/** The table in which MySQL and MariaDB remember a migration under way. */
export const PROGRESS_TABLE = 'migration_progress';

export const BEGINNING: Position = { step: 0, reached: undefined };

/** A migration that was interrupted, in a database that cannot undo it. */
export interface HalfDone extends Position {
  name: string;
  direction: Direction;
  /** The beginning of the statement at which it was interrupted. */
  at: string;
}

/** A migration that failed or cannot begin; the message says at which step or why, and what to do. */
export class MigrationError extends Error {}

/** Runs the steps of a migration. `step` is the number of steps before. */
export interface Steps {
  statement(sql: string, step: number): Promise<void>;
  /** Runs the statements of a part of the rows, which ends at `end`; the last part has none. */
  part(statements: readonly string[], end: string | undefined, step: number): Promise<void>;
}

/** Runs the steps of migrations, and remembers them where the database cannot undo a migration as a whole. */
export interface Journal extends Steps {
  /** Runs `statements` as the first of a migration, unless it was interrupted. Returns where it begins. */
  begin(name: string, direction: Direction, statements: readonly string[]): Promise<Position>;
  /** Runs `statements` as the last of the migration. */
  finish(statements: readonly string[]): Promise<void>;
}

/** A journal for a database that undoes a failed migration as a whole: it remembers nothing. */
export const unrecorded = (runner: QueryRunner): Journal => {
  const run = async (statements: readonly string[]): Promise<void> => {
    for (const sql of statements) await runner.query(sql);
  };
  return {
    begin: async (_name, _direction, statements) => {
      await run(statements);
      return BEGINNING;
    },
    statement: (sql) => run([sql]),
    part: run,
    finish: run,
  };
};

/**
 * Wraps the query runner of a migration: reads run as they are; steps that are done are left out, all others go to `steps`.
 * Each run of a migration has the same steps in the same order.
 */
export const stepwise = (runner: QueryRunner, from: Position, steps: Steps): QueryRunner => {
  let next = 0;
  const query = async (sql: string, parameters?: unknown[]): Promise<unknown> => {
    if (READS.test(sql)) return runner.query(sql, parameters);
    const step = next;
    next += 1;
    if (step >= from.step) await steps.statement(sql, step);
    return [];
  };
  const parts: PartsRunner['parts'] = async (partAfter: NextPart) => {
    const step = next;
    next += 1;
    if (step < from.step) return;
    let after = step === from.step ? from.reached : undefined;
    do {
      const { statements, end } = await partAfter(after);
      await steps.part(statements, end, step);
      after = end;
    } while (after !== undefined);
  };
  // TypeORM's own would read the table first, which is gone where this is done, and drop its keys and indexes one by one.
  const dropTable = (table: Table | string): Promise<unknown> =>
    query(`DROP TABLE ${typeof table === 'string' ? table : table.name}`);
  const own: Record<PropertyKey, unknown> = { query, parts, dropTable };
  return new Proxy(runner, {
    get: (target, name) => (Object.hasOwn(own, name) ? own[name] : (Reflect.get(target, name) as unknown)),
  });
};
