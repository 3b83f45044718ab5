import { spawn } from 'node:child_process';
import { once } from 'node:events';

const HOLDER = `
  import { DatabaseSync } from '@photostructure/sqlite';
  const database = new DatabaseSync(process.argv[1]);
  database.exec('BEGIN IMMEDIATE');
  process.stdout.write('held');
  process.stdin.on('end', () => database.exec('ROLLBACK')).resume();
`;

/** Has another process hold the write lock of an SQLite file until the returned function is called. */
export const holdWriteLock = async (url: string): Promise<() => Promise<void>> => {
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', HOLDER, url.slice('sqlite:'.length)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  await once(holder.stdout, 'data');
  return async () => {
    holder.stdin.end();
    await ended;
  };
};
