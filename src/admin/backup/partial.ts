import { closeSync, fsyncSync, linkSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { currentTime } from '../../base/runtime.ts';
import { BackupError } from './errors.ts';

// A file is written under a temporary name beside its final one, and renamed when it is complete.

const OWNER_ONLY = 0o600;
const DAY_MS = 86_400_000;
const HOST = hostname().replaceAll(/[^\w.]/g, '_');
const NAME = /\.gateway-([\w.]+)-(\d+)\.partial(?:-wal|-shm|-journal)?$/;
/** The suffixes of the files that SQLite may keep beside a database. */
const BESIDE = ['-wal', '-shm', '-journal'];
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The existing files that SQLite would treat as part of a database file. */
export const companionsOf = (file: string): string[] =>
  BESIDE.map((suffix) => `${file}${suffix}`).filter((path) => statSync(path, { throwIfNoEntry: false }));

/** Whether two paths name the same file. */
export const isSame = (one: string, other: string): boolean => {
  const [a, b] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** Deletes temporary files that killed processes of this machine left, and any that are older than a day. */
const sweep = (folder: string): void => {
  for (const name of readdirSync(folder)) {
    const [, host, pid] = NAME.exec(name) ?? [];
    if (pid === undefined) continue;
    const path = join(folder, name);
    const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) ?? {};
    const isLeft = host === HOST ? !isAlive(Number(pid)) : currentTime() - mtimeMs > DAY_MS;
    if (isLeft) rmSync(path, { force: true });
  }
};

/** Syncs a file, or the names in a folder, to the disk. */
export const sync = (path: string): void => {
  const opened = openSync(path, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
};

/** Syncs the name of a file to the disk. @throws BackupError when it may be lost */
const syncName = (file: string): void => {
  try {
    sync(dirname(file));
  } catch (error) {
    throw new BackupError(
      `${file} is in its place, but whether it still is after a loss of power, the disk does not say: ${(error as Error).message}.`,
    );
  }
};

/** Gives a file a name that no other file has. On file systems without links, another process may take it first. */
const linkAnew = (from: string, to: string): void => {
  try {
    linkSync(from, to);
  } catch (error) {
    if (['EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    // The name is reserved first, so that two concurrent processes cannot both take it.
    closeSync(openSync(to, 'wx', OWNER_ONLY));
    renameSync(from, to);
  }
};

/** A file that is not complete yet. */
export interface Partial {
  path: string;
  /** Gives the file its final name. Without `isReplacing`, refuses to replace an existing file. @throws BackupError */
  publish(isReplacing: boolean): void;
}

/**
 * Runs `work` on a new file beside `target` that only its owner can read. Deletes the file when `work` ends or fails,
 * or a signal ends it, unless the file was published.
 */
export const withPartial = async <T>(target: string, work: (partial: Partial) => Promise<T>): Promise<T> => {
  const folder = dirname(target);
  const path = join(folder, `${basename(target)}.gateway-${HOST}-${process.pid}.partial`);
  const discard = (): void => {
    for (const file of [path, ...companionsOf(path)]) rmSync(file, { force: true });
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    discard();
    // The handlers are removed already, so the signal ends the process.
    process.kill(process.pid, signal);
  };
  sweep(folder);
  closeSync(openSync(path, 'wx', OWNER_ONLY));
  for (const signal of SIGNALS) process.once(signal, onSignal);
  try {
    return await work({
      path,
      publish: (isReplacing) => {
        sync(path);
        try {
          if (isReplacing) renameSync(path, target);
          else linkAnew(path, target);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
          throw new BackupError(`${target} exists: somebody else has just made it. Nothing was changed.`);
        }
        rmSync(path, { force: true });
        syncName(target);
      },
    });
  } finally {
    discard();
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
};
