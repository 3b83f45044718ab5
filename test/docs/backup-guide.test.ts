/**
 * @engines sqlite server
 * @tier long
 */
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Connection, createConnection } from 'mysql2/promise';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { expectExactCounts } from '../harness/app/counts.ts';
import { connectionOptions, createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { blocksOf } from '../harness/documents/guide.ts';
import { blocksIn, type Ran, runShell } from '../harness/documents/sections.ts';
import { aKey, startLoad, storedGames, withDatabase } from '../harness/http/load.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';
import { startServer, type ThrowawayServer } from '../harness/servers/servers.ts';

// What docs/backup.md tells its readers to run, run as it stands, while a service writes; only folder, port and file are others.

// It starts the command line several times.
const guide = await readFile('docs/backup.md', 'utf8');

let folder: string;
let backups: string;
describe('backup guide', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'content-gateway-backups-'));
    backups = join(folder, 'backups');
  });
  afterAll(() => rm(folder, { recursive: true }));

  const FIRST = blocksIn(guide, undefined, 'sh');

  test('every command of the guide is in a section that is run here', () => {
    const sections = [
      'Every day',
      'SQLite: back up',
      'SQLite: restore',
      'SQLite: copies of the file',
      'MySQL and MariaDB: back up',
      'MySQL and MariaDB: restore',
      'MySQL and MariaDB: restore to a moment',
    ];
    const found = sections.map((name) => blocksIn(guide, `## ${name}`, 'sh').length);
    expect(found).toEqual([1, 1, 2, 1, 1, 1, 3]);
    expect(found.reduce((sum, n) => sum + n, FIRST.length)).toBe(
      blocksOf(guide).filter(({ language }) => language === 'sh').length,
    );
  });

  test('the timer that it installs is there', async () => {
    // test/project/systemd.test.ts tries the units.
    const lines = blocksIn(guide, '## Every day', 'sh').join('').trimEnd().split('\n');
    const known = lines.map((line) => {
      const [, installed] =
        /^sudo install -m 644 \/opt\/content-gateway\/(\S+) \/etc\/systemd\/system\/$/.exec(line) ?? [];
      const [, unit] = /^sudo systemctl (?:enable --now|start) (\S+)$/.exec(line) ?? [];
      return installed ?? `deploy/systemd/${unit}`;
    });
    await Promise.all(known.map((file) => access(file)));
    expect(known).toHaveLength(4);
  });

  /** Runs `work` while two clients publish games, and resolves to the ids of those answered before, and how many there were. */
  const whileWriting = async (served: ServeProcess, key: string, work: () => Promise<void>) => {
    const load = startLoad(served.base, key, 2);
    await load.reached(50);
    const before = load.published();
    await work();
    load.stop();
    await load.done;
    return { before, all: load.published() };
  };

  /** A key that publishes. This process would keep the file open until its memory is cleared, and it is to be replaced. */
  const keyByCommand = async (url: string): Promise<string> => {
    const env = { DATABASE_URL: url };
    const user = (await runCli(['users', 'create', '--nickname', 'Ada'], { env })).stdout.trim();
    const key = await runCli(['keys', 'create', '--user', user, '--scopes', 'content:write', '--name', 'guide'], {
      env,
    });
    return key.stdout.trim();
  };

  const ofSqlite = (): void => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createDatabase();
    });
    afterAll(() => database.drop());

    const here = (script: string): string =>
      script
        .replaceAll('/var/backups/content', backups)
        .replaceAll('data/content.db', database.url.slice('sqlite:'.length));
    const run = async (...scripts: string[]): Promise<Ran> => {
      const ran = await runShell([...FIRST, ...scripts].map(here).join('\n'), { DATABASE_URL: database.url });
      expect(ran).toEqual({ ...ran, code: 0 });
      return ran;
    };

    test('backs up while the service writes, and restores', async () => {
      const served = await startServe({ url: database.url });
      const key = await keyByCommand(database.url);
      const { before, all } = await whileWriting(served, key, async () => {
        await run(...blocksIn(guide, '## SQLite: back up', 'sh'));
      });
      expect(await readdir(backups)).toEqual([expect.stringMatching(/^content-\d{8}T\d{6}Z\.db$/)]);
      expect(await served.stop()).toBe(0);

      const { stdout } = await run(...blocksIn(guide, '## SQLite: restore', 'sh'));
      expect(stdout).toMatch(/Everything is right\.\n$/);
      const stored = await storedGames(database.url);
      expect(before.filter((id) => !stored.has(id))).toEqual([]);
      expect(stored.size).toBeLessThan(all.length);
    });

    test('has a plain copy checked', async () => {
      await run(...blocksIn(guide, '## SQLite: copies of the file', 'sh'));
    });
  };
  if (engine === 'sqlite') describe('the guide for SQLite', ofSqlite);

  const { name: engineName, server: program } = TEST_ENGINE;
  /** A server with an account that is like the guide's: only one of our own has a name to give away. */
  const own =
    engineName !== 'sqlite' && engineName !== 'vitess' && 'binary' in program ? { engineName, program } : undefined;

  const SERVERS = '## MySQL and MariaDB:';
  const TO_A_MOMENT = `${SERVERS} restore to a moment`;
  const [BACK_UP = ''] = blocksIn(guide, `${SERVERS} back up`, 'sh');
  /** The settings of the guide for a server with a binary log, as options. */
  const LOGGING = blocksIn(guide, TO_A_MOMENT, 'ini')
    .join('')
    .split('\n')
    .filter((line) => line.includes('='))
    .map((line) => `--${line.replaceAll(' ', '')}`);

  const ofServers = (): void => {
    let server: ThrowawayServer;
    let admin: Connection;
    let env: NodeJS.ProcessEnv;
    let port: string;
    let key: string;
    let served: ServeProcess;
    const urlOf = (name: string): string => `${server.url}/${name}`;

    beforeEach(async () => {
      const options = own!.engineName === 'mariadb' ? LOGGING : [];
      server = await startServer(own!.engineName, own!.program, { options });
      ({ port } = new URL(server.url));
      const { database: _, ...account } = connectionOptions(new URL(server.url));
      admin = await createConnection({ ...account, multipleStatements: true });
      await admin.query('CREATE DATABASE content CHARACTER SET utf8mb4 COLLATE utf8mb4_bin');
      key = await aKey(urlOf('content'));
      await admin.query(`CREATE USER gateway IDENTIFIED BY 'secret'; CREATE USER admin IDENTIFIED BY 'secret';
        GRANT ALL ON *.* TO admin WITH GRANT OPTION; ${blocksIn(guide, `${SERVERS} back up`, 'sql').join('')}`);
      const home = join(folder, `home-${port}`);
      await mkdir(home);
      const [login = ''] = blocksIn(guide, `${SERVERS} restore`, 'ini');
      await writeFile(join(home, '.my.cnf'), login.replace('3306', port), { mode: 0o600 });
      env = { HOME: home, XDG_CACHE_HOME: join(home, '.cache') };
      served = await startServe({ url: urlOf('content') });
    });
    afterEach(async () => {
      await served.stop('SIGKILL');
      await admin.end();
      await server.stop();
    });

    /** Runs blocks of the guide with the folder, the port and the numbers of this test. */
    const run = async (numbers: Record<string, string>, ...scripts: string[]): Promise<Ran> => {
      const here = { '/var/backups/content': join(backups, port), ':3306/': `:${port}/`, ...numbers };
      const script = Object.entries(here).reduce(
        (text, [shown, ours]) => text.replaceAll(shown, ours),
        [...FIRST, ...scripts].join('\n'),
      );
      const ran = await runShell(script, env);
      expect(ran).toMatchObject({ code: 0 });
      return ran;
    };

    test('dumps while the service writes, and restores into an empty database', async () => {
      const { before, all } = await whileWriting(served, key, async () => {
        const { stdout, stderr } = await run({}, BACK_UP);
        expect(stdout).toMatch(/\/content-\d{8}T\d{6}Z\.sql\.gz\n$/);
        expect(stderr).not.toContain('warning');
      });
      expect(await served.stop()).toBe(0);
      const { stdout } = await run({}, ...blocksIn(guide, `${SERVERS} restore`, 'sh'));
      expect(stdout).toMatch(/Everything is right\.\n$/);

      const stored = await storedGames(urlOf('content_restored'));
      expect(before.filter((id) => !stored.has(id))).toEqual([]);
      expect(stored.size).toBeLessThan(all.length);
      await withDatabase(urlOf('content_restored'), expectExactCounts);
      // The very same bytes, wherever they are not text.
      const kept = new Set(await storedGames(urlOf('content')));
      expect([...stored].filter((id) => !kept.has(id))).toEqual([]);
    });

    // A reader's part is to find the numbers in the output.
    const toAMoment = async (): Promise<void> => {
      const [find = '', search = '', restore = ''] = blocksIn(guide, TO_A_MOMENT, 'sh');
      const usersIn = async (database: string): Promise<string[]> => {
        const [rows] = await admin.query(`SELECT nickname FROM ${database}.users`);
        return (rows as { nickname: string }[]).map(({ nickname }) => nickname);
      };

      // Writes before, during and after the dump, the last of them in another log.
      const load = startLoad(served.base, key, 2);
      await load.reached(50);
      await run({}, BACK_UP);
      const dumped = load.published();
      await load.reached(dumped.length + 60);
      await admin.query('FLUSH BINARY LOGS');
      await load.reached(dumped.length + 120);
      load.stop();
      await load.done;
      const answered = load.published();
      expect(answered).toHaveLength(load.endings.length);

      // The mistake, and a write after it.
      await admin.query('USE content; SET foreign_key_checks = 0; DROP TABLE games');
      const later = ['users', 'create', '--nickname', 'Later'];
      expect(await runCli(later, { env: { DATABASE_URL: urlOf('content') } })).toMatchObject({ code: 0 });
      expect(await served.stop()).toBe(0);

      const { stdout: found } = await run({}, find);
      const [, first = '', start = ''] = /LOG_FILE='(\S+)', MASTER_LOG_POS=(\d+)/.exec(found) ?? [];
      const logs = [...found.matchAll(/^(binlog\.\d+)\t/gm)].map(([, log]) => log ?? '');
      const last = logs.at(-1) ?? '';
      expect([logs.indexOf(first), logs]).toEqual([logs.length - 2, logs]);
      const names = { 'binlog.000007': first, 'binlog.000008': last };
      const { stdout: mistakes } = await run(names, search);
      const [, stop = ''] =
        /# at (\d+)\n[^\n]*GTID(?:(?!# at)[^])*# at \d+\n(?:(?!# at)[^])*DROP TABLE `games`/.exec(mistakes) ?? [];
      const url = `export DATABASE_URL=${urlOf('content_restored')}`;
      const { stdout } = await run({ ...names, '4711': start, '815': stop }, find, url, restore);
      expect(stdout).toMatch(/Everything is right\.\n$/);

      const stored = await storedGames(urlOf('content_restored'));
      expect(answered.filter((id) => !stored.has(id))).toEqual([]);
      expect(stored.size).toBe(answered.length);
      expect(dumped.length).toBeLessThan(stored.size);
      expect([await usersIn('content'), await usersIn('content_restored')]).toEqual([
        expect.arrayContaining(['author', 'Later']),
        ['author'],
      ]);
      await withDatabase(urlOf('content_restored'), expectExactCounts);
    };
    const NAME =
      'a restore to a moment has all that was answered before a table was dropped, and nothing that came later';
    if (own!.engineName === 'mariadb') test(NAME, toAMoment);
  };
  if (own) describe('the guide for servers', ofServers);
});
