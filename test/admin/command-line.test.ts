/**
 * @engines none
 * @tier fast
 */
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runCommand } from '../harness/app/command.ts';
import { PROGRAM, startCli } from '../harness/app/program.ts';

// What the command line does before it knows a database, or whichever that is.

let folder: string;
let env: { DATABASE_URL: string };

describe('command line', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'content-gateway-cli-'));
    env = { DATABASE_URL: `sqlite:${join(folder, 'content.db')}` };
    await runCommand(['migrate'], { env });
  });

  afterAll(() => rm(folder, { recursive: true }));

  const CALL = 'npm run -s cli --';
  const ID = '019a3c5e-b150-7e85-9f52-9d40ce61a205';

  /** The items of a section of a help text: what stands on the left, and what on the right. */
  const itemsOf = (help: string, section: string): { term: string; description: string }[] => {
    const [, body = ''] = new RegExp(`\\n${section}:\\n((?: .*\\n)+)`).exec(help) ?? [];
    return body
      .split(/\n(?= {2}\S)/)
      .filter((item) => item !== '')
      .map((item) => {
        const [term = '', ...description] = item.trim().split(/ {2,}/);
        return { term, description: description.join(' ') };
      });
  };

  /** All commands, in the order of the help: groups with what is below them. */
  const COMMANDS = [
    ...['', 'serve', 'mcp', 'migrate'].map((name) => [name]),
    ['maintenance', 'on', 'off', 'status'],
    ...['doctor', 'status', 'backup', 'restore'].map((name) => [name]),
    [
      'users',
      'create',
      'invite',
      'invitations',
      'uninvite',
      'list',
      'show',
      'rename',
      'suspend',
      'unsuspend',
      'export',
      'delete',
      'erase',
    ],
    ['keys', 'create', 'list', 'show', 'use', 'calls', 'rotate', 'revoke', 'prune'],
    ['webhooks', 'create', 'list', 'pause', 'resume', 'rotate', 'test', 'deliveries', 'redeliver', 'delete'],
    ['games', 'list', 'show', 'hide', 'unhide', 'hidden', 'move', 'delete'],
    ['images', 'list', 'show', 'hide', 'unhide', 'hidden', 'move', 'delete'],
    ['tags', 'list', 'rename', 'merge', 'prune'],
    ['audit', 'list'],
    ...['export', 'import', 'seed', 'reconcile', 'reindex', 'verify', 'verify-cleanup', 'impact', 'can-i-deploy'].map(
      (name) => [name],
    ),
    ['record'],
    ['contract', 'publish', 'list', 'export', 'delete'],
    ['mock-server'],
  ];

  interface HelpPage {
    command: string[];
    text: string;
  }

  /** The help of a command and of all those below it. */
  const helpPages = async (command: string[]): Promise<HelpPage[]> => {
    const { code, stdout, stderr } = await runCommand([...command, '--help']);
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' });
    const below = itemsOf(stdout, 'Commands')
      .map(({ term }) => term.split(' ', 1).join(''))
      .filter((name) => name !== 'help');
    const pages = await Promise.all(below.map((name) => helpPages([...command, name])));
    return [{ command, text: stdout }, ...pages.flat()];
  };

  describe('help', () => {
    let pages: HelpPage[];

    beforeAll(async () => {
      pages = await helpPages([]);
    });

    test('exists for every command', () => {
      expect(pages.map(({ command }) => command.join(' '))).toEqual(
        COMMANDS.flatMap(([group, ...names]) => [group, ...names.map((name) => `${group} ${name}`)]),
      );
    });

    test('says what each command is for and how it is called', () => {
      for (const { command, text } of pages) {
        expect(text).toMatch(new RegExp(`^Usage: ${[CALL, ...command].join(' ')}.*\n\n[A-Z][^]+?\\.\n\n`));
      }
    });

    test('explains every option, argument and command', () => {
      for (const { command, text } of pages) {
        for (const section of ['Options', 'Arguments', 'Commands']) {
          for (const { term, description } of itemsOf(text, section)) {
            expect([command, term, description]).toEqual([command, term, expect.stringMatching(/\w/)]);
          }
        }
      }
    });

    test('names defaults and units', () => {
      const texts = pages.map(({ command, text }) => [command.join(' '), text.replaceAll(/\s+/g, ' ')]);
      const page = Object.fromEntries(texts) as Record<string, string>;
      expect(page['users create']).toContain('1 to 50 characters');
      expect(page['keys create']).toContain('days, hours, minutes or seconds (90d, 12h, 45m, 30s)');
      expect(page['keys create']).toContain('(default: 90d)');
      expect(page['keys create']).toContain('(default: unnamed)');
      expect(page['keys rotate']).toContain('(default: 24h)');
      expect(page['']).toContain('default sqlite:data/content.db');
    });

    test('ends with examples that are accepted', async () => {
      const leaves = pages.filter(({ text }) => itemsOf(text, 'Commands').length === 0);
      const examples = leaves.map(({ text }) => itemsOf(text, 'Examples?').map(({ term }) => term));
      expect(examples.map(([first]) => first)).toEqual(
        leaves.map(({ command }) => expect.stringMatching(`^${[CALL, ...command].join(' ')}`)),
      );
      // `verify` has no settings, but a deployment; test/kit/conformance/http.test.ts tries its examples. `mock-server` has none
      // either, and listens; `npm run test:sdk` needs it. The others read files first: test/kit/consumers tries them.
      const configured = examples
        .flat()
        .filter(
          (example) =>
            !/^(verify|mock-server|impact|can-i-deploy|record|contract publish)( |$)/.test(
              example.slice(CALL.length + 1),
            ),
        );
      await Promise.all(
        configured.map(async (example) => {
          // Faulty usage is told before faulty settings, which keep this from doing anything.
          const { code, stderr } = await runCommand(example.slice(CALL.length + 1).split(' '), { env: { PORT: 'x' } });
          expect([example, code, stderr]).toEqual([
            example,
            1,
            'error: PORT "x" must be a whole number from 0 to 65535\n',
          ]);
        }),
      );
    });

    test('is what a call without a command shows, as an error', async () => {
      expect(await runCommand(['keys'])).toEqual({
        code: 2,
        stdout: '',
        stderr: pages.find(({ command }) => command.join(' ') === 'keys')?.text,
      });
    });
  });

  test('--version prints the version of the package', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    const { code, stdout, stderr } = await runCommand(['--version']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // With the build, where that is known.
    expect(stdout).toMatch(new RegExp(`^${version}(\\+[\\w.-]+)?\\n$`));
  });

  test.each([
    [['key'], "unknown command 'key'\n(Did you mean keys?)", ''],
    [['--bogus'], "unknown option '--bogus'", ''],
    [
      ['users', 'create', '--nickname', ''],
      "option '--nickname <text>' argument '' is invalid. It must have at least 1 character, has 0.",
      'users create',
    ],
    [['keys', 'create', '--user', ID], "required option '--scopes <list>' not specified", 'keys create'],
    [
      ['keys', 'create', '--user', ID, '--scopes', 'admin'],
      "option '--scopes <list>' argument 'admin' is invalid. \"admin\" is none of content:write, user:read, user:write, webhook:write, key:write, contract:write.",
      'keys create',
    ],
    [['keys', 'revoke', ID, ID], "too many arguments for 'revoke'. Expected 1 argument but got 2.", 'keys revoke'],
    [
      ['serve', '--sandbox', '--seed', 'x'],
      "option '--seed <n>' argument 'x' is invalid. It must be a whole number from 0 to 4294967295.",
      'serve',
    ],
    [
      ['games', 'unhide', '--search', ' '],
      "option '--search <text>' argument ' ' is invalid. It must hold more than white space.",
      'games unhide',
    ],
    [['migrate', '--status', '--down'], "option '--down' cannot be used with option '--status'", 'migrate'],
  ])('%j is refused with a hint at the help', async (args, fault, command) => {
    const help = [CALL, command, '--help'].filter(Boolean).join(' ');
    expect(await runCommand(args, { env })).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: ${fault}\nHelp: ${help}\n`,
    });
  });

  test('a seed is for a sandbox', async () => {
    const { code, stderr } = await runCommand(['serve', '--seed', '7'], { env });
    expect({ code, stderr }).toEqual({ code: 2, stderr: 'error: --seed is for a sandbox: add --sandbox.\n' });
  });

  test.each([
    [['hide', '--reason', 'x']],
    [['hide', ID, '--author', ID, '--reason', 'x']],
    [['unhide', '--yes']],
    [['unhide', ID, '--reason', 'x']],
  ])('games %j names neither or both: one by its id, and several by filters', async (args) => {
    const { code, stderr } = await runCommand(['games', ...args], { env });
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^error: Give either an id, or what selects several: --author,/),
    ]);
  });

  test('every faulty setting has a line of its own, with what is allowed, and no password', async () => {
    const settings = {
      PORT: '70000',
      LOG_LEVEL: 'loud',
      DATABASE_URL: 'postgres://me:s3cret@host/db',
      SHUTDOWN_TIMEOUT_MS: 'soon',
    };
    const faults = [
      'DATABASE_URL must be sqlite:<path>, mysql://user:password@host:port/database or mariadb://…',
      'LOG_LEVEL "loud" must be fatal, error, warn, info, debug, trace or silent',
      'PORT "70000" must be a whole number from 0 to 65535',
      'SHUTDOWN_TIMEOUT_MS "soon" must be a whole number from 0 to 600000',
    ];
    const { code, stdout, stderr } = await runCommand(['serve'], { env: settings });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.split('\n').toSorted()).toEqual(['', ...faults.map((fault) => `error: ${fault}`)]);
  });

  test('a reader that has gone is no failure', async () => {
    const child = startCli(['users', 'list', '--quiet'], env);
    let stderr = '';
    child.stderr.on('data', (text: string) => (stderr += text));
    child.stdout.destroy();

    expect(await once(child, 'close')).toEqual([0, null]);
    expect(stderr).toBe('');
  });

  test('a result that cannot be written is a failure', () => {
    const unwritable = openSync('package.json', 'r');
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM, 'users', 'list', '--quiet'], {
      env,
      stdio: ['ignore', unwritable, 'pipe'],
      encoding: 'utf8',
    });
    closeSync(unwritable);

    expect({ status, stderr }).toEqual({ status: 1, stderr: 'error: EBADF: bad file descriptor, write\n' });
  });
});
