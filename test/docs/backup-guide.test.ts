/**
 * @engines sqlite server
 * @tier long
 */
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
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
      // test/docs/restore-to-a-moment.test.ts runs this one.
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

  const ofServers = (): void => {
    let server: ThrowawayServer;
    let env: NodeJS.ProcessEnv;
    let port: string;
    const urlOf = (name: string): string => `${server.url}/${name}`;

    beforeAll(async () => {
      server = await startServer(own!.engineName, own!.program);
      ({ port } = new URL(server.url));
      const { database: _, ...account } = connectionOptions(new URL(server.url));
      const admin = await createConnection(account);
      await admin.query('CREATE DATABASE content CHARACTER SET utf8mb4 COLLATE utf8mb4_bin');
      await aKey(urlOf('content'));
      for (const sql of ["CREATE USER gateway IDENTIFIED BY 'secret'", "CREATE USER admin IDENTIFIED BY 'secret'"]) {
        await admin.query(sql);
      }
      await admin.query('GRANT ALL ON *.* TO admin WITH GRANT OPTION');
      const [accounts = ''] = blocksIn(guide, '## MySQL and MariaDB: back up', 'sql');
      for (const sql of accounts.split(';').slice(0, -1)) await admin.query(sql);
      await admin.end();
      const home = join(folder, 'home');
      await mkdir(home);
      const [account_ = ''] = blocksIn(guide, '## MySQL and MariaDB: restore', 'ini');
      await writeFile(join(home, '.my.cnf'), account_.replace('3306', port), { mode: 0o600 });
      env = { HOME: home, XDG_CACHE_HOME: join(home, '.cache') };
    });
    afterAll(() => server.stop());

    const run = async (...scripts: string[]): Promise<Ran> => {
      const here = [...FIRST, ...scripts]
        .join('\n')
        .replaceAll('/var/backups/content', backups)
        .replaceAll(':3306/', `:${port}/`);
      const ran = await runShell(here, env);
      expect(ran).toMatchObject({ code: 0 });
      return ran;
    };

    test('dumps while the service writes, and restores into an empty database', async () => {
      const key = await aKey(urlOf('content'));
      const served = await startServe({ url: urlOf('content') });
      const { before, all } = await whileWriting(served, key, async () => {
        const { stdout, stderr } = await run(...blocksIn(guide, '## MySQL and MariaDB: back up', 'sh'));
        expect(stdout).toMatch(/\/content-\d{8}T\d{6}Z\.sql\.gz\n$/);
        expect(stderr).not.toContain('warning');
      });
      expect(await served.stop()).toBe(0);
      const { stdout } = await run(...blocksIn(guide, '## MySQL and MariaDB: restore', 'sh'));
      expect(stdout).toMatch(/Everything is right\.\n$/);

      const stored = await storedGames(urlOf('content_restored'));
      expect(before.filter((id) => !stored.has(id))).toEqual([]);
      expect(stored.size).toBeLessThan(all.length);
      await withDatabase(urlOf('content_restored'), expectExactCounts);
      // The very same bytes, wherever they are not text.
      const kept = new Set(await storedGames(urlOf('content')));
      expect([...stored].filter((id) => !kept.has(id))).toEqual([]);
    });
  };
  if (own) describe('the guide for servers', ofServers);
});
