import { type DataSource, type EntityMetadata, MigrationExecutor } from 'typeorm';
import { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';
import {
  type Connection,
  type DatabaseOptions,
  type Workload,
  ForeignKeyError,
  type Parameter,
  type Reader,
  RetryTransaction,
  type Schema,
  type Statements,
  type Transaction,
} from './connection.ts';
import type { Dialect } from './dialect.ts';
import type { DatabaseObserver, RetryCause } from './observer.ts';
import { type MigrationPlan, planOf } from './sql/plan.ts';

/** Runs of a transaction that keeps losing to others, where no deadline bounds them. */
const MAX_ATTEMPTS = 12;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;
/** What a statement, and a transaction, is billed at most: dear ones take as long without having to wait. */
const MOST_BILLED_MS = { read: 250, transaction: 1000 };
/** How long something is tried again while the database cannot be reached, and the first pause of several. */
const UNREACHABLE_PATIENCE_MS = 700;
const UNREACHABLE_PAUSE_MS = 50;

/** Loads the driver of one engine only, since a start takes long enough. */
const open = async (url: string, schema: Schema, options: DatabaseOptions): Promise<Connection> => {
  if (url.startsWith('sqlite:')) {
    const { openSqlite } = await import('./sqlite/open.ts');
    return openSqlite(url, schema, options);
  }
  const { openMysql } = await import('./mysql/open.ts');
  return openMysql(url, schema, options);
};

/** How a transaction may be run. */
export interface TransactionOptions {
  /** Whether its work finds out by itself that it is stored already: then it is run again also when nobody knows. */
  isIdempotent?: boolean;
}

/** Resolves after so many milliseconds, or when one of the deadlines ends. */
const pause = (ms: number, deadlines: readonly (Deadline | undefined)[]): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      for (const forget of forgets) forget?.();
      resolve();
    };
    const timer = setTimeout(done, ms);
    const forgets = deadlines.map((deadline) => deadline?.onEnd(done));
  });

/** How often something has been tried. */
class RetryPolicy {
  readonly #deadline: Deadline | undefined;
  readonly #closing: Deadline;
  readonly #observer: DatabaseObserver | undefined;
  #lost = 0;
  #pauses = 0;
  #unreachableSince: number | undefined;

  /** `closing` ends when the database is closed. */
  constructor(deadline: Deadline | undefined, closing: Deadline, observer: DatabaseObserver | undefined) {
    this.#deadline = deadline;
    this.#closing = closing;
    this.#observer = observer;
  }

  /** After a loss against others: resolves to whether it is to be tried again, when that time has come. */
  async afterConflict(): Promise<boolean> {
    this.#lost += 1;
    if (!this.#deadline && this.#lost === MAX_ATTEMPTS) return false;
    return this.#pause(FIRST_PAUSE_MS * 2 ** (this.#lost - 1), 'conflict');
  }

  /** Likewise while the database cannot be reached. */
  async afterDisconnect(): Promise<boolean> {
    const now = performance.now();
    this.#unreachableSince ??= now;
    this.#pauses += 1;
    if (now - this.#unreachableSince >= UNREACHABLE_PATIENCE_MS) return false;
    return this.#pause(UNREACHABLE_PAUSE_MS * 2 ** (this.#pauses - 1), 'unreachable');
  }

  async #pause(ms: number, cause: RetryCause): Promise<boolean> {
    const ends = [this.#deadline, this.#closing];
    if (ends.some((deadline) => deadline?.error)) return false;
    await pause(Math.min(ms, LONGEST_PAUSE_MS) * (0.5 + Math.random()), ends);
    if (ends.some((deadline) => deadline?.error)) return false;
    this.#observer?.retried(cause);
    return true;
  }
}

const isOutcomeUnknown = (error: unknown): boolean => error instanceof AppError && error.reason === 'OUTCOME_UNKNOWN';
/** Whether an error says that nothing was stored, of the run that met it. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && ['TIMEOUT', 'OVERLOADED', 'DATABASE_UNAVAILABLE'].includes(error.reason);

/** Bills the time from when `run` says that it begins, since others may be before it, to its end. */
const billed = async <T>(deadline: Deadline | undefined, run: (begin: () => void) => Promise<T>): Promise<T> => {
  let began: number | undefined;
  try {
    return await run(() => (began = performance.now()));
  } finally {
    if (began !== undefined) deadline?.chargeSince(began, MOST_BILLED_MS.transaction);
  }
};

/** Statements that the deadline hears of, if anybody wants to. */
const observed = (statements: Statements, deadline: Deadline | undefined): Statements => {
  const queries = deadline?.queries;
  if (!queries) return statements;
  const timed = async <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    try {
      return await run();
    } finally {
      queries.add(sql, performance.now() - began);
    }
  };
  return {
    read: (sql, parameters) => timed(sql, () => statements.read(sql, parameters)),
    execute: (sql, parameters) => timed(sql, () => statements.execute(sql, parameters)),
  };
};

/**
 * A way to the database that others cannot crowd: see `LaneName`. Failures of the server come out as `AppError`s.
 */
export class WorkloadPool implements Reader {
  protected readonly connection: Connection;
  /** Ends when the database is closed. */
  protected readonly closing: Deadline;
  readonly #name: Workload;
  readonly #timeoutMs: number | undefined;
  /** Watches the whole database. */
  readonly observer: DatabaseObserver | undefined;
  readonly #metadataOf = (entity: string): EntityMetadata => this.connection.dataSource.getMetadata(entity);

