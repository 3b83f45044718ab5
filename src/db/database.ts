import type { DataSource } from 'typeorm';
import { Deadline } from '../base/deadline.ts';
import { AppError } from '../base/errors.ts';
import type { Connection, DatabaseOptions, DatabaseSize, Schema } from './connection.ts';
import {
  type Direction,
  type MigrationPlan,
  type MigrationStates,
  planOf,
  readStates,
  runMigrations,
} from './migration/run.ts';
import { type EventSettings, WorkloadPool } from './workload-pool.ts';

/** Loads the driver of one engine only, to keep the start short. */
const open = async (url: string, schema: Schema, options: DatabaseOptions): Promise<Connection> => {
  if (url.startsWith('sqlite:')) {
    const { openSqlite } = await import('./sqlite/open.ts');
    return openSqlite(url, schema, options);
  }
  const { openMysql } = await import('./mysql/open.ts');
  return openMysql(url, schema, options);
};

/** Background work has a time limit, too, since a server that vanished never answers. */
const BACKGROUND_TIMEOUT_MS = 60_000;

/** The database of the service, of any engine. The object itself is the pool of calls. */
export class Database extends WorkloadPool {
  /** For anonymous calls, which may read stale data. */
  readonly anonymous: WorkloadPool;
  /** For the verification of keys. */
  readonly keys: WorkloadPool;
  /** For background work. */
  readonly background: WorkloadPool;
  /** For health checks. */
  readonly health: WorkloadPool;

  /** Whether transactions record events. The relay sets the listener for recorded events. */
  readonly events: EventSettings;

  private constructor(connection: Connection, { statementMs, observer, recordsEvents = true }: DatabaseOptions) {
    const closing = new Deadline();
    const events: EventSettings = { isOn: recordsEvents };
    const usual = { timeoutMs: statementMs, observer, events };
    super(connection, closing, 'calls', usual);
    this.events = events;
    this.anonymous = new WorkloadPool(connection, closing, 'anonymous', usual);
    this.keys = new WorkloadPool(connection, closing, 'keys', usual);
    this.background = new WorkloadPool(connection, closing, 'background', {
      timeoutMs: BACKGROUND_TIMEOUT_MS,
      observer,
      events,
    });
    this.health = new WorkloadPool(connection, closing, 'health', usual);
  }

  /**
   * Connects. `url` is `sqlite:<path>`, `mysql://user:password@host:port/database` or `mariadb://…`; several hosts are
   * alternatives.
   * @throws AddressError, AppError DATABASE_UNAVAILABLE
   */
  static async open(url: string, schema: Schema, options: DatabaseOptions = {}): Promise<Database> {
    const { connect = open } = options;
    return new Database(await connect(url, schema, options), options);
  }

  /** TypeORM's data source, for tests and tools that inspect the schema. */
  get dataSource(): DataSource {
    return this.connection.dataSource;
  }

  /**
   * Applies the due migrations, up to the one named `to` if it is given, and returns their names. Several processes may
   * safely start at once.
   */
  async migrate(to?: string): Promise<string[]> {
    // This reads before it locks, since a database in memory has one connection only.
    return this.#run('up', await this.#withPrivileges('up', () => this.#due(to)));
  }

