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

  /** Whether transactions record events. The relay sets whom they tell. */
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
   * Connects. `url` is `sqlite:<path>`, `mysql://user:password@host:port/database` or `mariadb://…`; several hosts
   * stand in for each other.
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
   * Applies the migrations that are due, up to the one of this name if one is given, and returns their names. Safe when
   * several processes start at once.
   */
  async migrate(to?: string): Promise<string[]> {
    // Before the lock, since a database in memory has one connection only.
    return this.#run('up', await this.#withPrivileges('up', () => this.#due(to)));
  }

  /** Returns the SQL that `migrate` would run, or, for `down`, `revert`. Changes nothing. */
  async planMigrations(direction: Direction, to?: string): Promise<MigrationPlan[]> {
    const names = await (direction === 'up' ? this.#due(to) : this.#above(to));
    return planOf(this.dataSource, direction, names, await this.migrationStates());
  }

  /**
   * Reverts the last migration, or all after the one of this name, with the data of their tables, and returns their
   * names, latest first.
   */
  async revert(to?: string): Promise<string[]> {
    return this.#run('down', await this.#withPrivileges('down', () => this.#above(to)));
  }

  /** Reads which migrations are due; an account that may not even read is told which privileges it lacks. @throws MigrationError */
  async #withPrivileges<T>(direction: Direction, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      const isDenied = error instanceof AppError && error.details.fault === 'access_denied';
      if (isDenied) await this.connection.assertMayMigrate?.(direction);
      throw error;
    }
  }

  /** Runs those of the migrations `names` that are still due once no other process migrates. */
  async #run(direction: Direction, names: readonly string[]): Promise<string[]> {
    if (names.length === 0) return [];
    const { dataSource, whileMigrating, assertMayMigrate } = this.connection;
    await assertMayMigrate?.(direction);
    return whileMigrating((runner, run) => runMigrations(dataSource, runner, run, direction, names));
  }

  /**
   * The migrations that were begun after the one of this name, if that was applied, or the last one; the latest first. One that
   * was interrupted is among them.
   */
  async #above(to: string | undefined): Promise<string[]> {
    const states = await this.migrationStates();
    const begun = [...states.keys()];
    if (to === undefined) return begun.slice(-1);
    return states.get(to) === 'applied' ? begun.slice(begun.indexOf(to) + 1).toReversed() : [];
  }

  /** The migrations that are due, up to the one of this name if one is given. */
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

  /** Removes what is left of deleted rows from the files of the database. Returns whether the engine can do that. */
  async scrub(): Promise<boolean> {
    await this.connection.scrub?.();
    return this.connection.scrub !== undefined;
  }

  /** Looks at the pages of the file: see `Connection`. Undefined where there is no file. */
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

  /** How far each replica lags, in milliseconds; infinite where one cannot be reached. */
  get replicaLags(): ReadonlyMap<string, number> {
    return this.connection.replicaLags?.() ?? new Map();
  }

  /** Disconnects at once. The caller has awaited its queries, or abandoned them. */
  async close(): Promise<void> {
    this.closing.end();
    await this.connection.close();
  }
}
