import { performance } from '../../base/runtime.ts';
import type { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import type { Statements } from '../connection.ts';
import { isCorrupt, isUnusable } from './errors.ts';

/** How long a file counts as unwritable after a refused write, even if others succeed: they may need less room. */
const UNWRITABLE_MS = 1000;
/** How long a file counts as corrupt before it is checked again: checking all of it takes long. */
const BROKEN_MS = 10_000;

interface SqliteHealthOptions {
  /** Runs a write that changes nothing. */
  write: (deadline: Deadline | undefined) => Promise<unknown>;
  read: (sql: string, deadline: Deadline | undefined) => Promise<unknown[]>;
}

/** A failure, and the time until which it counts. */
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

/** Tracks by outcomes whether a file is usable. A failed operation is tried again before it counts as repaired. */
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

  /** Stores the error of a read if it means corruption, and throws it. */
  readFailed(error: unknown): never {
    if (isCorrupt(error)) this.#corrupt = faultFor(BROKEN_MS, error);
    throw error;
  }

  /** Stores the outcome of a write, and settles like it. */
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

  /** Checks that the file is usable. @throws the error that makes it unusable */
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
