/**
 * @engines sqlite
 * @tier long
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openClient } from '../harness/app/client.ts';
import { createDatabase } from '../harness/app/database.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { withDatabase } from '../harness/http/load.ts';
import { runCli, type ServeProcess, startByDefault, startServe } from '../harness/app/program.ts';

// What a start makes of an empty database. What it shows on a terminal is for `.ci/first-start`.

let folder: string;
const served: ServeProcess[] = [];
describe('first start', () => {
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'first-start-'));
  });
  afterEach(async () => {
    await Promise.all(served.splice(0).map((service) => service.stop('SIGKILL')));
    await rm(folder, { recursive: true });
  });

  const fileUrl = (): string => `sqlite:${join(folder, 'data/content.db')}`;
  const nicknames = (url: string) => withDatabase(url, (db) => db.read('SELECT nickname FROM users'));

  test('the default database gets a demo, and a printed command that makes a key for it', async () => {
    const service = await startByDefault(folder);
    served.push(service);
    expect(service.output()).not.toContain('cgk_');
    expect(await nicknames(fileUrl())).toEqual([{ nickname: 'demo' }]);

    const [, command = ''] = /^npm run -s cli -- (keys create .*)$/m.exec(service.output()) ?? [];
    const { stdout: key } = await runCli(command.split(' '), { env: { DATABASE_URL: fileUrl() } });
    const client = openClient(service.base, key.trim());
    expect(await client.call('user.me', {})).toMatchObject({ status: 200 });
    client.close();
  });

  test('two that start at once make it once', async () => {
    served.push(...(await Promise.all([startByDefault(folder), startByDefault(folder)])));
    await withDatabase(fileUrl(), async (db) => {
      expect(await db.read('SELECT nickname FROM users')).toEqual([{ nickname: 'demo' }]);
      await expectExactCounts(db);
    });
    expect(served.filter((service) => service.output().includes('The database was empty'))).toHaveLength(1);
  });

  test('a database that somebody has named gets none', async () => {
    const database = await createDatabase();
    served.push(await startServe({ url: database.url }));
    expect(await nicknames(database.url)).toEqual([]);
    await Promise.all(served.splice(0).map((service) => service.stop()));
    await database.drop();
  });
});
