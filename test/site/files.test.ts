/**
 * @engines sqlite
 * @tier long
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PROGRAM } from '../harness/app/program.ts';

// Who may read what the program stores, whatever its umask.

let folder: string;
describe('modes of files', () => {
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'content-gateway-files-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const UMASK = 0o022;
  /** What it writes to the standard error, once it has ended, or listens and is told to stop. */
  const run = async (args: string[], env: Record<string, string> = {}): Promise<string> => {
    const before = process.umask(UMASK);
    // In the folder, since the default path is relative.
    const child = spawn(process.execPath, [PROGRAM, ...args], { cwd: folder, env: { PORT: '0', ...env } });
    process.umask(before);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (!text.includes('/docs')) return;
      // While it runs there are the files beside the database, too.
      void noteModes().finally(() => child.kill('SIGTERM'));
    });
    const [code] = (await once(child, 'close')) as [number];
    if (code !== 0) throw new Error(`${args.join(' ')} ended with status ${code}: ${stderr}`);
    return stderr;
  };

  let modesWhileServing: Record<string, string>;
  /** The modes of all files and folders below, by their paths. */
  const modes = async (): Promise<Record<string, string>> => {
    const names = await readdir(folder, { recursive: true });
    const found = await Promise.all(
      names.map(async (name) => [name, ((await stat(join(folder, name))).mode & 0o777).toString(8)] as const),
    );
    return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  };
  const noteModes = async (): Promise<void> => {
    modesWhileServing = await modes();
  };
  const PRIVATE = { 'content.db': '600', 'content.db-shm': '600', 'content.db-wal': '600' };
  const within = (name: string, files: Record<string, string>): Record<string, string> => ({
    [name]: '700',
    ...Object.fromEntries(Object.entries(files).map(([file, mode]) => [join(name, file), mode])),
  });

  test('the default database and its folder are made for their owner only', async () => {
    await run(['serve']);
    expect(modesWhileServing).toEqual(within('data', PRIVATE));
  });

  test('files that a command makes are for their owner only, in any folder', async () => {
    await run(['migrate']);
    await mkdir(join(folder, 'other/place'), { recursive: true, mode: 0o700 });
    await run(['migrate'], { DATABASE_URL: 'sqlite:other/place/content.db' });
    expect(await modes()).toEqual({
      ...within('data', { 'content.db': '600' }),
      other: '700',
      ...within('other/place', { 'content.db': '600' }),
    });
  });

  test.each([['serve'], ['migrate']])(
    'elsewhere no folder is made by %s, which may be a disk that is not mounted',
    async (...args) => {
      await expect(run(args, { DATABASE_URL: 'sqlite:mount/point/content.db' })).rejects.toThrow(
        `the folder ${join(folder, 'mount/point')} does not exist; create it, or mount the disk that holds it`,
      );
      expect(await readdir(folder)).toEqual([]);
    },
  );

  test('at the default path, what others may read is closed to them', async () => {
    await run(['migrate']);
    await chmod(join(folder, 'data'), 0o755);
    await chmod(join(folder, 'data/content.db'), 0o644);
    await writeFile(join(folder, 'data/content.db-wal'), '', { mode: 0o644 });
    const log = await run(['serve']);
    expect(modesWhileServing).toEqual(within('data', PRIVATE));
    expect(log).not.toContain('other users');
  });

  test('elsewhere it is left alone, and told of', async () => {
    await mkdir(join(folder, 'shared'), { mode: 0o755 });
    await writeFile(join(folder, 'shared/content.db'), '', { mode: 0o640 });
    const log = await run(['serve'], { DATABASE_URL: 'sqlite:shared/content.db' });
    expect(modesWhileServing).toEqual({
      shared: '755',
      'shared/content.db': '640',
      'shared/content.db-shm': '640',
      'shared/content.db-wal': '640',
    });
    for (const file of ['content.db', 'content.db-wal', 'content.db-shm']) {
      expect(log).toMatch(new RegExp(`"level":40,.*"path":"shared/${file}","msg":"other users of this machine may`));
    }
    await chmod(join(folder, 'shared'), 0o700);
    expect(await run(['serve'], { DATABASE_URL: 'sqlite:shared/content.db' })).not.toContain('other users');
  });

  test('what the default path leads to elsewhere is left alone, and told of', async () => {
    await mkdir(join(folder, 'shared'), { mode: 0o755 });
    await symlink('shared', join(folder, 'data'));
    await run(['migrate']);
    await chmod(join(folder, 'shared/content.db'), 0o644);
    await rename(join(folder, 'shared/content.db'), join(folder, 'shared/other.db'));
    await symlink('other.db', join(folder, 'shared/content.db'));
    const log = await run(['serve']);
    expect(modesWhileServing).toMatchObject({ shared: '755', 'shared/other.db': '644' });
    expect(log).toContain('"path":"data/content.db","msg":"other users of this machine may');
  });
});
