import { performance, sleep } from '../../../base/runtime.ts';
import { SqliteConnection } from '../binding/binding.ts';
import { isBusy } from '../errors.ts';

/** SQLite's own waiting would block this process, for which others may wait. */
const TIMEOUT_MS = 50;
const PAUSE_MS = 100;
/** How long to wait for others that write, or read an older state. */
const PATIENCE_MS = 60_000;

const isEmptied = (connection: SqliteConnection): boolean => {
  const [done] = connection.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  return done?.busy === 0;
};

const isVacuumed = (connection: SqliteConnection): boolean => {
  try {
    connection.exec('VACUUM');
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
};

/**
 * Rewrites a database, so that its file holds no remains of deleted rows, and empties its log. `secure_delete` is not
 * enough: it leaves parts of rows where pages were split. Others can read meanwhile, but not write.
 * @throws Error when others prevent that for too long
 */
export const vacuum = async (file: string): Promise<void> => {
  const connection = new SqliteConnection(file, { timeout: TIMEOUT_MS });
  const until = performance.now() + PATIENCE_MS;
  try {
    for (const isDone of [isVacuumed, isEmptied]) {
      while (!isDone(connection)) {
        if (performance.now() > until)
          throw new Error(`${file} is in use: deleted texts may still be in it. Run this again.`);
        await sleep(PAUSE_MS);
      }
    }
  } finally {
    connection.close();
  }
};
