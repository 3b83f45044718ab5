import type { DataSource, EntityManager, EntityMetadata, EntitySchema, MigrationInterface, QueryRunner } from 'typeorm';
import type { Deadline } from '../base/deadline.ts';
import type { DatabaseFault } from '../base/errors.ts';
import type { Dialect, Engine } from './dialect.ts';
import type { Direction, RunStatement } from './migration/run.ts';
import type { DatabaseObserver } from '../base/observer.ts';

/** A value that both drivers bind to `?`. Instants go in as texts (`timeToDb`), ids as bytes (`idToBytes`). */
export type Parameter = string | number | null | Uint8Array;

/** The tables of the service: its entities for an engine, and the migrations that make them. */
export interface Schema {
  entities(engine: Engine): EntitySchema[];
  migrations: (new () => MigrationInterface)[];
}

/** Options of a database besides its address. */
export interface DatabaseOptions {
  /** The time limit of calls, in milliseconds, after which the database itself ends them (default: none). */
  statementMs?: number;
  /** The address of replicas, for reads that may miss the latest changes. */
  readUrl?: string | undefined;
  /** The maximum lag of a replica that reads use, in milliseconds (default: 5000). */
  maxLagMs?: number | undefined;
  /** Called when a replica starts or stops lagging so far; `lagMs` is infinite if it is unreachable or has no stamp. */
  onLag?: ((replica: string, lagMs: number, isFresh: boolean) => void) | undefined;
  observer?: DatabaseObserver | undefined;
  /** Whether transactions record events (default: true). */
  recordsEvents?: boolean | undefined;
  /** Opens the connection (default: by the engine of the address). */
  connect?: ((url: string, schema: Schema, options: DatabaseOptions) => Promise<Connection>) | undefined;
  /** The maximum number of threads that read an SQLite file, ten megabytes each (default: by the cores). */
  readers?: number | undefined;
}

/**
 * The purpose of a statement. Where the engine has several connections, each purpose has its own, so that a wait in one
 * does not delay the others: calls; anonymous calls, which may read stale data; the verification of keys; background
 * work; health checks.
 */
export type Workload = 'calls' | 'anonymous' | 'keys' | 'background' | 'health';

/** The size of a database in bytes, and that of the file system of its file. */
export interface DatabaseSize {
  bytes: number;
  disk?: { bytes: number; freeBytes: number };
}

/** The interface of an engine. */
export interface Connection {
  dialect: Dialect;
  /** TypeORM's data source: it knows how entities are stored, and migrates. */
  dataSource: DataSource;
  /** Runs a SELECT outside of any transaction. At the deadline it rejects, and cancels the statement. */
  read: (sql: string, parameters: readonly Parameter[], deadline?: Deadline, workload?: Workload) => Promise<unknown[]>;
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects, and at the deadline.
   * @throws AppError OUTCOME_UNKNOWN when it may have been committed
   */
  transaction: <T>(
    work: (statements: Statements) => Promise<T>,
    deadline?: Deadline,
    workload?: Workload,
  ) => Promise<T>;
  /** Runs the migration `work` while no other process migrates. It reads by `runner`, and changes by `run`. */
  whileMigrating: <T>(work: (runner: QueryRunner, run: RunStatement) => Promise<T>) => Promise<T>;
  /** @throws MigrationError when the account lacks a privilege for migrations, or the database is in no state for it */
  assertMayMigrate?: (direction: Direction) => Promise<void>;
  /** Whether the transaction that met this error can succeed when run again. */
  isTransient: (error: unknown) => boolean;
  /** Whether the database itself cancelled the statement. */
  isInterrupted?: (error: unknown) => boolean;
  /** Whether a foreign key refers to a missing row. */
  isForeignKeyError: (error: unknown) => boolean;
  /** Removes the remains of deleted rows from the files; undefined where an engine cannot do that, or has no file. */
  scrub?: () => Promise<void>;
  /**
   * Checks the pages of the file, or of a table with its indexes, in another thread, and returns a line for each fault.
   * Undefined where an engine has no file.
   */
  pageFaults?: (deadline?: Deadline, table?: string) => Promise<string[]>;
  /** Why the database is unavailable, if this error means that. A transaction that met it stored nothing. */
  faultOf: (error: unknown) => DatabaseFault | undefined;
  size: (deadline: Deadline) => Promise<DatabaseSize>;
  /** How far each replica lags, in milliseconds. */
  replicaLags?: (() => ReadonlyMap<string, number>) | undefined;
  /** Closes all connections. Running statements fail. */
  close: () => Promise<void>;
}

/** The statements of a transaction under way. All parameters are bound by the server. */
export interface Statements {
  /** Runs a SELECT and returns its rows. */
  read: <Row>(sql: string, parameters?: readonly Parameter[]) => Promise<Row[]>;
  /** Runs a write and returns the number of rows it changed. */
  execute: (sql: string, parameters?: readonly Parameter[]) => Promise<number>;
}

/** A foreign key refers to a missing row. */
export class ForeignKeyError extends Error {}

/** Thrown within a transaction to undo it and run it again, as if it had lost a deadlock. */
export class RetryTransaction extends Error {}

/** Runs SELECTs: the database, or a transaction under way. */
export interface Reader extends Pick<Statements, 'read'> {
  dialect: Dialect;
  /** The time limit of reads. */
  deadline?: Deadline | undefined;
  /** TypeORM's repositories. Only those of a transaction write. */
  readonly manager: EntityManager;
}

/** A transaction under way. */
export interface Transaction extends Reader, Statements {
  /** How an entity is stored. */
  metadataOf: (entity: string) => EntityMetadata;
  /** Whether the transaction has recorded events so far; undefined where events are off. */
  recording: { hasRecorded: boolean } | undefined;
  /** Whether earlier attempts lost several deadlocks, as happens beside a release that locks in another order. */
  keepsLosing: boolean;
}
