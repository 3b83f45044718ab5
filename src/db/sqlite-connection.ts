import { DatabaseSync } from '@photostructure/sqlite';
import { timeToDb } from './values.ts';

interface OpenOptions {
  readonly?: boolean;
  timeout?: number;
}

type Bindable = string | number | bigint | null | NodeJS.ArrayBufferView;

const toBindable = (value: unknown): Bindable => {
  if (value === undefined) return null;
  if (typeof value === 'boolean') return Number(value);
  if (value instanceof Date) return timeToDb(value);
  return value as Bindable;
};

/**
 * The `node:sqlite` API in the shape of better-sqlite3, for TypeORM's driver of that name. The package brings the API
 * to Node 20 with its binaries inside, so that installing needs no compiler and no download.
 */
export class SqliteConnection {
  readonly #database: InstanceType<typeof DatabaseSync>;

  constructor(file: string, options: OpenOptions = {}) {
    this.#database = new DatabaseSync(file, { readOnly: options.readonly ?? false, timeout: options.timeout ?? 5000 });
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

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  pragma(pragma: string, options: { simple?: boolean } = {}): unknown {
    const rows = this.#database.prepare(`PRAGMA ${pragma}`).all() as Record<string, unknown>[];
    return options.simple ? Object.values(rows[0] ?? {})[0] : rows;
  }

  close(): void {
    this.#database.close();
  }
}
