import type { Deadline } from '../../deadline.ts';
import { AppError } from '../../errors.ts';
import type { Statements } from '../connection.ts';
import { isCorrupt, isUnusable } from './errors.ts';

/** How long a file that refused a write counts as one that does: other writes may need less. */
const UNWRITABLE_MS = 1000;
/** How long a file that was found broken is believed to be: to look through all of it takes long. */
const BROKEN_MS = 10_000;

interface SqliteHealthOptions {
  /** Writes something that changes nothing. */
  write: (deadline: Deadline | undefined) => Promise<unknown>;
  read: (sql: string, deadline: Deadline | undefined) => Promise<unknown[]>;
}

/** A failure, and until when it counts. */
interface HealthFault {
  error: unknown;
  until: number;
}

const faultFor = (ms: number, error: unknown): HealthFault => ({ error, until: performance.now() + ms });

/** The error of the engine behind an AppError. */
const causeOf = (error: unknown): unknown => (error instanceof AppError ? error.cause : error);

interface Version {
  user_version: number;
}

/** Tracks whether a file is usable, by the outcomes seen. A failed operation is tried again before it counts as repaired. */
export class SqliteHealth {
  readonly #options: SqliteHealthOptions;
  /** The error of the last failed write, until one succeeds. */
  #unwritable: HealthFault | undefined;
  /** The error of a corrupt page, if one was seen. */
  #corrupt: HealthFault | undefined;

  constructor(options: SqliteHealthOptions) {
    this.#options = options;
  }

  /** A transaction that writes, and changes nothing. */
  static async trial(this: void, { read, execute }: Statements): Promise<void> {
    const [row] = await read<Version>('PRAGMA user_version');
    await execute(`PRAGMA user_version = ${row?.user_version ?? 0}`);
  }

  /** Remembers what a read failed with, and throws it. */
  readFailed(error: unknown): never {
    if (isCorrupt(error)) this.#corrupt = faultFor(BROKEN_MS, error);
    throw error;
  }

  /** Remembers how a write ends. */
  async noteWrite<T>(write: Promise<T>): Promise<T> {
    try {
      const result = await write;
      if (this.#unwritable && performance.now() > this.#unwritable.until) this.#unwritable = undefined;
      return result;
    } catch (error) {
      if (!isCorrupt(error) && isUnusable(causeOf(error))) this.#unwritable = faultFor(UNWRITABLE_MS, error);
      return this.readFailed(error);
    }
  }

  /** @throws what is wrong with the file */
  async check(deadline?: Deadline): Promise<void> {
    await this.#options.read('SELECT COUNT(*) FROM sqlite_schema', deadline).catch((error) => this.readFailed(error));
    if (this.#corrupt) await this.#lookThrough(this.#corrupt, deadline);
    if (!this.#unwritable) return;
    if (performance.now() < this.#unwritable.until) throw this.#unwritable.error;
    await this.noteWrite(this.#options.write(deadline));
  }

  async #lookThrough({ error, until }: HealthFault, deadline?: Deadline): Promise<void> {
    if (performance.now() < until) throw error;
    this.#corrupt = faultFor(BROKEN_MS, error);
    const [row] = (await this.#options.read('PRAGMA quick_check(1)', deadline)) as { quick_check: string }[];
    if (row?.quick_check !== 'ok') throw error;
    this.#corrupt = undefined;
  }
}
