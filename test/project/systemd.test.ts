/**
 * @engines none
 * @tier fast
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { variableNames } from '../../src/config/variables.ts';

const UNIT = 'deploy/systemd/content-gateway.service';
const unit = readFileSync(UNIT, 'utf8');

const analyze = (...args: string[]) => {
  const { status, stdout, stderr, error } = spawnSync('systemd-analyze', [...args, UNIT], { encoding: 'utf8' });
  if (error) throw new Error('systemd-analyze is missing: install the package systemd', { cause: error });
  return { status, said: `${stdout}${stderr}` };
};

describe('systemd unit', () => {
  test('is valid', () => {
    expect(analyze('verify', '--man=no')).toEqual({ status: 0, said: '' });
  });

  test('gives the service little more than it needs', () => {
    // From 0 to 10, times ten.
    expect(analyze('security', '--offline=true', '--threshold=20', '--no-pager').status).toBe(0);
  });

  test('starts a program of the release, with settings that exist', () => {
    const [, program = ''] = /^ExecStart=\/usr\/bin\/env node dist\/(\S+)\.js serve$/m.exec(unit) ?? [];
    expect(existsSync(`${program}.ts`)).toBe(true);
    const [, environment = ''] = /^Environment=(.*)$/m.exec(unit) ?? [];
    const names = environment.split(' ').map((one) => one.split('=', 1)[0]);
    expect(names.filter((name) => name !== 'NODE_ENV' && !variableNames.includes(name ?? ''))).toEqual([]);
  });
});

describe('the command of the unit', () => {
  const WRAPPER = readFileSync('deploy/systemd/content-gateway', 'utf8');
  const constant = (name: string): string => new RegExp(`^const ${name} = '(.*)';$`, 'm').exec(WRAPPER)?.[1] ?? '';
  /** An account that nobody has, as systemd makes them. */
  const STRANGER = 61_234;
  const own = process.getuid?.() ?? 0;

  /** The account of the service: another one where that can be had, and can reach this checkout. */
  const accountFor = (node: string): number => {
    if (own !== 0) return own;
    const script = `require('node:fs').readFileSync(${JSON.stringify(join(process.cwd(), 'package.json'))})`;
    const { status } = spawnSync(node, ['-e', script], { uid: STRANGER, gid: STRANGER, cwd: '/' });
    return status === 0 ? STRANGER : own;
  };

  let folder: string;
  let account: number;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'content-gateway-unit-'));
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'state'));
    // The folder of this Node.js may be closed to other accounts.
    copyFileSync(process.execPath, join(folder, 'node'));
    account = accountFor(join(folder, 'node'));
    chownSync(join(folder, 'state'), account, account === own ? (process.getgid?.() ?? 0) : account);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const at = (name: string): string => join(folder, name);

  /** Runs it with the folders of this test in the place of the machine's. */
  const run = (args: string[], { program, env = {} }: { program?: string; env?: Record<string, string> } = {}) => {
    const text = WRAPPER.replace(constant('FOLDER'), process.cwd())
      .replace(constant('STATE'), at('state'))
      .replace(constant('SETTINGS'), at('settings.env'))
      .replace(constant('MIGRATE_SETTINGS'), at('migrate.env'))
      .replace('dist/src/cli.js', program ?? '$&');
    writeFileSync(at('content-gateway'), text);
    const { status, stdout, stderr } = spawnSync(at('node'), [at('content-gateway'), ...args], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], ...env },
      cwd: folder,
    });
    return { status, stdout, stderr };
  };

  test('has the folders and settings of the unit', () => {
    const value = (name: string): string => new RegExp(`^${name}=-?(.*)$`, 'm').exec(unit)?.[1] ?? '';
    expect(constant('FOLDER')).toBe(value('WorkingDirectory'));
    expect(constant('SETTINGS')).toBe(value('EnvironmentFile'));
    expect(constant('STATE')).toBe(`/var/lib/${value('StateDirectory')}`);
    expect(value('Environment')).toBe(`NODE_ENV=production DATABASE_URL=sqlite:${constant('STATE')}/content.db`);
    expect(WRAPPER).toContain("NODE_ENV: 'production', DATABASE_URL: `sqlite:${STATE}/content.db`");
  });

  test('reads its files as systemd does, and nothing of the shell but what is of the person', () => {
    writeFileSync(at('print.mjs'), 'console.log(JSON.stringify(process.env))');
    writeFileSync(
      at('settings.env'),
      [
        '# a comment',
        '; another',
        'BRAND_NAME=Games  and more \t',
        'BRAND_TERMS="https://a.example/#terms"',
        "BRAND_CONTACT='mailto:a@b.example'",
        'RATE_LIMIT=read=1,\\',
        'write=2',
        'PUBLIC_URL="a \\"b\\" $HOME"',
        'LOG_LEVEL=',
      ].join('\n'),
    );
    writeFileSync(at('migrate.env'), 'MIGRATE_DATABASE_URL=mysql://m:x@h/d\n');
    const env = { DATABASE_URL: 'sqlite:mine.db', SUDO_USER: 'maru', TERM: 'xterm' };
    const settings = (...args: string[]): object =>
      JSON.parse(run(args, { program: at('print.mjs'), env }).stdout) as object;
    expect(settings('users', 'list')).toEqual({
      PATH: process.env['PATH'],
      TERM: 'xterm',
      AUDIT_ACTOR: 'maru',
      NODE_ENV: 'production',
      DATABASE_URL: `sqlite:${at('state')}/content.db`,
      BRAND_NAME: 'Games  and more',
      BRAND_TERMS: 'https://a.example/#terms',
      BRAND_CONTACT: 'mailto:a@b.example',
      RATE_LIMIT: 'read=1,write=2',
      PUBLIC_URL: 'a "b" $HOME',
      LOG_LEVEL: '',
    });
    expect(settings('migrate')).toMatchObject({ MIGRATE_DATABASE_URL: 'mysql://m:x@h/d' });
  });

  test('works on the data of the service, as its account', () => {
    expect(run(['users', 'list'])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining(`There is no database at ${at('state')}/content.db`),
    });
    expect(run(['migrate']).status).toBe(0);
    const { status, stdout, stderr } = run(['users', 'create', '--nickname', 'Ada Ōno']);
    expect([status, stderr]).toEqual([0, `database: sqlite:${at('state')}/content.db\n`]);
    expect(stdout).toMatch(/^[\da-f-]{36}\n$/);
    expect(statSync(at('state/content.db')).uid).toBe(account);
  });
});
