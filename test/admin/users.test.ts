/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createUser as createUserRow } from '../../src/user/service.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { operatorOf } from '../harness/app/operator.ts';
import { withDatabase } from '../harness/http/load.ts';

let database: TestDatabase;

describe('users command', () => {
  beforeAll(async () => {
    database = await createDatabase();
    await ran('migrate');
  });

  afterAll(() => database.drop());

  const ID = '[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}';
  const TIME = String.raw`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z`;

  interface ListedUser {
    id: string;
    nickname: string;
    createdAt: string;
  }

  const { cli, ran, json } = operatorOf(() => database.url);

  const createUser = async (nickname: string): Promise<string> => {
    const { code, stdout, stderr } = await cli('users', 'create', '--nickname', nickname);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };

  const listUsers = (): Promise<ListedUser[]> => json<ListedUser>('users', 'list');

  test('the list of no users is empty', async () => {
    expect(await cli('users', 'list')).toEqual({ code: 0, stdout: 'ID  CREATED  NICKNAME\n', stderr: '' });
    expect(await cli('users', 'list', '--json')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('create prints the id alone, and the list shows the users from the oldest', async () => {
    const before = new Date();
    const printed = [await createUser('まる'), await createUser('Ana Ñandú')];
    const after = new Date();

    expect(printed.join('')).toMatch(new RegExp(`^(${ID}\n){2}$`));
    const users = (await listUsers()).filter(({ id }) => printed.includes(`${id}\n`));
    expect(users).toEqual([
      { id: printed[0]?.trim(), nickname: 'まる', createdAt: expect.stringMatching(new RegExp(`^${TIME}$`)) },
      { id: printed[1]?.trim(), nickname: 'Ana Ñandú', createdAt: expect.stringMatching(new RegExp(`^${TIME}$`)) },
    ]);
    for (const { createdAt } of users) {
      expect(new Date(createdAt) >= before && new Date(createdAt) <= after).toBe(true);
    }

    const stdout = await ran('users', 'list');
    const rows = users.map(({ id, createdAt, nickname }) => `${id}  ${createdAt}  ${nickname}`);
    expect(stdout.split('\n')[0]).toBe(`${'ID'.padEnd(36)}  ${'CREATED'.padEnd(24)}  NICKNAME`);
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(rows));
  });

  test('a nickname has up to 50 characters, of which each counts as one', async () => {
    const nickname = '🐉'.repeat(50);
    const id = await createUser(nickname);

    expect(await listUsers()).toContainEqual({ id: id.trim(), nickname, createdAt: expect.any(String) });
  });

  test.each(['a\u001B[2Jb', 'a\nb', 'c\u202Ed'])('a nickname is one line: %j', async (nickname) => {
    const { code, stdout, stderr } = await cli('users', 'create', '--nickname', nickname);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/--nickname[^]* must be one line without .*: it holds U\+(001B|000A|202E)\.$/m);
  });

  test('a nickname of old cannot command the terminal', async () => {
    const nickname = 'a\u001B[2Jb\nc\u202Ed\u009F';
    const id = await withDatabase(database.url, (db) => createUserRow(db, nickname, new Date()));

    const stdout = await ran('users', 'list');
    expect(
      stdout
        .split('\n')
        .find((line) => line.startsWith(id))
        ?.split('  ')[2],
    ).toBe(String.raw`a\u001b[2Jb\u000ac\u202ed\u009f`);
    expect(await ran('users', 'list', '--json')).toContain(String.raw`"nickname":"a\u001b[2Jb\nc\u202ed\u009f"`);
    expect(await listUsers()).toContainEqual({ id, nickname, createdAt: expect.any(String) });
  });

  test('are found by a part of the nickname in any case and width, and one is shown by the whole of it', async () => {
    const [one, other] = [await createUser('ＳＥＥＫ１'), await createUser('Seek 2')];
    const found = async (text: string): Promise<string[]> =>
      (await json<ListedUser>('users', 'list', '--search', text)).map(({ id }) => id);
    expect(await found('sEEk')).toEqual([one.trim(), other.trim()]);
    expect(await found('seek1')).toEqual([one.trim()]);
    expect(await found('seek%')).toEqual([]);
    expect(await json('users', 'show', 'Seek 2')).toMatchObject([{ id: other.trim(), nickname: 'Seek 2', games: 0 }]);
    expect((await cli('users', 'show', 'Seek')).code).toBe(1);
  });
});
