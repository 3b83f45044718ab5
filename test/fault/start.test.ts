/**
 * @engines sqlite server
 * @tier fault
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { expectExactCounts } from '../harness/app/counts.ts';
import { connectionOptions, createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { withDatabase } from '../harness/http/load.ts';
import { type Environment, runCli, type ServeProcess, startServe } from '../harness/app/program.ts';
import { holdWriteLock } from '../harness/servers/sqlite-lock.ts';

// How the program starts, alone and beside others, and how it says that it cannot.

let database: TestDatabase;
const served: ServeProcess[] = [];

beforeEach(async () => {
  database = await createDatabase({ empty: true });
});
afterEach(async () => {
  await Promise.all(served.splice(0).map((service) => service.stop('SIGKILL')));
  await database.drop();
});

const startTwo = async (): Promise<[ServeProcess, ServeProcess]> => {
  const start = () => startServe({ url: database.url, env: { LOG_LEVEL: 'info' } });
  const both = await Promise.allSettled([start(), start()]);
  for (const outcome of both) if (outcome.status === 'fulfilled') served.push(outcome.value);
  for (const outcome of both) if (outcome.status === 'rejected') throw outcome.reason;
  return [served[0]!, served[1]!];
};

/** What the program writes when it cannot start. @throws Error if it ends otherwise than with status 1 */
const faultsOf = async (env: Environment, cwd?: string): Promise<string[]> => {
  const { code, stdout, stderr } = await runCli(['serve'], {
    env: { LOG_LEVEL: 'info', PORT: '0', ...env },
    ...(cwd !== undefined && { cwd }),
  });
  if (code !== 1 || stdout !== '') throw new Error(`serve ended with status ${code}: ${stdout}${stderr}`);
  // Beside the log, whose first line says that it starts.
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
};

describe('two instances on one database', () => {
  test('start at the same time on an empty one, and make its tables once', async () => {
    const both = await startTwo();
    for (const { base } of both) expect((await fetch(`${base}/readyz`)).status).toBe(200);
    await withDatabase(database.url, async (db) => {
      expect(await db.pendingMigrations()).toEqual([]);
      expect(await db.read('SELECT nickname FROM users')).toEqual([]);
      await expectExactCounts(db);
    });
  });
});

const onServers = (): void => {
  const urlWith = (change: (url: URL) => void): string => {
    const url = new URL(database.url);
    change(url);
    return url.href;
  };

  test('with a wrong password is refused in one line, without the password', async () => {
    const account = `u${Date.now()}`;
    const root = await createConnection(connectionOptions(new URL(database.url)));
    await root.query(`CREATE USER ${account}@'127.0.0.1' IDENTIFIED BY 'right'`);
    const url = urlWith((to) => {
      to.username = account;
      to.password = 's3cret';
    });
    const faults = await faultsOf({ DATABASE_URL: url });
    await root.query(`DROP USER ${account}@'127.0.0.1'`);
    await root.end();
    expect(faults).toEqual([expect.stringMatching(/^error: The database cannot be reached: .*Access denied for user/)]);
    expect(faults.join()).not.toContain('s3cret');
  });

  test('that does not exist is named in one line', async () => {
    const url = urlWith((to) => (to.pathname = '/no_such_database'));
    expect(await faultsOf({ DATABASE_URL: url })).toEqual([
      expect.stringMatching(
        /^error: The database cannot be reached: .*Unknown database 'no_such_database'(?: in vschema)?$/i,
      ),
    ]);
  });

  test('whose host does not exist is named in one line', async () => {
    const url = urlWith((to) => (to.hostname = 'not.a.host.invalid'));
    expect(await faultsOf({ DATABASE_URL: url })).toEqual([
      expect.stringMatching(/^error: The database cannot be reached: .*not\.a\.host\.invalid/),
    ]);
  });
};

const onSqlite = (): void => {
  test('whose demo user cannot be made ends the program, which listens already', async () => {
    // Only the default database gets one.
    const folder = await mkdtemp(join(tmpdir(), 'no-demo-'));
    const url = `sqlite:${join(folder, 'data/content.db')}`;
    await mkdir(join(folder, 'data'));
    await withDatabase(url, (db) => db.migrate());
    const release = await holdWriteLock(url);
    const faults = await faultsOf({ AUTO_MIGRATE: 'false', LOG_LEVEL: 'silent' }, folder);
    await release();
    await rm(folder, { recursive: true });
    expect(faults).toEqual([expect.stringMatching(/^error: The service is too busy/)]);
  });

  test('that is a folder, or another kind of file, is refused in one line', async () => {
    const path = database.url.slice('sqlite:'.length);
    await mkdir(`${path}.folder`);
    await writeFile(`${path}.text`, 'This is no database, but a text of some length. '.repeat(100));
    for (const file of [`${path}.folder`, `${path}.text`]) {
      expect(await faultsOf({ DATABASE_URL: `sqlite:${file}` })).toEqual([
        expect.stringContaining(`error: The database cannot be reached: cannot open the SQLite file ${file}: `),
      ]);
    }
  });
};

describe('a database', engine === 'sqlite' ? onSqlite : onServers);
