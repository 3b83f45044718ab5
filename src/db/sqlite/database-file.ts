import { performance, setImmediate, sleep } from '../../base/runtime.ts';
import type { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import type { Parameter, Statements } from '../connection.ts';
import type { PoolObserver, PoolUsage, StatementObservation } from '../../base/observer.ts';
import { openReader, type SqliteConnection } from './binding/binding.ts';
import { waitClock } from './threads/clock.ts';
import { Costs } from './binding/costs.ts';
import { FileFault, isBusy } from './errors.ts';
import { FileIdentity, WriteAheadLog } from './files/wal.ts';
import { ReadingThreads } from './threads/threads.ts';
import { transactionOn } from './transaction.ts';

/** How long reads rely on the last check that the files are in place, in milliseconds. */
const BELIEVED_MS = 100;
/** How long consecutive short reads may run before they yield to the event loop. */
const TURN_MS = 4;
/** How long a rescue waits for readers, and the pause between two attempts, in milliseconds. */
const RESCUE_PATIENCE_MS = 5000;
const RESCUE_PAUSE_MS = 10;

const waited = waitClock();

interface PendingLookup {
  since: number;
  watch: StatementObservation | undefined;
  sql: string;
  parameters: readonly Parameter[];
  deadline: Deadline | undefined;
  resolve: (rows: unknown[]) => void;
  reject: (error: unknown) => void;
}

/** An open SQLite file: one connection for writes, in turns, one for short reads, and threads for other reads. */
export class SqliteFile {
  readonly #writer: SqliteConnection;
  readonly #reader: SqliteConnection;
  readonly #threads: ReadingThreads;
  readonly #log: WriteAheadLog;
  readonly #identity: FileIdentity;
  readonly #costs: Costs;
  /** Short reads that wait until the event loop has received all pending requests, so that equal reads can meet. */
  #lookups: PendingLookup[] = [];
  #believedUntil = 0;
  #isRescued = false;
  readonly #observer: { lookups: PoolObserver | undefined; writer: PoolObserver | undefined };

  constructor(
    file: string,
    writer: SqliteConnection,
    exclusively: (work: () => Promise<void>) => Promise<void>,
    observer: Record<'lookups' | 'threads' | 'writer', PoolObserver | undefined>,
    readers?: number,
  ) {
    this.#observer = observer;
    this.#writer = writer;
    this.#reader = openReader(file);
    this.#reader.pragma('busy_timeout = 0');
    this.#costs = new Costs(this.#reader);
    this.#threads = new ReadingThreads(file, (sql, ms) => this.#costs.note(sql, ms), observer.threads, readers);
    this.#log = new WriteAheadLog({
      file,
      writer,
      exclusively,
      runInThread: (sql) => this.#threads.read(sql, []),
    });
    // SQLite creates the `-wal` and `-shm` files with the first read.
    this.#reader.all('SELECT COUNT(*) FROM sqlite_schema');
    this.#identity = new FileIdentity(file);
  }

  get writer(): SqliteConnection {
    return this.#writer;
  }

  /** The current usage of its readers. */
  get usage(): Record<'lookups' | 'threads', PoolUsage> {
    // Look-ups share one connection, each for an instant only.
    return { lookups: { used: 0, idle: 1, limit: 1, waiting: this.#lookups.length }, threads: this.#threads.usage };
  }

  /** @throws FileFault when one of its files was deleted, moved or replaced */
  assertThere(): void {
    this.#identity.assert();
    this.#believedUntil = performance.now() + BELIEVED_MS;
  }

  /** Whether another file is at the path of the open one. */
  get isReplaced(): boolean {
    return this.#identity.isReplaced;
  }

  /**
   * Checkpoints the whole log into the file, once. If the log was deleted, its content would be lost with this process.
   * Readers and a running checkpoint keep parts of the log out of the file, which would then hold pages of two states:
   * it waits for them, and continues with the next call after `RESCUE_PATIENCE_MS`. The caller has the turn to write.
   */
  async rescue(): Promise<void> {
    const until = performance.now() + RESCUE_PATIENCE_MS;
    while (!this.#isRescued && performance.now() < until) {
      const [done] = this.#writer.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
      this.#isRescued = done?.busy === 0;
      if (!this.#isRescued) await sleep(RESCUE_PAUSE_MS);
    }
  }

  /** Runs a SELECT on committed data. @throws AppError OVERLOADED, the error of the deadline, FileFault */
  async read(sql: string, parameters: readonly Parameter[], deadline?: Deadline): Promise<unknown[]> {
    const since = performance.now();
    if (since > this.#believedUntil) this.assertThere();
    if (!this.#costs.isShort(sql)) return this.#threads.read(sql, parameters, deadline);
    return new Promise((resolve, reject) => {
      if (this.#lookups.length === 0) setImmediate(() => this.#runLookups());
      const watch = this.#observer.lookups?.statement(sql);
      this.#lookups.push({ since, watch, sql, parameters, deadline, resolve, reject });
    });
  }

  /** Runs a SELECT in a thread, however short it may be. */
  readInThread(sql: string, deadline?: Deadline): Promise<unknown[]> {
    return this.#threads.read(sql, [], deadline);
  }

  /** Runs `work` as one transaction. The caller has the turn to write. @throws FileFault, and the errors of `work` */
  async transaction<T>(work: (statements: Statements) => Promise<T>, deadline?: Deadline): Promise<T> {
    this.assertThere();
    return transactionOn(this.#writer, work, deadline, this.#observer.writer);
  }

  /** Resolves when all commits are on the disk. @throws AppError OUTCOME_UNKNOWN when that is uncertain */
  async stored(deadline?: Deadline): Promise<void> {
    try {
      const stored = this.#log.stored();
      await (deadline ? deadline.race(stored) : stored);
      this.assertThere();
    } catch (error) {
      throw new AppError('OUTCOME_UNKNOWN', { cause: error });
    }
  }

  /** Closes everything but the writing connection. */
  async close(): Promise<void> {
    for (const { reject } of this.#lookups) reject(new FileFault('the database was closed'));
    this.#lookups = [];
    await this.#log.close();
    await this.#threads.close();
    this.#reader.close();
  }

  #runLookups(): void {
    const waiting = this.#lookups;
    const began = performance.now();
    const waitedBefore = waited();
    let last = began;
    let done = 0;
    for (const { since, watch, sql, parameters, deadline, resolve, reject } of waiting) {
      if (last - began > TURN_MS) break;
      done += 1;
      this.#observer.lookups?.waited(last - since);
      try {
        deadline?.assert();
        watch?.sent();
        const rows = this.#reader.all(sql, parameters);
        watch?.end();
        resolve(rows);
      } catch (error) {
        watch?.end(error);
        // A thread can wait until other processes release the file.
        if (isBusy(error)) this.#threads.read(sql, parameters, deadline).then(resolve, reject);
        else reject(error);
      }
      const ended = performance.now();
      const ms = ended - last;
      this.#costs.note(sql, ms > TURN_MS ? ms - (waited() - waitedBefore) : ms);
      last = ended;
    }
    this.#lookups = waiting.slice(done);
    if (this.#lookups.length > 0) setImmediate(() => this.#runLookups());
  }
}
