import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, EntityMetadata } from 'typeorm';
import type { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';
import { type Connection, type Parameter, type Reader, RunAgain, type Schema, type Transaction } from './connection.ts';
import type { Dialect } from './dialect.ts';

const MAX_ATTEMPTS = 12;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;
/** What a statement, and a transaction, is billed at most: dear ones take as long without having to wait. */
const MOST_BILLED_MS = { read: 250, transaction: 1000 };

/** Loads the driver of one engine only, since a start takes long enough. */
const open = async (url: string, schema: Schema): Promise<Connection> => {
  if (url.startsWith('sqlite:')) {
    const { openSqlite } = await import('./sqlite.ts');
    return openSqlite(url, schema);
  }
  const { openMysql } = await import('./mysql.ts');
  return openMysql(url, schema);
};

/** The service's one way to its database, of whatever engine. Failures of the server come out as `AppError`s. */
export class Database implements Reader {
  readonly #connection: Connection;
  readonly #metadataOf = (entity: string): EntityMetadata => this.dataSource.getMetadata(entity);

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Connects. `url` is `sqlite:<path>`, `mysql://user:password@host:port/database` or `mariadb://…`.
   * @throws AddressError, AppError DATABASE_UNAVAILABLE
   */
  static async open(url: string, schema: Schema): Promise<Database> {
    return new Database(await open(url, schema));
  }

  get dialect(): Dialect {
    return this.#connection.dialect;
  }

  /** TypeORM's own handle, for tests and tools that look at the schema. */
  get dataSource(): DataSource {
    return this.#connection.dataSource;
  }

  /** Reads as `read` does, but no longer than until the deadline. */
  within(deadline: Deadline | undefined): Reader {
    return {
      dialect: this.dialect,
      deadline,
      read: (sql, parameters) => this.read(sql, parameters, deadline),
    };
  }

  /**
   * Runs a SELECT outside of any transaction and returns its rows. Run once more if the connection broke.
   * @throws AppError TIMEOUT at the deadline, OVERLOADED, DATABASE_UNAVAILABLE
   */
  async read<Row>(sql: string, parameters: readonly Parameter[] = [], deadline?: Deadline): Promise<Row[]> {
    const run = () => this.#connection.read(sql, parameters, deadline) as Promise<Row[]>;
    const began = performance.now();
    try {
      return await run().catch((error: unknown) => {
        if (!this.#connection.isUnreachable(error)) throw error;
        return run();
      });
    } catch (error) {
      throw this.#translate(error);
    } finally {
      deadline?.billSince(began, MOST_BILLED_MS.read);
    }
  }

  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. A transaction that lost a
   * deadlock or a lock wait is run again as a whole, so `work` must not touch anything but the transaction.
   * @throws AppError TIMEOUT at the deadline, OVERLOADED when it kept losing, DATABASE_UNAVAILABLE, OUTCOME_UNKNOWN when
   * the connection broke while it was committed, and whatever `work` throws
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>, deadline?: Deadline): Promise<T> {
    const { dialect } = this;
    const metadataOf = this.#metadataOf;
    for (let attempt = 1; ; attempt += 1) {
      try {
        deadline?.assert();
        return await this.#billed(deadline, (begin) =>
          this.#connection.transaction((statements) => {
            begin();
            return work({ ...statements, dialect, deadline, metadataOf });
          }, deadline),
        );
      } catch (error) {
        if (!this.#isTransient(error) || attempt === MAX_ATTEMPTS) throw this.#translate(error);
        const pause = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
        await sleep(pause * (0.5 + Math.random()));
      }
    }
  }

  /** Applies the migrations that are due and returns their names. Safe when several processes start at once. */
  async migrate(): Promise<string[]> {
    const { dataSource, whileMigrating } = this.#connection;
    const applied = await whileMigrating(() => dataSource.runMigrations({ transaction: 'none' }));
    return applied.map((migration) => migration.name);
  }

  /** Takes back the migration applied last, with all its tables hold, and returns its name if there was one. */
  async revert(): Promise<string | undefined> {
    const { dataSource, whileMigrating } = this.#connection;
    return whileMigrating(async () => {
      const last = (await this.appliedMigrations()).at(-1);
      if (last !== undefined) await dataSource.undoLastMigration({ transaction: 'none' });
      return last;
    });
  }

  /** The names of the migrations that are due. */
  async pendingMigrations(): Promise<string[]> {
    const applied = new Set(await this.appliedMigrations());
    return this.dataSource.migrations
      .map((migration) => migration.name ?? migration.constructor.name)
      .filter((name) => !applied.has(name));
  }

  /** The names of the migrations that were applied, in that order. */
  async appliedMigrations(): Promise<string[]> {
    await this.read('SELECT 1');
    try {
      const rows = await this.#connection.read('SELECT name FROM migrations ORDER BY id', []);
      return (rows as { name: string }[]).map((row) => row.name);
    } catch {
      // The server answers, so it is the table that is missing: nothing was ever applied.
      return [];
    }
  }

  /** Waits for nothing: whoever calls it has seen its queries finish. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  /** Bills the time from when `run` says that it begins, since others may be before it, to its end. */
  async #billed<T>(deadline: Deadline | undefined, run: (begin: () => void) => Promise<T>): Promise<T> {
    let began: number | undefined;
    try {
      return await run(() => (began = performance.now()));
    } finally {
      if (began !== undefined) deadline?.billSince(began, MOST_BILLED_MS.transaction);
    }
  }

  #isTransient(error: unknown): boolean {
    return error instanceof RunAgain || this.#connection.isTransient(error);
  }

  #translate(error: unknown): unknown {
    if (error instanceof AppError) return error;
    if (this.#isTransient(error)) return new AppError('OVERLOADED', { cause: error });
    if (this.#connection.isUnreachable(error)) return new AppError('DATABASE_UNAVAILABLE', { cause: error });
    return error;
  }
}
