import { type Migration, MigrationExecutor, type QueryRunner } from 'typeorm';
import {
  type Direction,
  type HalfDone,
  type Journal,
  MigrationError,
  type Position,
  stepwise,
  type Steps,
} from './steps.ts';

/** TypeORM's own executor, of which only what finds migrations is used. */
export class Migrations extends MigrationExecutor {
  /** Creates the table of applied migrations, if it is missing. */
  async prepare(runner: QueryRunner): Promise<void> {
    await this.createMigrationsTableIfNotExist(runner);
  }

  /** The migrations of these names, in that order. */
  named(names: readonly string[]): Migration[] {
    const known = new Map(this.getMigrations().map((migration) => [migration.name, migration]));
    return names.flatMap((name) => known.get(name) ?? []);
  }
}

/** The statement that records a migration as applied. */
export const insertOf = ({ timestamp, name }: Migration): string =>
  `INSERT INTO migrations (timestamp, name) VALUES (${timestamp}, '${name}')`;

/** The statement that records it as reverted. */
export const deleteOf = ({ name }: Migration): string => `DELETE FROM migrations WHERE name = '${name}'`;

/** Runs the steps of a migration from a position on. */
export const runSteps = async (
  { instance }: Migration,
  direction: Direction,
  runner: QueryRunner,
  from: Position,
  steps: Steps,
): Promise<void> => {
  await instance?.[direction](stepwise(runner, from, steps));
};

/** Applies or reverts a migration. One that was interrupted goes on where it was. */
export const runMigration = async (
  migration: Migration,
  direction: Direction,
  runner: QueryRunner,
  journal: Journal,
): Promise<void> => {
  // A migration that is half reverted is pending: the service must not take its tables for complete.
  const from = await journal.begin(migration.name, direction, direction === 'down' ? [deleteOf(migration)] : []);
  await runSteps(migration, direction, runner, from, journal);
  await journal.finish(direction === 'up' ? [insertOf(migration)] : []);
};

/** @throws MigrationError where another direction has to be finished first */
export const assertDirection = (halfDone: HalfDone | undefined, direction: Direction): void => {
  if (!halfDone || halfDone.direction === direction) return;
  throw new MigrationError(
    direction === 'up'
      ? `${halfDone.name} is half reverted: finish that first, with migrate --down --yes`
      : `${halfDone.name} is half done: finish that first, with migrate`,
  );
};
