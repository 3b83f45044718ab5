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
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { variableNames } from '../../src/config/variables.ts';
import { runCommand } from '../harness/app/command.ts';

const UNIT = 'deploy/systemd/content-gateway.service';
const unit = readFileSync(UNIT, 'utf8');

const BACKUP = 'deploy/systemd/content-gateway-backup.service';

const analyze = (...args: string[]) => {
  const { status, stdout, stderr, error } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  if (error) throw new Error('systemd-analyze is missing: install the package systemd', { cause: error });
  return { status, said: `${stdout}${stderr}` };
};

/** The values of a setting of a unit. */
const valuesOf = (text: string, name: string): string[] =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value ?? '');

describe('systemd units', () => {
  test('are valid', () => {
    const units = [UNIT, BACKUP, BACKUP.replace('.service', '.timer')];
    expect(analyze('verify', '--man=no', ...units)).toEqual({ status: 0, said: '' });
  });

  test('give the service little more than it needs', () => {
    // From 0 to 10, times ten.
    for (const one of [UNIT, BACKUP]) {
      expect(analyze('security', '--offline=true', '--threshold=20', '--no-pager', one).status).toBe(0);
    }
  });

  test('start a program of the release, with settings that exist', () => {
    const [, program = ''] = /^ExecStart=\/usr\/bin\/env node dist\/(\S+)\.js serve$/m.exec(unit) ?? [];
    expect(existsSync(`${program}.ts`)).toBe(true);
    const [, environment = ''] = /^Environment=(.*)$/m.exec(unit) ?? [];
    const names = environment.split(' ').map((one) => one.split('=', 1)[0]);
    expect(names.filter((name) => name !== 'NODE_ENV' && !variableNames.includes(name ?? ''))).toEqual([]);
  });
});

describe('the unit of the backup', () => {
  const backup = readFileSync(BACKUP, 'utf8');

  test('has the account, the settings and the confinement of the service', () => {
    // Nothing but these lines differs below [Service].
    const own = /^(Type|Environment|EnvironmentFile|ExecStart|Nice|IOSchedulingClass|User|StateDirectory)=/;
    const ofService =
      /^(Type|Environment|EnvironmentFile|ExecStart|StateDirectory=|Restart|KillMode|TimeoutStopSec|Limit)/;
    const settingsIn = (text: string, others: RegExp): string[] =>
      (/\[Service\]\n([^]*?)(?=\n\[|$)/.exec(text)?.[1] ?? '')
        .split('\n')
        .filter((line) => /^\w/.test(line) && !others.test(line));
    expect(settingsIn(backup, own)).toEqual(settingsIn(unit, ofService));
    // systemd names the account of a unit without `User` after it.
    expect(valuesOf(backup, 'User')).toEqual(['content-gateway']);
    expect(valuesOf(backup, 'EnvironmentFile')).toEqual([
      ...valuesOf(unit, 'EnvironmentFile'),
      '-/etc/content-gateway-backup.env',
    ]);
    const [environment = ''] = valuesOf(unit, 'Environment');
    expect(valuesOf(backup, 'Environment')).toEqual([`${environment} BACKUP_KEEP=14 BACKUP_THEN=`]);
  });

  test('runs a command that the program takes, with what its file sets', async () => {
    const [command = ''] = valuesOf(backup, 'ExecStart');
    const folder = mkdtempSync(join(tmpdir(), 'content-gateway-unit-'));
    const state = '/var/lib/content-gateway';
    expect(valuesOf(backup, 'StateDirectory')).toEqual(['content-gateway content-gateway/backups']);
    mkdirSync(join(folder, 'backups'));
    const environment = { BACKUP_KEEP: '1', BACKUP_THEN: 'echo "a copy of $BACKUP_FILE"; false' };
    // As systemd does it: a variable in braces is one word.
    const valueOf = (_: string, name: keyof typeof environment): string => environment[name];
    const words = command.split(' ').map((word) => word.replaceAll(state, folder).replaceAll(/\$\{(\w+)\}/g, valueOf));
    const env = { PATH: process.env['PATH'], DATABASE_URL: `sqlite:${folder}/content.db` };
    expect((await runCommand(['migrate'], { env: { DATABASE_URL: env.DATABASE_URL } })).code).toBe(0);
    expect(spawnSync(words[0] ?? '', words.slice(1), { env, encoding: 'utf8' })).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^a copy of .*\/backups\/content-\w+\.db\n/m),
    });
    rmSync(folder, { recursive: true });
  });

  test('is started by its timer', () => {
    const timer = readFileSync(BACKUP.replace('.service', '.timer'), 'utf8');
    const { status, said } = analyze('calendar', valuesOf(timer, 'OnCalendar')[0] ?? '');
    expect([status, said]).toEqual([0, expect.stringContaining('03:15:00')]);
    expect(valuesOf(timer, 'Persistent')).toEqual(['yes']);
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
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'content-gateway-unit-'));
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'state'));
    // The folder of this Node.js may be closed to other accounts.
    copyFileSync(process.execPath, join(folder, 'node'));
    account = accountFor(join(folder, 'node'));
    chownSync(join(folder, 'state'), account, account === own ? (process.getgid?.() ?? 0) : account);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const at = (name: string): string => join(folder, name);
  afterEach(() => {
    for (const name of ['settings.env', 'migrate.env']) rmSync(at(name), { force: true });
  });

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
    writeFileSync(at('print.mjs'), 'console.log(JSON.stringify({ env: process.env, args: process.argv.slice(2) }))');
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
    const given = (...args: string[]) =>
      JSON.parse(run(args, { program: at('print.mjs'), env }).stdout) as { env: object; args: string[] };
    const { env: settings, args } = given('users', 'create', '--nickname', 'Ada Ōno');
    expect(args).toEqual(['users', 'create', '--nickname', 'Ada Ōno']);
    expect(settings).toEqual({
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
    expect(given('migrate').env).toMatchObject({ MIGRATE_DATABASE_URL: 'mysql://m:x@h/d' });
  });

  test('ends as the program does', () => {
    writeFileSync(at('fail.mjs'), "console.log('out'); console.error('in words'); process.exitCode = 3;");
    expect(run(['users', 'list'], { program: at('fail.mjs') })).toEqual({
      status: 3,
      stdout: 'out\n',
      stderr: 'in words\n',
    });
  });

  test('works on the data of the service, as its account', () => {
    const { status, stdout, stderr } = run(['migrate']);
    expect([status, stderr]).toEqual([0, `database: sqlite:${at('state')}/content.db\n`]);
    expect(stdout).not.toBe('');
    expect(statSync(at('state/content.db')).uid).toBe(account);
  });
});
