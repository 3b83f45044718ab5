/**
 * @engines mariadb
 * @tier long
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection, type Connection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectExactCounts } from '../harness/app/counts.ts';
import { connectionOptions } from '../harness/app/database.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';
import { blocksIn, runShell } from '../harness/documents/sections.ts';
import { aKey, startLoad, storedGames, withDatabase } from '../harness/http/load.ts';
import { startServer, type ThrowawayServer } from '../harness/servers/servers.ts';

// What docs/backup.md says of a restore to a moment, as it stands, on a server with a binary log; a reader's part is to
// find the numbers in the output.

const HEADING = '## MySQL and MariaDB: restore to a moment';
const guide = await readFile('docs/backup.md', 'utf8');
const [introduction = ''] = blocksIn(guide, undefined, 'sh');
const [dumping = ''] = blocksIn(guide, '## MySQL and MariaDB: back up', 'sh');
const [find = '', search = '', restore = ''] = blocksIn(guide, HEADING, 'sh');

/** The server's settings of the guide, as options. */
const settings = blocksIn(guide, HEADING, 'ini')
  .join('')
  .split('\n')
  .filter((line) => line.includes('='))
  .map((line) => `--${line.replaceAll(' ', '')}`);

let folder: string;
let server: ThrowawayServer;
let admin: Connection;
let service: ServeProcess;
const urlOf = (database: string): string => `${server.url}/${database}`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'content-gateway-moment-'));
  const { server: program } = TEST_ENGINE;
  if (!program || !('binary' in program)) throw new Error('This test starts a server of its own.');
  server = await startServer('mariadb', program, { options: settings });
  const { database: _, ...account } = connectionOptions(new URL(server.url));
  admin = await createConnection({ ...account, multipleStatements: true });
  await admin.query('CREATE DATABASE content CHARACTER SET utf8mb4 COLLATE utf8mb4_bin');
});
afterAll(async () => {
  await service?.stop('SIGKILL');
  await admin?.end();
  await server?.stop();
  await rm(folder, { recursive: true });
});

/** Runs blocks of the guide with the folder, the port and the numbers of this test. */
const run = async (numbers: Record<string, string>, ...blocks: string[]): Promise<string> => {
  const { port } = new URL(server.url);
  const home = join(folder, 'home');
  await mkdir(home, { recursive: true });
  const [account = ''] = blocksIn(guide, '## MySQL and MariaDB: restore', 'ini');
  await writeFile(join(home, '.my.cnf'), account.replace('3306', port), { mode: 0o600 });
  const here = { '/var/backups/content': join(folder, 'backups'), ':3306/': `:${port}/`, ...numbers };
  const script = Object.entries(here).reduce((text, [shown, own]) => text.replaceAll(shown, own), blocks.join('\n'));
  const ran = await runShell(script, { HOME: home, XDG_CACHE_HOME: join(home, '.cache') });
  expect(ran).toEqual({ ...ran, code: 0 });
  return ran.stdout;
};

const usersIn = async (database: string): Promise<string[]> => {
  const [rows] = await admin.query(`SELECT nickname FROM ${database}.users`);
  return (rows as { nickname: string }[]).map(({ nickname }) => nickname);
};

describe('a restore to a moment', () => {
  test('has all that was answered before a table was dropped, and nothing that came later', async () => {
    const key = await aKey(urlOf('content'));
    await admin.query(`CREATE USER gateway IDENTIFIED BY 'secret'; CREATE USER admin IDENTIFIED BY 'secret';
      GRANT ALL ON *.* TO admin WITH GRANT OPTION; ${blocksIn(guide, '## MySQL and MariaDB: back up', 'sql').join('')}`);
    service = await startServe({ url: urlOf('content') });

    // Writes before, during and after the dump, the last of them in another log.
    const load = startLoad(service.base, key, 2);
    await load.reached(50);
    await run({}, introduction, dumping);
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
    const env = { DATABASE_URL: urlOf('content') };
    expect(await runCli(['users', 'create', '--nickname', 'Later'], { env })).toMatchObject({ code: 0 });
    expect(await service.stop()).toBe(0);

    const found = await run({}, introduction, find);
    const [, first = '', start = ''] = /LOG_FILE='(\S+)', MASTER_LOG_POS=(\d+)/.exec(found) ?? [];
    const logs = [...found.matchAll(/^(binlog\.\d+)\t/gm)].map(([, log]) => log ?? '');
    const last = logs.at(-1) ?? '';
    expect([logs.indexOf(first), logs]).toEqual([logs.length - 2, logs]);
    const names = { 'binlog.000007': first, 'binlog.000008': last };
    const mistakes = await run(names, introduction, search);
    const [, stop = ''] =
      /# at (\d+)\n[^\n]*GTID(?:(?!# at)[^])*# at \d+\n(?:(?!# at)[^])*DROP TABLE `games`/.exec(mistakes) ?? [];
    const url = `export DATABASE_URL=${urlOf('content_restored')}`;
    const stdout = await run({ ...names, '4711': start, '815': stop }, introduction, find, url, restore);
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
  });
});
