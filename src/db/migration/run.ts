import { type DataSource, type Migration, MigrationExecutor, type QueryRunner, type Table } from 'typeorm';

export type Direction = 'up' | 'down';

/** A migration that failed or cannot begin; the message says at which statement or why, and what to do. */
export class MigrationError extends Error {}

/** Runs a changing statement of the migration of this name. */
export type RunStatement = (sql: string, migration: string) => Promise<unknown>;

/** The statements that a migration would run. */
export interface MigrationPlan {
  /** The name of the migration. */
  name: string;
  /** The statements in order, in a form to run by hand; the last one records the migration. */
  statements: string[];
}

/**
 * The migrations in the database's table of migrations, oldest first: applied, or interrupted in this direction, where
 * the engine cannot undo a whole migration.
 */
export type MigrationStates = ReadonlyMap<string, 'applied' | Direction>;

/** The suffixes of names in the table for migrations that have begun and not ended. */
const INTERRUPTED = { up: ' (half done)', down: ' (half reverted)' } as const;

const storedAs = (name: string, state: 'applied' | Direction): string =>
  state === 'applied' ? name : `${name}${INTERRUPTED[state]}`;

/** Reads the table of migrations; fails where it is missing. */
export const readStates = async (read: (sql: string) => Promise<unknown[]>): Promise<MigrationStates> => {
  const states = new Map<string, 'applied' | Direction>();
  for (const row of await read('SELECT name FROM migrations ORDER BY id')) {
    const { name: stored } = row as { name: string };
    const direction = (['up', 'down'] as const).find((one) => stored.endsWith(INTERRUPTED[one]));
    const name = direction ? stored.slice(0, -INTERRUPTED[direction].length) : stored;
    // An operator may have finished it by hand.
    if (states.get(name) !== 'applied') states.set(name, direction ?? 'applied');
  }
  return states;
};

/** The statement that changes the state of a migration in the table; `undefined` means that the table lacks it. */
const noteOf = (
  { name, timestamp }: Migration,
  from: 'applied' | Direction | undefined,
  to: 'applied' | Direction | undefined,
): string => {
  if (to === undefined) return `DELETE FROM migrations WHERE name = '${storedAs(name, from ?? 'applied')}'`;
  const stored = storedAs(name, to);
  return from === undefined
    ? `INSERT INTO migrations (timestamp, name) VALUES (${timestamp}, '${stored}')`
    : `UPDATE migrations SET name = '${stored}' WHERE name = '${storedAs(name, from)}'`;
};

/** TypeORM's own executor, used only for the migrations and their table. */
class Migrations extends MigrationExecutor {
  /** Creates the table of migrations, if it is missing. */
  async prepare(runner: QueryRunner): Promise<void> {
    await this.createMigrationsTableIfNotExist(runner);
  }

  /** The migrations of these names, in that order. */
  named(names: readonly string[]): Migration[] {
    const known = new Map(this.getMigrations().map((migration) => [migration.name, migration]));
    return names.flatMap((name) => known.get(name) ?? []);
  }
}

/** Statements by which a migration inspects the database before it changes anything. */
const READS = /^\s*(?:SELECT|PRAGMA|SHOW)\b/i;

/** Wraps the query runner of a migration: reads run as they are, all other statements go to `run`. */
const changingBy = (runner: QueryRunner, run: (sql: string) => Promise<unknown>): QueryRunner => {
  const query = (sql: string, parameters?: unknown[]): Promise<unknown> =>
    READS.test(sql) ? runner.query(sql, parameters) : run(sql);
  // TypeORM's own method first reads the table, which may be dropped already, and drops its keys and indexes singly.
  const dropTable = (table: Table | string): Promise<unknown> =>
    query(`DROP TABLE ${typeof table === 'string' ? table : table.name}`);
  const own: Record<PropertyKey, unknown> = { query, dropTable };
  return new Proxy(runner, {
    get: (target, name) => (Object.hasOwn(own, name) ? own[name] : (Reflect.get(target, name) as unknown)),
  });
};

/**
 * Applies or reverts the migrations in `names` that are still due, in this order, and returns their names. An
 * interrupted migration is run again from its beginning: `run` skips the changes that are done already.
 */
export const runMigrations = async (
  dataSource: DataSource,
  runner: QueryRunner,
  run: RunStatement,
  direction: Direction,
  names: readonly string[],
): Promise<string[]> => {
  const migrations = new Migrations(dataSource, runner);
  await migrations.prepare(runner);
  const states = await readStates((sql) => runner.query(sql));
  const due = migrations
    .named(names)
    .filter(({ name }) => (direction === 'up' ? states.get(name) !== 'applied' : states.has(name)));
  for (const migration of due) {
    const { name, instance } = migration;
    const from = states.get(name);
    // A running migration is pending: the service must not regard its tables as complete.
    if (from !== direction) await run(noteOf(migration, from, direction), name);
    await instance?.[direction](changingBy(runner, (sql) => run(sql, name)));
    await run(noteOf(migration, direction, direction === 'up' ? 'applied' : undefined), name);
  }
  return due.map(({ name }) => name);
};

/** The statements that apply or, for `down`, revert these migrations, in that order. Runs none of them. */
export const planOf = async (
  dataSource: DataSource,
  direction: Direction,
  names: readonly string[],
  states: MigrationStates,
): Promise<MigrationPlan[]> => {
  const runner = dataSource.createQueryRunner();
  try {
    const migrations = new Migrations(dataSource, runner);
    const plans: MigrationPlan[] = [];
    for (const migration of migrations.named(names)) {
      const statements: string[] = [];
      const writing = changingBy(runner, async (sql) => statements.push(sql));
      if (direction === 'up' && plans.length === 0) await migrations.prepare(writing);
      await migration.instance?.[direction](writing);
      statements.push(noteOf(migration, states.get(migration.name), direction === 'up' ? 'applied' : undefined));
      plans.push({ name: migration.name, statements: statements.map((sql) => (sql.endsWith(';') ? sql : `${sql};`)) });
    }
    return plans;
  } finally {
    await runner.release();
  }
};
