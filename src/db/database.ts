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

/** The attempts of a transaction that keeps losing conflicts, without a deadline. */
const MAX_ATTEMPTS = 12;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;
/** The most milliseconds that a statement or a transaction is charged: expensive ones take as long without waiting. */
const MOST_BILLED_MS = { read: 250, transaction: 1000 };
/** The time in which operations are retried while the database is unreachable, and the first pause. */
const UNREACHABLE_PATIENCE_MS = 700;
const UNREACHABLE_PAUSE_MS = 50;

/** Loads the driver of one engine only, to keep the start short. */
const open = async (url: string, schema: Schema, options: DatabaseOptions): Promise<Connection> => {
  if (url.startsWith('sqlite:')) {
    const { openSqlite } = await import('./sqlite/open.ts');
    return openSqlite(url, schema, options);
  }
  const { openMysql } = await import('./mysql/open.ts');
  return openMysql(url, schema, options);
};

/** Options of a transaction. */
export interface TransactionOptions {
  /** Whether the work detects that it is stored already: then it is also retried when the outcome is unknown. */
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

/** Counts the attempts of an operation, and decides on retries. */
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

  /** After a lost conflict: resolves, after a pause, to whether to retry. */
  async afterConflict(): Promise<boolean> {
    this.#lost += 1;
    if (!this.#deadline && this.#lost === MAX_ATTEMPTS) return false;
    return this.#pause(FIRST_PAUSE_MS * 2 ** (this.#lost - 1), 'conflict');
  }

  /** The same while the database is unreachable. */
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
/** Whether an error means that its attempt stored nothing. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && ['TIMEOUT', 'OVERLOADED', 'DATABASE_UNAVAILABLE'].includes(error.reason);

/** Charges the time from when `run` calls `begin`, after any wait, to its end. */
const billed = async <T>(deadline: Deadline | undefined, run: (begin: () => void) => Promise<T>): Promise<T> => {
  let began: number | undefined;
  try {
    return await run(() => (began = performance.now()));
  } finally {
    if (began !== undefined) deadline?.chargeSince(began, MOST_BILLED_MS.transaction);
  }
};

/** Statements that are recorded in the deadline's query log, if it has one. */
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

/** The pool of connections of one workload: see `Workload`. Failures of the server become `AppError`s. */
export class WorkloadPool implements Reader {
  protected readonly connection: Connection;
  /** Ends when the database is closed. */
  protected readonly closing: Deadline;
  readonly #name: Workload;
  readonly #timeoutMs: number | undefined;
  /** Observes the whole database. */
  readonly observer: DatabaseObserver | undefined;
  readonly #metadataOf = (entity: string): EntityMetadata => this.connection.dataSource.getMetadata(entity);

  /** Operations without a deadline get `timeoutMs` milliseconds, if it is given. */
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

  /** A reader whose reads end at the deadline. */
  within(deadline: Deadline | undefined): Reader {
    return {
      dialect: this.dialect,
      deadline,
      read: (sql, parameters) => this.read(sql, parameters, deadline),
    };
  }

  /**
   * Runs a SELECT outside of any transaction and returns its rows. It is retried for a moment when the connection
   * broke.
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
        // The outcome of an earlier attempt is unknown.
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

  /** The deadline of an operation without one. The caller closes it. */
  #ownDeadline(): Deadline | undefined {
    return this.#timeoutMs === undefined ? undefined : new Deadline(this.#timeoutMs);
  }

  #isTransient(error: unknown): boolean {
    return error instanceof RetryTransaction || this.connection.isTransient(error);
  }

  /** Whether the operation could have succeeded on a retry. */
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

/** Background work has a time limit, too, since a server that vanished never answers. */
const BACKGROUND_TIMEOUT_MS = 60_000;

/** The database of the service, of any engine. Itself, it is the pool of calls. */
export class Database extends WorkloadPool {
  /** For anonymous calls, which may read stale data. */
  readonly anonymous: WorkloadPool;
  /** For the verification of keys. */
  readonly keys: WorkloadPool;
  /** For background work. */
  readonly background: WorkloadPool;
  /** For health checks. */
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
   * Connects. `url` is `sqlite:<path>`, `mysql://user:password@host:port/database` or `mariadb://…`; several hosts
   * stand in for each other.
   * @throws AddressError, AppError DATABASE_UNAVAILABLE
   */
  static async open(url: string, schema: Schema, options: DatabaseOptions = {}): Promise<Database> {
    return new Database(await open(url, schema, options), options);
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
    const { dataSource, whileMigrating } = this.connection;
    // Before the lock, since a database in memory has one connection only.
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
   * Reverts the last migration, or all after the one of this name, with the data of their tables, and returns their
   * names, latest first.
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
   * Runs `work` in one transaction, without retries, in the pool for health checks: whether it can be stored now.
   * @throws AppError OVERLOADED where others prevent it, TIMEOUT, DATABASE_UNAVAILABLE, and further errors
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

  /** Disconnects at once: the caller has awaited its queries, or gave them up. */
  async close(): Promise<void> {
    this.closing.end();
    await this.connection.close();
  }
}
