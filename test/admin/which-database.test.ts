/**
 * @engines sqlite
 * @tier fast
 */
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { collected, runCommand } from '../harness/app/command.ts';
import { runCli } from '../harness/app/program.ts';

// An operator's shell rarely has the settings of the service.

const ID = '019a3c5e-b150-7e85-9f52-9d40ce61a205';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'content-gateway-which-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);

describe('where there is no database', () => {
  test.each([
    'migrate --status',
    'migrate --dry-run',
    'migrate --down --yes',
    `backup copy.db`,
    'users create --nickname Ada',
    'users list',
    `keys create --user ${ID} --scopes user:read`,
    `games show ${ID}`,
    'tags list',
    'audit list',
    'export',
    'import -',
    'seed',
    'reconcile',
    'reindex',
    'verify-cleanup',
    'mcp',
  ])('%s makes none, and says where it looked', async (call) => {
    const url = `sqlite:${at('content.db')}`;
    expect(await runCommand(call.split(' '), { env: { DATABASE_URL: url } })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `error: There is no database at ${at('content.db')}, which DATABASE_URL names. ` +
        'To make a new one: npm run -s cli -- migrate\n',
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('and none was named, the default and the missing setting are told of', async () => {
    const { code, stderr } = await runCli(['backup', 'copy.db'], { cwd: folder });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /no database at .*\/data\/content\.db, which is the default, since DATABASE_URL is not set/,
      ),
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    [{ READ_ONLY: 'true' }, /^error: There is no database at .*, which DATABASE_URL names/],
    [{ PORT: '2000', METRICS_PORT: '2000' }, /^error: METRICS_PORT "2000" is that of PORT, too: choose another/],
  ])('serve makes none with %j, and says why', async (settings, fault) => {
    const { code, stdout, stderr } = await runCommand(['serve'], {
      env: { DATABASE_URL: `sqlite:${at('content.db')}`, ...settings },
    });
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(fault)]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('migrate makes one', async () => {
    expect((await runCommand(['migrate'], { env: { DATABASE_URL: `sqlite:${at('new.db')}` } })).code).toBe(0);
    expect(existsSync(at('new.db'))).toBe(true);
  });
});

describe('the database that a command works on', () => {
  const told = async (args: string[], env: Record<string, string>): Promise<string[]> => {
    const { stdout, stderr } = await collected(args, env);
    expect(stdout).not.toContain('database');
    return stderr.split('\n').filter((line) => line.startsWith('database: '));
  };

  test('is told of on the standard error, unless that is not wanted', async () => {
    const env = { DATABASE_URL: `sqlite:${at('content.db')}` };
    const line = `database: sqlite:${at('content.db')}`;
    expect(await told(['migrate'], env)).toEqual([line]);
    expect(await told(['users', 'create', '--nickname', 'Ada'], env)).toEqual([line]);
    expect(await told(['reconcile'], env)).toEqual([line]);
    expect(await told(['backup', at('copy.db')], env)).toEqual([line]);
    expect(await told(['restore', at('copy.db')], env)).toEqual([line]);
    expect(await told(['users', 'list', '--quiet'], env)).toEqual([]);
  });

  test('is told of without its password, by the account that is used', async () => {
    const service = 'mysql://gateway:s3cret@127.0.0.1:1/content';
    const env = { DATABASE_URL: service, MIGRATE_DATABASE_URL: service.replace('gateway:s3cret', 'migrator:s3cret2') };
    expect(await told(['users', 'list'], env)).toEqual(['database: mysql://gateway@127.0.0.1:1/content']);
    expect(await told(['migrate'], env)).toEqual(['database: mysql://migrator@127.0.0.1:1/content']);
  });
});

describe('a variable that is nearly a setting', () => {
  test('is told of by every command, and where the settings are faulty', async () => {
    const slip = 'DATABSE_URL is not a setting: did you mean DATABASE_URL?';
    const env = { DATABSE_URL: 'mysql://me:s3cret@host/db', DATABASE_URL: `sqlite:${at('content.db')}` };
    await runCommand(['migrate'], { env });
    for (const call of [
      ['users', 'list'],
      ['backup', at('copy.db')],
      ['restore', '--check', at('copy.db')],
    ]) {
      expect((await runCommand(call, { env })).stderr).toContain(`warning: ${slip}\n`);
    }
    const { stderr } = await runCommand(['users', 'list'], { env: { ...env, WORKERS: 'x' } });
    expect(stderr.split('\n')).toEqual([
      'error: WORKERS "x" must be auto or a whole number from 1 to 256',
      `error: ${slip}`,
      '',
    ]);
  });
});
