import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import type { SqliteConnection } from '../binding/binding.ts';
import { logOf } from './identity.ts';

const sync = promisify(fdatasync);

/** Pages in the log from which on they are brought into the file: SQLite's own number. */
const CHECKPOINT_PAGES = 1000;
/** From here on writers wait for it, or else the log would never begin anew. */
const MOST_PAGES = 8 * CHECKPOINT_PAGES;
/** How long after a commit even few pages are brought into the file: who copies the file of an idle service copies all. */
const SOON_MS = 1000;

interface Checkpoint {
  busy: number;
  log: number;
  checkpointed: number;
}

interface WalOptions {
  file: string;
  writer: SqliteConnection;
  /** Runs a statement elsewhere, so that this thread goes on. */
  elsewhere: (sql: string) => Promise<unknown[]>;
  /** Runs work while no transaction writes. */
  exclusively: (work: () => Promise<void>) => Promise<void>;
}

/**
 * Syncs and checkpoints the write-ahead log in the background, where SQLite itself would block this thread. A commit is
 * acknowledged when its part of the log is on the disk; one sync serves all commits that wait.
 */
export class WriteAheadLog {
  readonly #options: WalOptions;
  #handle: number | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  /** Whether the disk has refused a part of the log. It then forgets that it was to write it. */
  #isBroken = false;
  #isCheckpointing = false;
  #isClosed = false;
  #soon: NodeJS.Timeout | undefined;
  /** Work in other threads: a thread that is terminated in the midst of it would crash the process. */
  readonly #elsewhere = new Set<Promise<unknown>>();

  constructor(options: WalOptions) {
    this.#options = options;
    // A commit then leaves the disk to us.
    options.writer.pragma('synchronous = NORMAL');
    options.writer.pragma('wal_autocheckpoint = 0');
    options.writer.pragma(`journal_size_limit = ${MOST_PAGES * 4096}`);
  }

  /** Resolves when all that was committed before is on the disk. @throws Error of the file system, or of SQLite */
  stored(): Promise<void> {
    if (!this.#running) return this.#start();
    const begin = (): Promise<void> => {
      this.#next = undefined;
      return this.#start();
    };
    this.#next ??= this.#running.then(begin, begin);
    return this.#next;
  }

  /** SQLite itself brings what is left into the file when it closes it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#soon);
    await this.#running?.catch(() => undefined);
    await Promise.allSettled(this.#elsewhere);
    if (this.#handle !== undefined) closeSync(this.#handle);
    this.#handle = undefined;
  }

  #start(): Promise<void> {
    this.#running = this.#store().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #store(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#isBroken) this.#rescue();
    this.#handle ??= openSync(logOf(this.#options.file), 'r+');
    try {
      await sync(this.#handle);
    } catch (error) {
      this.#isBroken = true;
      throw error;
    }
    void this.#checkpoint();
    this.#checkpointSoon();
  }

  /** Brings all of the log into the file itself, and that to the disk. */
  #rescue(): void {
    const [done] = this.#options.writer.pragma('wal_checkpoint(RESTART)') as Checkpoint[];
    if (done?.busy !== 0) throw new Error('the log could not be brought into the file yet');
    this.#isBroken = false;
  }

  async #checkpoint(): Promise<void> {
    if (this.#isCheckpointing || this.#isClosed) return;
    this.#isCheckpointing = true;
    try {
      const { log, checkpointed } = this.#pages();
      if (log - checkpointed < CHECKPOINT_PAGES) return;
      await this.#bring();
      if (log >= MOST_PAGES) await this.#options.exclusively(async () => void (await this.#bring()));
    } catch {
      // It is tried again after the next commit, which fails if the disk does.
    } finally {
      this.#isCheckpointing = false;
    }
  }

  /** Runs a passive checkpoint: it copies the pages into the file whose old versions no reader needs. */
  async #bring(): Promise<Checkpoint | undefined> {
    const asked = this.#options.elsewhere('PRAGMA wal_checkpoint(PASSIVE)');
    this.#elsewhere.add(asked);
    try {
      const [done] = (await asked) as Checkpoint[];
      return done;
    } finally {
      this.#elsewhere.delete(asked);
    }
  }

  #checkpointSoon(): void {
    if (this.#isClosed) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.#finish();
    }, SOON_MS).unref();
  }

  /** Brings into the file what is left in the log. Others who still read what it would replace delay that. */
  async #finish(): Promise<void> {
    if (this.#isClosed) return;
    try {
      const done = await this.#bring();
      if (done && done.checkpointed < done.log) this.#checkpointSoon();
    } catch {
      // As above.
    }
  }

  /** How many pages the log holds, and how many of them the file. */
  #pages(): Checkpoint {
    return this.#options.writer.all('PRAGMA wal_checkpoint(NOOP)')[0] as unknown as Checkpoint;
  }
}
