/** The permissions of the files of an SQLite database, which holds private data such as passwords of archives. */
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { randomUUID } from '../../../base/runtime.ts';
import { DEFAULT_DATABASE_URL, IN_MEMORY, sqliteFile } from '../../address.ts';

const OWNER_ONLY_FILE = 0o600;
const OWNER_ONLY_FOLDER = 0o700;
const OTHERS = 0o077;
const NOT_OF_GROUP = 0o007;

/** The file of the keys that secrets in a database are encrypted with. */
export const keyFileOf = (file: string): string => `${file}.key`;

/** The database file, the files that SQLite creates beside it with the same mode, and the file of keys. */
const filesOf = (file: string): string[] => [
  ...['', '-wal', '-shm', '-journal'].map((suffix) => `${file}${suffix}`),
  keyFileOf(file),
];

/** Whether the mode of a path gives other users than the owner any access. Windows has no such modes. */
const hasOpenMode = (path: string, others = OTHERS): boolean => {
  if (process.platform === 'win32') return false;
  const { mode } = statSync(path, { throwIfNoEntry: false }) ?? { mode: 0 };
  return (mode & others) !== 0;
};

const tighten = (path: string, mode: number): void => {
  // The target of a symbolic link is in another place on purpose.
  if (!hasOpenMode(path) || lstatSync(path).isSymbolicLink()) return;
  try {
    chmodSync(path, mode);
  } catch {
    // Another user owns it, and may have reasons. The service reports at its start that others can access it.
  }
};

/**
 * Creates a missing database file for its owner only, at the default path also its folder. At other paths, a missing
 * folder means an unmounted disk or a typing error: an empty database would look like a loss of all data. Files at the
 * default path that others may read (from earlier versions) are closed to others; at other paths the operator decides.
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
  // This opens a missing file only: closing an existing one would release locks that this process may hold on it.
  if (!existsSync(file)) closeSync(openSync(file, 'a', OWNER_ONLY_FILE));
  if (!isDefault) return;
  tighten(folder, OWNER_ONLY_FOLDER);
  for (const path of filesOf(file)) tighten(path, OWNER_ONLY_FILE);
};

/** Makes the file of keys, whole or not at all, for the owner of the database only. Keeps an existing file. */
export const makeKeyFile = (file: string, text: string): void => {
  const path = keyFileOf(file);
  const made = `${path}.${randomUUID()}`;
  try {
    writeFileSync(made, text, { mode: OWNER_ONLY_FILE, flush: true });
    const { uid, gid } = statSync(file);
    // SQLite does the same with its files: a command that an administrator runs must not lock the service out.
    if (process.getuid?.() === 0) chownSync(made, uid, gid);
    linkSync(made, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(made, { force: true });
  }
  if (process.platform === 'win32') return;
  // Otherwise a power loss could leave encrypted data without its key.
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
};

/** Whether others can access a file, or the target of a link; false if its folder denies them access. */
const isOpenTo = (others: number) => (path: string) =>
  existsSync(path) && hasOpenMode(path, others) && hasOpenMode(dirname(realpathSync(path)), others);

/** Whether other users can access a file that may be meant for a group. */
export const isOpenToAll = isOpenTo(NOT_OF_GROUP);

/** The files of a database that other users than the owner can access. */
export const openToOthers = (file: string): string[] =>
  file === IN_MEMORY ? [] : filesOf(file).filter(isOpenTo(OTHERS));
