import { rmSync } from 'node:fs';
import { SqliteConnection } from '../binding/binding.ts';

/** How long to wait for another process that is about to end, in milliseconds. */
const PATIENCE_MS = 1000;

/**
 * Locks an SQLite file exclusively until the returned function is called. It first checkpoints the whole log and turns
 * it off, so that the file can be replaced. A process that had opened the file just before and still waits fails when
 * it turns the log on again.
 *
 * This process must not open and close the file in another way meanwhile: that would end the lock.
 * @throws Error that `isBusy` recognises, when another process has the file open
 */
export const holdExclusively = (file: string): (() => void) => {
  const connection = new SqliteConnection(file, { timeout: PATIENCE_MS });
  try {
    // Not prepared: a statement would keep the connection open after `close`.
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
