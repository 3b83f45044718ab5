/**
 * @engines sqlite
 * @tier long
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { migrations } from '../../migrations/index.ts';
import { describeAddress } from '../../src/db/address.ts';
import { runCommand } from '../harness/app/command.ts';
import { createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { type Environment, runCli, startServe } from '../harness/app/program.ts';

let database: TestDatabase;

describe('serve', () => {
  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(() => database.drop());

  test('serve answers until SIGTERM, and holds its port', async () => {
    const served = await startServe({ url: database.url });
    const ready = await fetch(`${served.base}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready' }]);

    const { port } = new URL(served.base);
    const env = { DATABASE_URL: database.url, HOST: '127.0.0.1', PORT: port, LOG_LEVEL: 'warn', AUTO_MIGRATE: 'true' };
    expect(await runCli(['serve'], { env })).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: PORT "${port}" is in use on 127.0.0.1: stop the other program or choose another PORT\n`,
    });

    expect(await served.stop()).toBe(0);
    expect(served.output()).toContain('"msg":"stopped"');
    await expect(fetch(`${served.base}/readyz`)).rejects.toThrow('fetch failed');
  });

  test('serve tells which database it has opened, without the password, and of variables that it does not know', async () => {
    const env = { DATBASE_URL: 'mysql://me:s3cret@host/db', LOG_LEVEL: 'info' };
    const served = await startServe({ url: database.url, env });
    expect(await served.stop()).toBe(0);
    const lines = served
      .log()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines[0]).toMatchObject({ level: 30, msg: 'starting' });
    expect(lines[1]).toMatchObject({
      level: 40,
      variable: 'DATBASE_URL',
      msg: expect.stringContaining('DATABASE_URL?'),
    });
    expect(lines[2]).toMatchObject({ database: describeAddress(database.url), msg: 'opened the database' });
    expect(served.output()).not.toContain('s3cret');
  });

  test('a command tells of variables that it does not know', async () => {
    const env = { DATABASE_URL: database.url, DATABASE_PORT_NUMBER: '3306', LOG_LEVLE: 'info', AUTO_MIGRATE: 'true' };
    const { code, stderr } = await runCommand(['users', 'list'], { env });
    expect({ code, lines: stderr.split('\n') }).toEqual({
      code: 0,
      lines: [
        expect.stringMatching(
          /^warning: DATABASE_PORT_NUMBER is not a setting, and is ignored; there are DATABASE_URL/,
        ),
        'warning: LOG_LEVLE is not a setting: did you mean LOG_LEVEL?',
        '',
      ],
    });
  });

  test.each(['serve', 'migrate', 'users list'])('%s says that the database is away', async (command) => {
    const { url, fault } =
      engine === 'sqlite'
        ? {
            url: `${database.url}/below-a-file.db`,
            fault: `cannot open the SQLite file ${database.url.slice('sqlite:'.length)}/below-a-file.db: `,
          }
        : {
            url: `${engine === 'mariadb' ? engine : 'mysql'}://root@127.0.0.1:1/content`,
            fault: 'cannot use the database at 127.0.0.1:1/content: connect ECONNREFUSED 127.0.0.1:1',
          };
    const { code, stdout, stderr } = await runCli(command.split(' '), { env: { DATABASE_URL: url } });

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    // Beside the log of `serve`, which says that it starts.
    const told = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    expect(told).toHaveLength(1);
    // Commands other than these two make no file.
    const isMissing = engine === 'sqlite' && command === 'users list';
    expect(stderr).toContain(
      isMissing ? 'error: There is no database at ' : `error: The database cannot be reached: ${fault}`,
    );
  });

  describe('a database without tables', () => {
    let empty: TestDatabase;
    beforeEach(async () => {
      empty = await createDatabase({ empty: true });
    });
    afterEach(() => empty.drop());

    const listUsers = (settings: Environment) =>
      runCommand(['users', 'list'], { env: { DATABASE_URL: empty.url, ...settings } });
    const listed = { code: 0, stdout: 'ID  CREATED  NICKNAME\n', stderr: '' };
    const refused = {
      code: 1,
      stdout: '',
      stderr: `error: The database lacks the migrations ${migrations.map(({ name }) => name).join(', ')}. Run: npm run -s cli -- migrate\n`,
    };

    test('is migrated first on SQLite; on a server, the command asks for it', async () => {
      expect(await listUsers({})).toEqual(engine === 'sqlite' ? listed : refused);
    });

    test('is migrated or not as AUTO_MIGRATE says', async () => {
      expect(await listUsers({ AUTO_MIGRATE: 'false' })).toEqual(refused);
      expect(await listUsers({ AUTO_MIGRATE: 'true' })).toEqual(listed);
    });
  });
});
