import { closeSync, fdatasync, openSync, realpathSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { clearTimeout, setTimeout } from '../../../base/runtime.ts';
import type { SqliteConnection } from '../binding/binding.ts';
import { FileFault } from '../errors.ts';

/** The path of a database's log. SQLite keeps it beside the file itself, not beside a link to it. */
export const logOf = (file: string): string => `${realpathSync(file)}-wal`;

/** The files that SQLite has open. Data written to a file that is no longer at its path is lost when it is closed. */
const pathsOf = (file: string): string[] => [file, logOf(file), `${realpathSync(file)}-shm`];

const idOf = (path: string): string | undefined => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
};

/** Detects whether the files of a database are still the ones that were opened. Create it once they are open. */
export class FileIdentity {
  readonly #files: { path: string; id: string | undefined }[];

  constructor(file: string) {
    this.#files = pathsOf(file).map((path) => ({ path, id: idOf(path) }));
  }

  /** Whether another file is at the path of the database. */
  get isReplaced(): boolean {
    const [file] = this.#files;
    const id = file && idOf(file.path);
    return id !== undefined && id !== file?.id;
  }

  /** @throws FileFault when a file was deleted, moved or replaced */
  assert(): void {
    for (const { path, id } of this.#files) {
      if (id !== undefined && idOf(path) !== id) {
        throw new FileFault(`${path} was deleted, moved or replaced while the service used it`);
      }
    }
  }
}

const sync = promisify(fdatasync);

/** The number of pages in the log that starts a checkpoint: SQLite's default. */
const CHECKPOINT_PAGES = 1000;
/** With this many pages, writers wait for the checkpoint; otherwise the log would never restart. */
const MOST_PAGES = 8 * CHECKPOINT_PAGES;
/** The delay from a commit to a checkpoint of even few pages: then a copy of an idle service's file is complete. */
const SOON_MS = 1000;

interface Checkpoint {
  busy: number;
  log: number;
  checkpointed: number;
}

interface WalOptions {
  file: string;
  writer: SqliteConnection;
  /** Runs a statement in another thread. */
  runInThread: (sql: string) => Promise<unknown[]>;
  /** Runs work while no transaction writes. */
  exclusively: (work: () => Promise<void>) => Promise<void>;
}

/**
 * Syncs and checkpoints the write-ahead log in the background, where SQLite itself would block this thread. A commit is
 * acknowledged when its part of the log is on the disk; one sync serves all commits that wait.
 *
 * SQLite's own `synchronous = FULL` with its own checkpoints was measured instead, with 16 callers that create games:
 * 0.4 of the writes a second, and 39 instead of 9 ms until `/healthz` answers (p99). On a disk whose syncs take 2 ms:
 * 0.18, and 120 instead of 6 ms. SQLite syncs once for each transaction, and the event loop waits for it.
 */
export class WriteAheadLog {
  readonly #options: WalOptions;
  #handle: number | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  /** Whether a sync of the log failed. The system then forgets that it had to write the unwritten part. */
  #isBroken = false;
  #isCheckpointing = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  /** Running work in other threads: terminating a thread during such work would crash the process. */
  readonly #inThread = new Set<Promise<unknown>>();

  constructor(options: WalOptions) {
    this.#options = options;
    // With the first two pragmas, SQLite neither syncs the log at a commit nor checkpoints it.
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

  /**
   * Ends the background work, and checkpoints the rest of the log, so that the file alone holds everything. SQLite
   * itself does so only at the last connection's end, which the binding delays until its statements are garbage.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running?.catch(() => undefined);
    await Promise.allSettled(this.#inThread);
    if (this.#handle !== undefined) closeSync(this.#handle);
    this.#handle = undefined;
    try {
      this.#options.writer.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // The log keeps the pages that a failing disk does not take.
    }
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

  /** Checkpoints the whole log into the file, and syncs the file. */
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
      await this.#checkpointPassive();
      if (log >= MOST_PAGES) await this.#options.exclusively(async () => void (await this.#checkpointPassive()));
    } catch {
      // The next commit tries again, and fails if the disk does.
    } finally {
      this.#isCheckpointing = false;
    }
  }

  /** Runs a passive checkpoint: it copies pages whose old versions no reader needs into the file. */
  async #checkpointPassive(): Promise<Checkpoint | undefined> {
    const asked = this.#options.runInThread('PRAGMA wal_checkpoint(PASSIVE)');
    this.#inThread.add(asked);
    try {
      const [done] = (await asked) as Checkpoint[];
      return done;
    } finally {
      this.#inThread.delete(asked);
    }
  }

  #checkpointSoon(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#checkpointRest();
    }, SOON_MS).unref();
  }

  /** Checkpoints the rest of the log. Tries again later while readers still need pages that it would replace. */
  async #checkpointRest(): Promise<void> {
    if (this.#isClosed) return;
    try {
      const done = await this.#checkpointPassive();
      if (done && done.checkpointed < done.log) this.#checkpointSoon();
    } catch {
      // The next commit tries again, and fails if the disk does.
    }
  }

  /** The number of pages in the log, and how many of them the file already has. */
  #pages(): Checkpoint {
    return this.#options.writer.all('PRAGMA wal_checkpoint(NOOP)')[0] as unknown as Checkpoint;
  }
}
