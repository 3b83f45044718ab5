/**
 * @engines sqlite
 * @tier fault
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PROGRAM, runCli } from '../harness/app/program.ts';
import { canTrace } from '../harness/servers/strace.ts';

// kill -9 of a backup and of a restore, and a full disk, at each step that changes something on the disk.

let folder: string;
let [before, after] = ['', ''];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'content-gateway-killed-'));
  [before, after] = [join(folder, 'before.db'), join(folder, 'after.db')];
  const env = { DATABASE_URL: `sqlite:${before}` };
  await runCli(['migrate'], { env });
  await runCli(['users', 'create', '--nickname', 'before'], { env });
  copyFileSync(before, after);
  const first = new DatabaseSync(before);
  first.exec('PRAGMA journal_mode = DELETE');
  first.close();
  const opened = new DatabaseSync(after);
  opened.exec("PRAGMA journal_mode = DELETE; UPDATE users SET nickname = 'after', bio = zeroblob(4000000)");
  opened.close();
});
afterAll(() => rm(folder, { recursive: true }));

const LOOK = `
  import { DatabaseSync } from '@photostructure/sqlite';
  const opened = new DatabaseSync(process.argv[1]);
  const [{ integrity_check: found }] = opened.prepare('PRAGMA integrity_check').all();
  process.stdout.write(found + ' ' + opened.prepare('SELECT nickname FROM users').get().nickname);
  process.exit(0);
`;

/**
 * Whose nickname a file holds, and whether it is whole: opened as a service would, with whatever lies beside it, by another
 * process, whose locks end with it.
 */
const userIn = (file: string): string =>
  execFileSync(process.execPath, ['--input-type=module', '--eval', LOOK, file], { encoding: 'utf8' });

interface Run {
  args: string[];
  database: string;
}

/** Runs a command, and kills it when it makes a system call for the n-th time. Resolves to whether that came. */
const runKilled = async ({ args, database }: Run, call: string, n: number): Promise<boolean> => {
  const trace = ['-f', '-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${n}`];
  const child = spawn('strace', [...trace, process.execPath, PROGRAM, ...args], {
    env: { PATH: process.env.PATH, DATABASE_URL: `sqlite:${database}` },
    stdio: 'ignore',
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  // Strace ends as what it traces did.
  expect([0, null]).toContain(code);
  return signal === 'SIGKILL';
};

/** Kills at the first call, the second, and so on, until there are no more; or at those named. */
const killAtEach = async (times: number[], round: (n: number) => Promise<boolean>): Promise<void> => {
  let killed = 0;
  for (const n of times) if (await round(n)) killed += 1;
  expect(killed).toBeGreaterThan(0);
};

/** System calls that change the disk, and at which of them to kill: not each run comes to all of them. */
const STEPS: [string, number[]][] = [
  ['pwrite64', [5, 900]],
  ['fsync', [1, 3]],
  ['rename', [1]],
  ['unlink', [1, 2]],
];

let place: string;
const fresh = (name: string): string => {
  place = join(folder, name);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  return join(place, 'content.db');
};

(canTrace ? describe : describe.skip)('kill -9', () => {
  const partials = (): string[] => readdirSync(place).filter((name) => name.includes('.partial'));

  test.each(STEPS)('of a backup at %s leaves the old file or the new one', async (call, times) => {
    await killAtEach(times, async (n) => {
      const database = fresh(`backup-${call}-${n}`);
      const file = join(place, 'copy.db');
      copyFileSync(after, database);
      copyFileSync(before, file);
      const isKilled = await runKilled({ args: ['backup', file, '--force'], database }, call, n);
      expect(['ok before', 'ok after']).toContain(userIn(file));
      expect(userIn(database)).toBe('ok after');
      const again = await runCli(['backup', file, '--force'], { env: { DATABASE_URL: `sqlite:${database}` } });
      expect({ ...again, partials: partials() }).toMatchObject({ code: 0, partials: [] });
      expect(userIn(file)).toBe('ok after');
      return isKilled;
    });
  });

  test.each([...STEPS, ['link', [1]] as [string, number[]]])(
    'of a restore at %s leaves the old database or the new one',
    async (call, times) => {
      await killAtEach(times, async (n) => {
        const database = fresh(`restore-${call}-${n}`);
        copyFileSync(before, database);
        const isKilled = await runKilled({ args: ['restore', after], database }, call, n);
        expect(['ok before', 'ok after']).toContain(userIn(database));
        const again = await runCli(['restore', after], { env: { DATABASE_URL: `sqlite:${database}` } });
        expect({ ...again, partials: partials() }).toMatchObject({ code: 0, partials: [] });
        expect(userIn(database)).toBe('ok after');
        const kept = readdirSync(place).filter((name) => /before-restore-[^-]*$/.test(name));
        expect(kept.map((name) => userIn(join(place, name)))).toContain('ok before');
        return isKilled;
      });
    },
  );
});

(canTrace ? describe : describe.skip)('a restore on a disk that is full', () => {
  /** Runs it with system calls that fail, on one path if given; resolves to its exit status and what it says. */
  const runFailing = async (database: string, faults: readonly string[], path?: string): Promise<[number, string]> => {
    const injected = faults.flatMap((fault) => ['-e', `inject=${fault}`]);
    const only = path === undefined ? [] : ['-P', path];
    const child = spawn(
      'strace',
      ['-f', '-qq', '-o', '/dev/null', ...only, ...injected, process.execPath, PROGRAM, 'restore', after],
      {
        env: { PATH: process.env.PATH, DATABASE_URL: `sqlite:${database}` },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close') as Promise<[number]>]);
    return [code, said];
  };

  test.each([
    ['when it writes', ['pwrite64:error=ENOSPC:when=5'], /No room in .* Nothing was changed\.\n$/],
    ['when the disk is to hold it', ['fsync:error=ENOSPC:when=1+'], /: disk I\/O error\. Nothing was changed\.\n$/],
    ['when the old one gets its second name', ['link:error=ENOSPC'], /No room in .* Nothing was changed\.\n$/],
    ['when the new one gets its name', ['rename:error=ENOSPC'], /No room in .* Nothing was changed\.\n$/],
    [
      'when the new one gets its name, on a file system without links',
      ['link:error=EPERM', 'rename:error=ENOSPC:when=2'],
      /No room in .* Nothing was changed\.\n$/,
    ],
  ])('%s leaves all as it was', async (_, faults, words) => {
    const database = fresh('full');
    copyFileSync(before, database);
    const bytes = readFileSync(database);
    expect(await runFailing(database, faults)).toEqual([1, expect.stringMatching(words)]);
    expect(readdirSync(place)).toEqual(['content.db']);
    expect(readFileSync(database).equals(bytes)).toBe(true);
  });

  test('when the disk is to hold the new name leaves the new one, and says what is not known', async () => {
    const database = fresh('full');
    copyFileSync(before, database);
    // The names are synced twice: with the second one of the old file, and with the new file in its place.
    const [code, said] = await runFailing(database, ['fsync:error=ENOSPC:when=2'], place);
    expect([code, said]).toEqual([1, expect.stringMatching(/content\.db is in its place, but .*: ENOSPC/)]);
    expect(readdirSync(place)).toHaveLength(2);
    expect(userIn(database)).toBe('ok after');
  });
});
