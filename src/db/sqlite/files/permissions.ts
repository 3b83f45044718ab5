/** The permissions of the files of an SQLite database, which holds private data such as passwords of archives. */
import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DEFAULT_DATABASE_URL, IN_MEMORY, sqliteFile } from '../../address.ts';

const OWNER_ONLY_FILE = 0o600;
const OWNER_ONLY_FOLDER = 0o700;
const OTHERS = 0o077;

/** The database file, and the files that SQLite keeps beside it, which it creates with the same mode. */
const filesOf = (file: string): string[] => ['', '-wal', '-shm', '-journal'].map((suffix) => `${file}${suffix}`);

/** Whether other users than the owner have any access to a path. Windows has no such modes. */
const isOpenToOthers = (path: string): boolean => {
  if (process.platform === 'win32') return false;
  const { mode } = statSync(path, { throwIfNoEntry: false }) ?? { mode: 0 };
  return (mode & OTHERS) !== 0;
};

const tighten = (path: string, mode: number): void => {
  // The target of a symbolic link was put elsewhere on purpose.
  if (!isOpenToOthers(path) || lstatSync(path).isSymbolicLink()) return;
  try {
    chmodSync(path, mode);
  } catch {
    // Another user owns it, and may have reasons. The service reports at its start that it is open to others.
  }
};

/**
 * Creates a missing database file for its owner only; at the default path also its folder. Elsewhere, a missing folder is
 * an unmounted disk or a typing error: an empty database in its place would look like the loss of all data. Files at the
 * default path that others may read, as earlier versions left them, are closed to others; elsewhere the operator decides.
 * @throws Error that names the missing folder
 */
export const makePrivate = (file: string): void => {
  if (file === IN_MEMORY) return;
  const isDefault = file === sqliteFile(DEFAULT_DATABASE_URL);
  const folder = resolve(dirname(file));
  if (isDefault) mkdirSync(folder, { recursive: true, mode: OWNER_ONLY_FOLDER });
  else if (!existsSync(folder)) {
    throw new Error(`the folder ${folder} does not exist; create it, or mount the disk that holds it`);
  }
  // Only a missing file: closing an existing one would release the locks that this process may hold on it.
  if (!existsSync(file)) closeSync(openSync(file, 'a', OWNER_ONLY_FILE));
  if (!isDefault) return;
  tighten(folder, OWNER_ONLY_FOLDER);
  for (const path of filesOf(file)) tighten(path, OWNER_ONLY_FILE);
};

/** The files of a database that other users than the owner can access; none if the folder keeps them out. */
export const openToOthers = (file: string): string[] =>
  file === IN_MEMORY || !isOpenToOthers(dirname(file)) ? [] : filesOf(file).filter(isOpenToOthers);
