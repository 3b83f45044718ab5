import { pathToFileURL } from 'node:url';
import { backup, DatabaseSync } from '@photostructure/sqlite';
import { IN_MEMORY } from '../../address.ts';
import type { Parameter } from '../../connection.ts';
import type { PackedValue } from './rows.ts';
import { timeToDb } from '../../values.ts';

interface OpenOptions {
  readonly?: boolean;
  timeout?: number;
}

type Bindable = string | number | bigint | null | NodeJS.ArrayBufferView;

/** A prepared statement, and the names of its result columns. */
interface BoundStatement {
  prepared: ReturnType<InstanceType<typeof DatabaseSync>['prepare']>;
  columns: string[];
  toRow: RowMaker;
}

type BoundRow = Record<string, unknown>;
export type RowMaker = (values: readonly unknown[]) => BoundRow;

/**
 * Makes a function that turns a row's values into an object. It is generated for these columns, as in mysql2: filling
 * an object name by name costs four times as much, and the binding's own objects more. Our statements give the names.
 */
export const rowMaker = (columns: readonly string[]): RowMaker => {
  const members = columns.map((name, index) => `${JSON.stringify(name)}: values[${index}]`);
  // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- see above
  return new Function('values', `return { ${members.join(', ')} };`) as RowMaker;
};

const MAX_STATEMENTS = 300;
/** How long opening and reading wait for another process. */
const BUSY_TIMEOUT_MS = 5000;
/** How many pages of a copy are written at a time. */
const COPIED_PAGES = 1000;

const toBindable = (value: unknown): Bindable => {
  if (value === undefined) return null;
  if (typeof value === 'boolean') return Number(value);
  if (value instanceof Date) return timeToDb(value);
  return value as Bindable;
};

/**
 * The `node:sqlite` API in the shape of better-sqlite3, for TypeORM's driver of that name. The package brings the API
 * to Node 20 with its binaries included, so that installing needs no compiler and no download. The service itself uses
 * `all` and `run`: TypeORM's way costs several times as much.
 */
export class SqliteConnection {
  readonly #database: InstanceType<typeof DatabaseSync>;
  readonly #isInMemory: boolean;
  /** The most recently used statements, the latest at the end. */
  readonly #statements = new Map<string, BoundStatement>();

  constructor(file: string, options: OpenOptions = {}) {
    this.#isInMemory = file === IN_MEMORY;
    this.#database = new DatabaseSync(file, {
      readOnly: options.readonly ?? false,
      timeout: options.timeout ?? BUSY_TIMEOUT_MS,
    });
  }

  prepare(sql: string) {
    const statement = this.#database.prepare(sql);
    return {
      reader: statement.columns().length > 0,
      all: (...values: unknown[]) => statement.all(...values.map(toBindable)),
      get: (...values: unknown[]) => statement.get(...values.map(toBindable)),
      run: (...values: unknown[]) => statement.run(...values.map(toBindable)),
      iterate: (...values: unknown[]) => statement.iterate(...values.map(toBindable)),
    };
  }

  /** Runs a SELECT, prepared once, and returns its rows. */
  all(sql: string, parameters: readonly Parameter[] = []): BoundRow[] {
    const { prepared, toRow } = this.#statement(sql);
    return (prepared.all(...parameters) as unknown[][]).map(toRow);
  }

  /** Like `all`, with each row as an array of its values. */
  values(sql: string, parameters: readonly Parameter[] = []): { rows: PackedValue[][]; columns: string[] } {
    const { prepared, columns } = this.#statement(sql);
    return { rows: prepared.all(...parameters), columns };
  }

  /** Runs a write, prepared once, and returns the number of rows it changed. */
  run(sql: string, parameters: readonly Parameter[] = []): number {
    return this.#statement(sql).prepared.run(...parameters).changes;
  }

  get isInTransaction(): boolean {
    return this.#database.isTransaction;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  pragma(pragma: string, options: { simple?: boolean } = {}): unknown {
    const rows = this.#database.prepare(`PRAGMA ${pragma}`).all() as Record<string, unknown>[];
    return options.simple ? Object.values(rows[0] ?? {})[0] : rows;
  }

  /**
   * Copies all pages that this connection sees over the empty file `target`, in the background. In a transaction the
   * copy is a snapshot, unaffected by concurrent writes; without one, it would restart after each write.
   */
  async copyTo(target: string, onProgress: (done: number, total: number) => void): Promise<void> {
    const progress = (info: { totalPages: number; remainingPages: number }): void =>
      onProgress(info.totalPages - info.remainingPages, info.totalPages);
    await backup(this.#database, target, { rate: COPIED_PAGES, progress });
  }

  close(): void {
    this.#statements.clear();
    if (this.#isInMemory) this.#freePages();
    this.#database.close();
  }

  /**
   * Empties a database that ends with this connection. SQLite keeps its pages until the last prepared statement is
   * finalized. The binding leaves that to the garbage collector, which does not see these pages.
   */
  #freePages(): void {
    try {
      if (this.isInTransaction) this.exec('ROLLBACK');
      this.#database.enableDefensive(false);
      this.exec('PRAGMA writable_schema = ON; DELETE FROM sqlite_schema; VACUUM');
    } catch {
      // A running statement keeps the pages for longer.
    }
  }

  #statement(sql: string): BoundStatement {
    const known = this.#statements.get(sql);
    const statement = known ?? this.#prepare(sql);
    if (known) this.#statements.delete(sql);
    this.#statements.set(sql, statement);
    if (this.#statements.size > MAX_STATEMENTS) {
      const [oldest] = this.#statements.keys();
      if (oldest !== undefined) this.#statements.delete(oldest);
    }
    return statement;
  }

  #prepare(sql: string): BoundStatement {
    const prepared = this.#database.prepare(sql);
    prepared.setReturnArrays(true);
    const columns = prepared.columns().map(({ name }) => name);
    return { prepared, columns, toRow: rowMaker(columns) };
  }
}

/**
 * Opens a file for reading committed data only. `file` is a path or, for a file at rest, a URL. A file that was moved
 * away meanwhile is not created again.
 */
export const openReader = (file: string): SqliteConnection => {
  const reader = new SqliteConnection(file.startsWith('file:') ? file : `${pathToFileURL(file).href}?mode=rw`);
  reader.pragma('query_only = 1');
  return reader;
};
