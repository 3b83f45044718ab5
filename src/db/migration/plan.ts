import type { DataSource } from 'typeorm';
import { deleteOf, Migrations, insertOf, runSteps } from './run.ts';
import { BEGINNING, type Direction, type HalfDone, PROGRESS_TABLE, stepwise, type Steps } from './steps.ts';

/** The statements that a migration would run. */
export interface MigrationPlan {
  /** The name of the migration. */
  name: string;
  /** The statements, in order, as they can be run by hand; the last one notes the migration. */
  statements: string[];
}

/** Steps that are written down instead of being run. */
const writtenTo = (statements: string[]): Steps => ({
  statement: async (sql) => {
    statements.push(sql);
  },
  part: async (some) => {
    statements.push(...some);
  },
});

/**
 * The statements that apply these migrations, or, for `down`, revert them, in that order. Runs none of them. Of one that was
 * interrupted, those that are not done yet.
 */
export const planOf = async (
  dataSource: DataSource,
  direction: Direction,
  names: readonly string[],
  halfDone: HalfDone | undefined,
): Promise<MigrationPlan[]> => {
  const runner = dataSource.createQueryRunner();
  try {
    const migrations = new Migrations(dataSource, runner);
    const plans: MigrationPlan[] = [];
    for (const migration of migrations.named(names)) {
      const statements: string[] = [];
      const steps = writtenTo(statements);
      const from = halfDone?.name === migration.name ? halfDone : undefined;
      if (direction === 'up' && plans.length === 0) await migrations.prepare(stepwise(runner, BEGINNING, steps));
      await runSteps(migration, direction, runner, from ?? BEGINNING, steps);
      statements.push((direction === 'up' ? insertOf : deleteOf)(migration));
      if (from) statements.push(`DELETE FROM ${PROGRESS_TABLE}`);
      plans.push({ name: migration.name, statements: statements.map((sql) => (sql.endsWith(';') ? sql : `${sql};`)) });
    }
    return plans;
  } finally {
    await runner.release();
  }
};
