import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach } from '@jest/globals';

const HOLDER = `
  import { DatabaseSync } from '@photostructure/sqlite';
  const database = new DatabaseSync(process.argv[1], { timeout: 10_000 });
  database.exec('BEGIN IMMEDIATE');
  process.stdout.write('held');
  process.stdin.on('end', () => database.exec('ROLLBACK')).resume();
`;

const holders = new Set<ChildProcess>();

// A test that failed halfway leaves no lock behind.
afterEach(() => {
  for (const holder of holders) holder.kill();
  holders.clear();
});

/** Has another process hold the write lock of an SQLite file until the returned function is called. */
export const holdWriteLock = async (url: string): Promise<() => Promise<void>> => {
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', HOLDER, url.slice('sqlite:'.length)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  holders.add(holder);
  const ended = once(holder, 'exit');
  await once(holder.stdout, 'data');
  return async () => {
    holder.stdin.end();
    await ended;
  };
};
