import { type DataSource, type Migration, MigrationExecutor, type QueryRunner } from 'typeorm';

/** Statements by which a migration inspects the database before it changes anything. */
const READS = /^\s*(?:SELECT|PRAGMA|SHOW)\b/i;

/** The statements that a migration would run. */
export interface MigrationPlan {
  /** The name of the migration. */
  name: string;
  /** The statements, in order, as they can be run by hand; the last one notes the migration. */
  statements: string[];
}

/** TypeORM's own executor, whose statements are written down. */
class Planner extends MigrationExecutor {
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

/** Wraps a query runner: it runs reads, and adds all other statements to `statements` instead. */
const recorderOf = (runner: QueryRunner, statements: string[]): QueryRunner => {
  const query = (sql: string, parameters?: unknown[]): Promise<unknown> => {
    if (READS.test(sql)) return runner.query(sql, parameters);
    statements.push(sql.endsWith(';') ? sql : `${sql};`);
    return Promise.resolve([]);
  };
  return new Proxy(runner, {
    get: (target, name) => (name === 'query' ? query : (Reflect.get(target, name) as unknown)),
  });
};

/** The statements that apply these migrations, or, for `down`, revert them, in that order. Runs none of them. */
export const planOf = async (
  dataSource: DataSource,
  direction: 'up' | 'down',
  names: readonly string[],
): Promise<MigrationPlan[]> => {
  const runner = dataSource.createQueryRunner();
  try {
    const planner = new Planner(dataSource, runner);
    const plans: MigrationPlan[] = [];
    for (const { name, timestamp, instance } of planner.named(names)) {
      const statements: string[] = [];
      const recorder = recorderOf(runner, statements);
      if (direction === 'up' && plans.length === 0) await planner.prepare(recorder);
      await instance?.[direction](recorder);
      statements.push(
        direction === 'up'
          ? `INSERT INTO migrations (timestamp, name) VALUES (${timestamp}, '${name}');`
          : `DELETE FROM migrations WHERE name = '${name}';`,
      );
      plans.push({ name, statements });
    }
    return plans;
  } finally {
    await runner.release();
  }
};
