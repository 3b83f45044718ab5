import { rmSync } from 'node:fs';
import { SqliteConnection } from '../binding/binding.ts';

/** How long to wait for a command that is about to end. */
const PATIENCE_MS = 1000;

/**
 * Keeps everybody else out of an SQLite file until the function is called that it returns. All of the log is brought into the
 * file first, and none is kept then, so that the file can be replaced: a process that had opened it just before, and still
 * waits, finds that it was, when it turns the log on again, and fails.
 *
 * This process must not open and close the file otherwise meanwhile: that would end the lock.
 * @throws what `isBusy` knows when another process has the file open
 */
export const holdExclusively = (file: string): (() => void) => {
  const connection = new SqliteConnection(file, { timeout: PATIENCE_MS });
  try {
    // Not prepared: a statement would keep the connection open after its end.
    connection.exec('PRAGMA locking_mode = EXCLUSIVE');
    connection.exec('PRAGMA journal_mode = DELETE');
    connection.exec('BEGIN EXCLUSIVE');
    // A killed process may have left its shared-memory file.
    rmSync(`${file}-shm`, { force: true });
  } catch (error) {
    connection.close();
    throw error;
  }
  return () => connection.close();
};
