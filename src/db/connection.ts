import type { DataSource, EntityMetadata, EntitySchema, MigrationInterface } from 'typeorm';
import type { Deadline } from '../deadline.ts';
import type { Dialect, Engine } from './dialect.ts';

/** A value that both drivers bind to `?`. Instants go in as texts (`timeToDb`), ids as bytes (`idToBytes`). */
export type Parameter = string | number | null | Uint8Array;

/** The tables of the service: its entities for an engine, and the migrations that make them. */
export interface Schema {
  entities(engine: Engine): EntitySchema[];
  migrations: (new () => MigrationInterface)[];
}

/** What an engine's own file provides. */
export interface Connection {
  dialect: Dialect;
  /** TypeORM's own handle: it knows how entities are stored, and migrates. */
  dataSource: DataSource;
  /** Runs a SELECT outside of any transaction. At the deadline it rejects, and ends what runs for it. */
  read: (sql: string, parameters: readonly Parameter[], deadline?: Deadline) => Promise<unknown[]>;
  /** Runs `work` in one transaction: committed when it resolves, rolled back when it rejects, and at the deadline. */
  transaction: <T>(work: (statements: Statements) => Promise<T>, deadline?: Deadline) => Promise<T>;
  /** Runs `work`, which migrates, while no other process does. */
  whileMigrating: <T>(work: () => Promise<T>) => Promise<T>;
  /** Whether the transaction that met this error can succeed when run again. */
  isTransient: (error: unknown) => boolean;
  /** Whether this error means that the database cannot be reached. */
  isUnreachable: (error: unknown) => boolean;
  close: () => Promise<void>;
}

/** The statements of a transaction under way. All parameters are bound by the server. */
export interface Statements {
  /** Runs a SELECT and returns its rows. */
  read: <Row>(sql: string, parameters?: readonly Parameter[]) => Promise<Row[]>;
  /** Runs a write and returns the number of rows it changed. */
  execute: (sql: string, parameters?: readonly Parameter[]) => Promise<number>;
}

/** Thrown within a transaction to undo it and run it again, as if it had lost a deadlock. */
export class RunAgain extends Error {}

/** What a SELECT can be run on: the database, or a transaction under way. */
export interface Reader extends Pick<Statements, 'read'> {
  dialect: Dialect;
  /** How long what is read may take. */
  deadline?: Deadline | undefined;
}

/** A transaction under way. */
export interface Transaction extends Reader, Statements {
  /** How an entity is stored. */
  metadataOf: (entity: string) => EntityMetadata;
}