  /** Returns the SQL that `migrate` or, for `down`, `revert` would run. Changes nothing. */
  async planMigrations(direction: Direction, to?: string): Promise<MigrationPlan[]> {
    const names = await (direction === 'up' ? this.#due(to) : this.#above(to));
    return planOf(this.dataSource, direction, names, await this.migrationStates());
  }

  /**
   * Reverts the last migration, or all after the one named `to`, with the data of their tables, and returns their
   * names, latest first.
   */
  async revert(to?: string): Promise<string[]> {
    return this.#run('down', await this.#withPrivileges('down', () => this.#above(to)));
  }

  /** Reads the due migrations; an account without access learns which privileges it lacks. @throws MigrationError */
  async #withPrivileges<T>(direction: Direction, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      const isDenied = error instanceof AppError && error.details.fault === 'access_denied';
      if (isDenied) await this.connection.assertMayMigrate?.(direction);
      throw error;
    }
  }

  /** Waits until no other process migrates, and runs the migrations in `names` that are still due. */
  async #run(direction: Direction, names: readonly string[]): Promise<string[]> {
    if (names.length === 0) return [];
    const { dataSource, whileMigrating, assertMayMigrate } = this.connection;
    await assertMayMigrate?.(direction);
    return whileMigrating((runner, run) => runMigrations(dataSource, runner, run, direction, names));
  }

  /**
   * The migrations begun after the one named `to` (none if that is not applied), or without `to` the last one; latest
   * first. This includes an interrupted migration.
   */
  async #above(to: string | undefined): Promise<string[]> {
    const states = await this.migrationStates();
    const begun = [...states.keys()];
    if (to === undefined) return begun.slice(-1);
    return states.get(to) === 'applied' ? begun.slice(begun.indexOf(to) + 1).toReversed() : [];
  }

  /** The due migrations, up to the one named `to` if it is given. */
  async #due(to: string | undefined): Promise<string[]> {
    const pending = await this.pendingMigrations();
    const names = this.migrationNames;
    const wanted = new Set(to === undefined ? names : names.slice(0, names.indexOf(to) + 1));
    return pending.filter((name) => wanted.has(name));
  }

  /** The names of all migrations of this version, oldest first. */
  get migrationNames(): string[] {
    return this.dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name);
  }

  /** The names of the migrations that are due, read by this pool. @throws AppError TIMEOUT, DATABASE_UNAVAILABLE */
  async pendingMigrations(deadline?: Deadline, pool: WorkloadPool = this.health): Promise<string[]> {
    const applied = new Set(await this.appliedMigrations(deadline, pool));
    return this.migrationNames.filter((name) => !applied.has(name));
  }

  /** The names of the migrations that were applied, in that order. @throws AppError TIMEOUT, DATABASE_UNAVAILABLE */
  async appliedMigrations(deadline?: Deadline, pool: WorkloadPool = this.health): Promise<string[]> {
    const states = await this.migrationStates(deadline, pool);
    return [...states].flatMap(([name, state]) => (state === 'applied' ? [name] : []));
  }

  /** The migrations that were begun. @throws AppError TIMEOUT, DATABASE_UNAVAILABLE */
  async migrationStates(deadline?: Deadline, pool: WorkloadPool = this.health): Promise<MigrationStates> {
    await this.ping(deadline, pool);
    try {
      return await readStates((sql) => pool.read(sql, [], deadline));
    } catch (error) {
      if (error instanceof AppError) throw error;
      // The server answers, so the table is missing: no migration was ever applied.
      return new Map();
    }
  }

  /** Removes the remains of deleted rows from the files of the database. Returns whether the engine can do that. */
  async scrub(): Promise<boolean> {
    await this.connection.scrub?.();
    return this.connection.scrub !== undefined;
  }

  /** Checks the pages of the file: see `Connection`. Undefined without a file. */
  get pageFaults(): Connection['pageFaults'] {
    return this.connection.pageFaults;
  }

  /** Asks whether the database answers. @throws AppError TIMEOUT, DATABASE_UNAVAILABLE */
  async ping(deadline?: Deadline, pool: WorkloadPool = this.health): Promise<void> {
    await pool.read('SELECT 1', [], deadline);
  }

  /** The size of the database and, on SQLite, of its file system. */
  size(deadline: Deadline): Promise<DatabaseSize> {
    return this.connection.size(deadline);
  }

  /** The lag of each replica, in milliseconds; infinite for an unreachable one. */
  get replicaLags(): ReadonlyMap<string, number> {
    return this.connection.replicaLags?.() ?? new Map();
  }

  /** Disconnects at once. The caller has awaited its queries, or abandoned them. */
  async close(): Promise<void> {
    this.closing.end();
    await this.connection.close();
  }
}
