import type { DataSource, EntityMetadata } from 'typeorm';
import { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';
import {
  type Connection,
  type DatabaseOptions,
  type LaneName,
  type Parameter,
  type Reader,
  RunAgain,
  type Schema,
  type Statements,
  type Transaction,
} from './connection.ts';
import type { Dialect } from './dialect.ts';

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
    return openSqlite(url, schema);
  }
  const { openMysql } = await import('./mysql/open.ts');
  return openMysql(url, schema, options);
};

/** How a transaction may be run. */
export interface TransactionOptions {
  /** Whether its work finds out by itself that it is stored already: then it is run again also when nobody knows. */
  isRepeatable?: boolean;
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
class Tries {
  readonly #deadline: Deadline | undefined;
  readonly #closing: Deadline;
  #lost = 0;
  #pauses = 0;
  #unreachableSince: number | undefined;

  /** `closing` ends when the database is closed. */
  constructor(deadline: Deadline | undefined, closing: Deadline) {
    this.#deadline = deadline;
    this.#closing = closing;
  }

  /** After a loss against others: resolves to whether it is to be tried again, when that time has come. */
  async afterLoss(): Promise<boolean> {
    this.#lost += 1;
    if (!this.#deadline && this.#lost === MAX_ATTEMPTS) return false;
    return this.#pause(FIRST_PAUSE_MS * 2 ** (this.#lost - 1));
  }

  /** Likewise while the database cannot be reached. */
  async afterBreak(): Promise<boolean> {
    const now = performance.now();
    this.#unreachableSince ??= now;
    this.#pauses += 1;
    if (now - this.#unreachableSince >= UNREACHABLE_PATIENCE_MS) return false;
    return this.#pause(UNREACHABLE_PAUSE_MS * 2 ** (this.#pauses - 1));
  }

  async #pause(ms: number): Promise<boolean> {
    const ends = [this.#deadline, this.#closing];
    if (ends.some((deadline) => deadline?.error)) return false;
    await pause(Math.min(ms, LONGEST_PAUSE_MS) * (0.5 + Math.random()), ends);
    return !ends.some((deadline) => deadline?.error);
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
    if (began !== undefined) deadline?.billSince(began, MOST_BILLED_MS.transaction);
  }
};

/**
 * A way to the database that others cannot crowd: see `LaneName`. Failures of the server come out as `AppError`s.
 */
export class Lane implements Reader {
  protected readonly connection: Connection;
  /** Ends when the database is closed. */
  protected readonly closing: Deadline;
  readonly #name: LaneName;
  readonly #timeoutMs: number | undefined;
  readonly #metadataOf = (entity: string): EntityMetadata => this.connection.dataSource.getMetadata(entity);

  /** Without a deadline of its own, what is done here may take `timeoutMs` milliseconds, or as long as it takes. */
  constructor(connection: Connection, closing: Deadline, name: LaneName, timeoutMs?: number) {
    this.connection = connection;
    this.closing = closing;
    this.#name = name;
    this.#timeoutMs = timeoutMs;
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
      deadline?.billSince(began, MOST_BILLED_MS.read);
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
    { isRepeatable = false }: TransactionOptions = {},
  ): Promise<T> {
    const own = deadline ? undefined : this.#ownDeadline();
    try {
      return await this.#transaction(work, deadline ?? own, isRepeatable);
    } finally {
      own?.close();
    }
  }

  async #transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    deadline: Deadline | undefined,
    isRepeatable: boolean,
  ): Promise<T> {
    const { dialect, connection } = this;
    const metadataOf = this.#metadataOf;
    const tries = new Tries(deadline, this.closing);
    let isMaybeStored = false;
    for (;;) {
      try {
        deadline?.assert();
        return await billed(deadline, (begin) => {
          const run = (statements: Statements): Promise<T> => {
            begin();
            return work({ ...statements, dialect, deadline, metadataOf });
          };
          return connection.transaction(run, deadline, this.#name);
        });
      } catch (error) {
        isMaybeStored ||= isOutcomeUnknown(error);
        if (await this.#isToBeRunAgain(error, tries, isRepeatable)) continue;
        const fault = this.#isPassing(error) ? (deadline?.error ?? this.translate(error)) : this.translate(error);
        // Of an earlier run, nobody knows.
        throw isMaybeStored && isRefusal(fault) ? new AppError('OUTCOME_UNKNOWN', { cause: fault }) : fault;
      }
    }
  }

  async #isToBeRunAgain(error: unknown, tries: Tries, isRepeatable: boolean): Promise<boolean> {
    if (isOutcomeUnknown(error)) return isRepeatable && tries.afterBreak();
    if (this.#isTransient(error)) return tries.afterLoss();
    return this.connection.isUnreachable(error) && tries.afterBreak();
  }

  async #readAgain(
    first: unknown,
    sql: string,
    parameters: readonly Parameter[],
    deadline: Deadline | undefined,
  ): Promise<unknown[]> {
    const tries = new Tries(deadline, this.closing);
    let error = first;
    while (this.connection.isUnreachable(error) && (await tries.afterBreak())) {
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
    return error instanceof RunAgain || this.connection.isTransient(error);
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
    return error;
  }
}

/** What the background does has a time, too, since a server that went away without a word never answers. */
const BACKGROUND_TIMEOUT_MS = 60_000;

/** The service's one way to its database, of whatever engine. Itself, it is the lane of calls. */
export class Database extends Lane {
  /** For calls of nobody in particular: they may see the database as it was a moment ago. */
  readonly anonymous: Lane;
  /** For the recognition of keys. */
  readonly keys: Lane;
  /** For what nobody waits for. */
  readonly background: Lane;
  /** For the question whether the database answers. */
  readonly health: Lane;

  private constructor(connection: Connection, { statementMs }: DatabaseOptions) {
    const closing = new Deadline();
    super(connection, closing, 'calls', statementMs);
    this.anonymous = new Lane(connection, closing, 'anonymous', statementMs);
    this.keys = new Lane(connection, closing, 'keys', statementMs);
    this.background = new Lane(connection, closing, 'background', BACKGROUND_TIMEOUT_MS);
    this.health = new Lane(connection, closing, 'health', statementMs);
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

  /** Applies the migrations that are due and returns their names. Safe when several processes start at once. */
  async migrate(): Promise<string[]> {
    const { dataSource, whileMigrating } = this.connection;
    const applied = await whileMigrating(() => dataSource.runMigrations({ transaction: 'none' }));
    return applied.map((migration) => migration.name);
  }

  /** Takes back the migration applied last, with all its tables hold, and returns its name if there was one. */
  async revert(): Promise<string | undefined> {
    const { dataSource, whileMigrating } = this.connection;
    return whileMigrating(async () => {
      const last = (await this.appliedMigrations()).at(-1);
      if (last !== undefined) await dataSource.undoLastMigration({ transaction: 'none' });
      return last;
    });
  }

  /** The names of the migrations that are due. @throws AppError TIMEOUT, DATABASE_UNAVAILABLE */
  async pendingMigrations(deadline?: Deadline): Promise<string[]> {
    const applied = new Set(await this.appliedMigrations(deadline));
    return this.dataSource.migrations
      .map((migration) => migration.name ?? migration.constructor.name)
      .filter((name) => !applied.has(name));
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