  /** Without a deadline of its own, what is done here may take `timeoutMs` milliseconds, or as long as it takes. */
  constructor(
    connection: Connection,
    closing: Deadline,
    name: Workload,
    { timeoutMs, observer }: { timeoutMs?: number | undefined; observer?: DatabaseObserver | undefined } = {},
  ) {
    this.connection = connection;
    this.closing = closing;
    this.#name = name;
    this.#timeoutMs = timeoutMs;
    this.observer = observer;
  }

  get dialect(): Dialect {
    return this.connection.dialect;
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
   * Runs a SELECT outside of any transaction and returns its rows. Run again, for a moment, when the connection broke.
   * @throws AppError TIMEOUT at the deadline, OVERLOADED, DATABASE_UNAVAILABLE
   */
  async read<Row>(sql: string, parameters: readonly Parameter[] = [], deadline?: Deadline): Promise<Row[]> {
    const own = deadline ? undefined : this.#ownDeadline();
    const began = performance.now();
    try {
      return (await this.connection.read(sql, parameters, deadline ?? own, this.#name)) as Row[];
    } catch (error) {
      return (await this.#readAgain(error, sql, parameters, deadline ?? own)) as Row[];
    } finally {
      deadline?.chargeSince(began, MOST_BILLED_MS.read);
      deadline?.queries?.add(sql, performance.now() - began);
      own?.close();
    }
  }

  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. A transaction that lost a
   * deadlock or a lock wait, or its connection before it was committed, is run again as a whole, so `work` must not touch
   * anything but the transaction.
   * @throws AppError TIMEOUT at the deadline, OVERLOADED when it kept losing without one, DATABASE_UNAVAILABLE, OUTCOME_UNKNOWN when
   * it may be stored, and whatever `work` throws
   */
  async transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    deadline?: Deadline,
    { isIdempotent = false }: TransactionOptions = {},
  ): Promise<T> {
    const own = deadline ? undefined : this.#ownDeadline();
    try {
      return await this.#transaction(work, deadline ?? own, isIdempotent);
    } finally {
      own?.close();
    }
  }

  async #transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    deadline: Deadline | undefined,
    isIdempotent: boolean,
  ): Promise<T> {
    const { dialect, connection } = this;
    const metadataOf = this.#metadataOf;
    const tries = new RetryPolicy(deadline, this.closing, this.observer);
    let isMaybeStored = false;
    for (;;) {
      try {
        deadline?.assert();
        return await billed(deadline, (begin) => {
          const run = (statements: Statements): Promise<T> => {
            begin();
            return work({ ...observed(statements, deadline), dialect, deadline, metadataOf });
          };
          return connection.transaction(run, deadline, this.#name);
        });
      } catch (error) {
        isMaybeStored ||= isOutcomeUnknown(error);
        if (await this.#isToBeRunAgain(error, tries, isIdempotent)) continue;
        const fault = this.#isPassing(error) ? (deadline?.error ?? this.translate(error)) : this.translate(error);
        // Of an earlier run, nobody knows.
        throw isMaybeStored && isRefusal(fault) ? new AppError('OUTCOME_UNKNOWN', { cause: fault }) : fault;
      }
    }
  }

  async #isToBeRunAgain(error: unknown, tries: RetryPolicy, isIdempotent: boolean): Promise<boolean> {
    if (isOutcomeUnknown(error)) return isIdempotent && tries.afterDisconnect();
    if (this.#isTransient(error)) return tries.afterConflict();
    return this.connection.isUnreachable(error) && tries.afterDisconnect();
  }

  async #readAgain(
    first: unknown,
    sql: string,
    parameters: readonly Parameter[],
    deadline: Deadline | undefined,
  ): Promise<unknown[]> {
    const tries = new RetryPolicy(deadline, this.closing, this.observer);
    let error = first;
    while (this.connection.isUnreachable(error) && (await tries.afterDisconnect())) {
      try {
        return await this.connection.read(sql, parameters, deadline, this.#name);
      } catch (again) {
        error = again;
      }
    }
    throw this.#isPassing(error) ? (deadline?.error ?? this.translate(error)) : this.translate(error);
  }

  /** The deadline of what was given none. To be closed. */
  #ownDeadline(): Deadline | undefined {
    return this.#timeoutMs === undefined ? undefined : new Deadline(this.#timeoutMs);
  }

  #isTransient(error: unknown): boolean {
    return error instanceof RetryTransaction || this.connection.isTransient(error);
  }

  /** Whether what met this error could have been tried again. */
  #isPassing(error: unknown): boolean {
    return this.#isTransient(error) || this.connection.isUnreachable(error);
  }

  /** An error of the engine as one of the catalogue, where it has one. */
  protected translate(error: unknown): unknown {
    if (error instanceof AppError) return error;
    if (this.#isTransient(error)) return new AppError('OVERLOADED', { cause: error });
    if (this.connection.isInterrupted?.(error)) return new AppError('TIMEOUT', { cause: error });
    if (this.connection.isUnreachable(error)) return new AppError('DATABASE_UNAVAILABLE', { cause: error });
    return this.connection.isForeignKeyError(error)
      ? new ForeignKeyError('what a row refers to is gone', { cause: error })
      : error;
  }
}

/** What the background does has a time, too, since a server that went away without a word never answers. */
const BACKGROUND_TIMEOUT_MS = 60_000;

/** The service's one way to its database, of whatever engine. Itself, it is the lane of calls. */
export class Database extends WorkloadPool {
  /** For calls of nobody in particular: they may see the database as it was a moment ago. */
  readonly anonymous: WorkloadPool;
  /** For the recognition of keys. */
  readonly keys: WorkloadPool;
  /** For what nobody waits for. */
  readonly background: WorkloadPool;
  /** For the question whether the database answers. */
  readonly health: WorkloadPool;

  private constructor(connection: Connection, { statementMs, observer }: DatabaseOptions) {
    const closing = new Deadline();
    const usual = { timeoutMs: statementMs, observer };
    super(connection, closing, 'calls', usual);
    this.anonymous = new WorkloadPool(connection, closing, 'anonymous', usual);
    this.keys = new WorkloadPool(connection, closing, 'keys', usual);
    this.background = new WorkloadPool(connection, closing, 'background', {
      timeoutMs: BACKGROUND_TIMEOUT_MS,
      observer,
    });
    this.health = new WorkloadPool(connection, closing, 'health', usual);
  }

  /**
   * Connects. `url` is `sqlite:<path>`, `mysql://user:password@host:port/database` or `mariadb://…`, where several hosts
   * stand in for each other.
   * @throws AddressError, AppError DATABASE_UNAVAILABLE
   */
  static async open(url: string, schema: Schema, options: DatabaseOptions = {}): Promise<Database> {
    return new Database(await open(url, schema, options), options);
  }

  /** TypeORM's own handle, for tests and tools that look at the schema. */
  get dataSource(): DataSource {
    return this.connection.dataSource;
  }

  /**
   * Applies the migrations that are due, up to the one of this name if one is given, and returns their names. Safe when
   * several processes start at once.
   */
  async migrate(to?: string): Promise<string[]> {
    const { dataSource, whileMigrating } = this.connection;
    // Before it has the database to itself: one in memory has no second connection to ask by.
    const wanted = new Set(await this.#due(to));
    return whileMigrating(async () => {
      const executor = new MigrationExecutor(dataSource);
      const pending = (await executor.getPendingMigrations()).filter(({ name }) => wanted.has(name));
      for (const migration of pending) await executor.executeMigration(migration);
      return pending.map(({ name }) => name);
    });
  }

  /** The SQL of what `migrate` would do, or, `down`, of what `revert` would. Changes nothing. */
  async planMigrations(direction: 'up' | 'down', to?: string): Promise<MigrationPlan[]> {
    return planOf(this.dataSource, direction, await (direction === 'up' ? this.#due(to) : this.#above(to)));
  }

  /**
   * Takes back the migration applied last, or all that came after the one of this name, with all that their tables hold,
   * and returns their names, the latest first.
   */
  async revert(to?: string): Promise<string[]> {
    const { dataSource, whileMigrating } = this.connection;
    return whileMigrating(async () => {
      const toDelete = await this.#above(to);
      for (const _ of toDelete) await dataSource.undoLastMigration({ transaction: 'none' });
      return toDelete;
    });
  }

  /** The migrations that were applied after the one of this name, if it was, or the last one; the latest first. */
  async #above(to: string | undefined): Promise<string[]> {
    const applied = await this.appliedMigrations();
    if (to === undefined) return applied.slice(-1);
    return applied.includes(to) ? applied.slice(applied.indexOf(to) + 1).toReversed() : [];
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

  /** The names of the migrations that are due. @throws AppError TIMEOUT, DATABASE_UNAVAILABLE */
  async pendingMigrations(deadline?: Deadline): Promise<string[]> {
    const applied = new Set(await this.appliedMigrations(deadline));
    return this.migrationNames.filter((name) => !applied.has(name));
  }

  /** The names of the migrations that were applied, in that order. @throws AppError TIMEOUT, DATABASE_UNAVAILABLE */
  async appliedMigrations(deadline?: Deadline): Promise<string[]> {
    await this.ping(deadline);
    try {
      const rows = await this.health.read<{ name: string }>('SELECT name FROM migrations ORDER BY id', [], deadline);
      return rows.map((row) => row.name);
    } catch (error) {
      if (error instanceof AppError) throw error;
      // The server answers, so it is the table that is missing: nothing was ever applied.
      return [];
    }
  }

  /**
   * Runs `work` in one transaction, once, on the lane of health: whether it can be stored now.
   * @throws AppError OVERLOADED where others keep it from that, TIMEOUT, DATABASE_UNAVAILABLE, and what else it met
   */
  async attempt(work: (tx: Transaction) => Promise<unknown>, deadline: Deadline): Promise<void> {
    const { dialect, dataSource } = this.connection;
    const metadataOf = (entity: string): EntityMetadata => dataSource.getMetadata(entity);
    try {
      const run = (statements: Statements) => work({ ...statements, dialect, deadline, metadataOf });
      await this.connection.transaction(run, deadline, 'health');
    } catch (error) {
      throw this.translate(error);
    }
  }

  /** Asks whether the database answers. @throws AppError TIMEOUT, DATABASE_UNAVAILABLE */
  async ping(deadline?: Deadline): Promise<void> {
    await this.health.read('SELECT 1', [], deadline);
  }

  /** Disconnects, whatever runs: whoever calls it has seen its queries finish, or no longer waits for them. */
  async close(): Promise<void> {
    this.closing.end();
    await this.connection.close();
  }
}
