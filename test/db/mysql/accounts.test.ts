/**
 * @engines server second-server
 * @tier long
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection } from 'mysql2/promise';
import { migrations } from '../../../migrations/index.ts';
import { migrationPrivileges, missingPrivileges } from '../../../src/db/mysql/migration/privileges.ts';
import { runCommand } from '../../harness/app/command.ts';
import { connectionOptions, createDatabase, engine, type TestDatabase } from '../../harness/app/database.ts';
import { startServe } from '../../harness/app/program.ts';
import { accountsOfTheGuide } from '../../harness/servers/accounts.ts';

// Whole programs, on a machine that may be busy.
const names = migrations.map(({ name }) => name);
const LATEST = names.at(-1)!;

let database: TestDatabase;
let root: Connection;
/** What the accounts of the guide are called here, where others have such accounts, too. */
let suffix: string;
let env: Record<string, string>;

const databaseName = (): string => new URL(database.url).pathname.slice(1);
const accountOf = (name: string): string => `${name}_${suffix}`;
const urlOf = (name: string, password: string): string => {
  const url = new URL(database.url);
  url.username = accountOf(name);
  url.password = password;
  return url.href;
};

beforeEach(async () => {
  database = await createDatabase();
  suffix = randomBytes(4).toString('hex');
  root = await createConnection(connectionOptions(new URL(database.url)));
  for (const sql of accountsOfTheGuide(databaseName(), accountOf)) await root.query(sql);
  env = { DATABASE_URL: urlOf('gateway', 'secret'), MIGRATE_DATABASE_URL: urlOf('migrator', 'another') };
});
afterEach(async () => {
  for (const name of ['gateway', 'migrator']) await root.query(`DROP USER ${accountOf(name)}`);
  await root.end();
  await database.drop();
});

const cli = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runCommand(args, { env });
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return stdout.trim();
};

describe('the accounts of the guide', () => {
  // That they are for every operation, `test/kit/conformance/all-engines.test.ts` shows.
  test('are enough to migrate and for every command', async () => {
    expect((await cli('migrate')).split('\n')).toEqual(names);
    const user = await cli('users', 'create', '--nickname', 'Ada', '--quiet');
    await cli('keys', 'create', '--user', user, '--scopes', 'content:write,user:read,user:write');
    await cli('seed', '--games', '20', '--images', '5', '--users', '5');
    await cli('reindex');
    expect(await cli('reconcile')).toBe('Everything is right.');
    await cli('users', 'suspend', user, '--hide-content');
    await cli('users', 'delete', user, '--yes');
    expect((await cli('export')).split('\n').length).toBeGreaterThan(30);
    expect(await cli('audit', 'list')).toContain('users delete');
    if (engine === 'mariadb') {
      const { host, port, user: account, password } = connectionOptions(new URL(env['DATABASE_URL'] ?? ''));
      const options = ['--single-transaction', '--hex-blob', '--no-tablespaces', '--default-character-set=utf8mb4'];
      const { stdout } = await promisify(execFile)(
        'mariadb-dump',
        ['--no-defaults', '-h', host, '-P', String(port), '-u', account, ...options, databaseName()],
        { env: { PATH: process.env['PATH'], MYSQL_PWD: password }, maxBuffer: 2 ** 26 },
      );
      expect(stdout).toContain('-- Dump completed');
    }

    const refused = await runCommand(['migrate', '--down', '--yes'], { env });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/lacks DROP on .* run: GRANT DROP ON /)]);
    const [, grant = ''] = /run: (GRANT .*);$/m.exec(refused.stderr) ?? [];
    await root.query(grant);
    expect(await cli('migrate', '--down', '--yes', '--to', names[0]!)).toContain(LATEST);
    expect(await cli('migrate', '--down', '--yes')).toBe(names[0]);
  });

  test('migrate at the start of a service, each for its part', async () => {
    const service = await startServe({
      url: env['DATABASE_URL'] ?? '',
      env: { MIGRATE_DATABASE_URL: env['MIGRATE_DATABASE_URL'] ?? '' },
    });
    expect(await service.stop()).toBe(0);
    expect(await cli('migrate', '--status')).not.toContain('pending');
    const { DATABASE_URL = '' } = env;
    env = { DATABASE_URL };
    expect(await cli('users', 'list')).toMatch(/^ID/);
  });

  test('give nothing that is not needed: without any of it, nothing is changed, and it is named', async () => {
    const grantee = accountOf('migrator');
    for (const privilege of migrationPrivileges(engine as 'mysql' | 'mariadb', 'up')) {
      await root.query(`REVOKE ${privilege} ON ${databaseName()}.* FROM ${grantee}`);
      const { code, stderr } = await runCommand(['migrate'], { env });
      expect([code, stderr]).toEqual([1, expect.stringContaining(`lacks ${privilege} on the database`)]);
      expect((await root.query('SHOW TABLES'))[0]).toEqual([]);
      const [, grant = ''] = /run: (GRANT .*);$/m.exec(stderr) ?? [];
      await root.query(grant);
    }
    await cli('migrate');
  });

  test('may get their privileges by a role', async () => {
    const role = accountOf('role');
    const account = accountOf('migrator');
    await root.query(`REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${account}`);
    await root.query(`CREATE ROLE ${role}`);
    await root.query(`GRANT ALL ON ${databaseName()}.* TO ${role}`);
    await root.query(`GRANT ${role} TO ${account}`);
    await root.query(`SET DEFAULT ROLE ${role} ${engine === 'mariadb' ? 'FOR' : 'TO'} ${account}`);
    try {
      expect((await cli('migrate')).split('\n')).toEqual(names);
    } finally {
      await root.query(`DROP ROLE ${role}`);
    }
  });
});

describe('the privileges of an account', () => {
  const needed = ['SELECT', 'CREATE'];

  test.each([
    ['GRANT ALL PRIVILEGES ON *.* TO `a`@`%` WITH GRANT OPTION', []],
    ['GRANT SELECT, CREATE ON `content`.* TO `a`@`%`', []],
    ['GRANT SELECT ON `content`.* TO `a`@`%`', ['CREATE']],
    ['GRANT SELECT, CREATE ON `other`.* TO `a`@`%`', needed],
    ['GRANT SELECT, CREATE ON `con%`.* TO `a`@`%`', []],
    ['GRANT SELECT, CREATE ON `con_ent`.* TO `a`@`%`', []],
    ['GRANT SELECT, CREATE ON `con\\_ent`.* TO `a`@`%`', needed],
    ['GRANT SELECT (`id`, `name`), CREATE ON `content`.`users` TO `a`@`%`', []],
    ['GRANT USAGE ON *.* TO `a`@`%`', needed],
    ['GRANT `role`@`%` TO `a`@`%`', needed],
    ['GRANT SELECT, CREATE ON *.* TO `a`@`%`\nREVOKE CREATE ON `content`.* FROM `a`@`%`', ['CREATE']],
    ['GRANT SELECT, CREATE VIEW ON *.* TO `a`@`%`', ['CREATE']],
  ])('%s', (lines, missing) => {
    expect(missingPrivileges(needed, 'content', lines.split('\n'))).toEqual(missing);
  });
});
