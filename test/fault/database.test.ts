/**
 * @engines sqlite server
 * @tier fault
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ErrorResponse } from '../../contract/index.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import { type Client, type Ending, openClient } from '../harness/app/client.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { type Proxy, startProxy } from '../harness/servers/proxy.ts';
import { holdWriteLock } from '../harness/servers/sqlite-lock.ts';

// The database goes away under the running service, and comes back.

let database: TestDatabase;
let key: string;
let served: ServeProcess;
let client: Client;

beforeEach(async () => {
  database = await createDatabase();
  key = await aKey(database.url);
});

const start = async (url: string): Promise<void> => {
  served = await startServe({ url, env: { LOG_LEVEL: 'error' } });
  client = openClient(served.base, key);
};

afterEach(async () => {
  client.close();
  await served.stop('SIGKILL');
  await database.drop();
});

const answered = (ending: Ending): Extract<Ending, { kind: 'answered' }> => {
  if (ending.kind !== 'answered') throw new Error(`The connection failed: ${JSON.stringify(ending)}`);
  return ending;
};

const reasonOf = (ending: Ending): string =>
  (JSON.parse(answered(ending).text) as ErrorResponse).error.json.data.reason;

/** Holds a refusal against its catalogue entry, and looks for what is nobody's business. */
const expectRefusal = (ending: Ending, ...reasons: string[]): void => {
  const { status, retryAfter, text } = answered(ending);
  expect(status).toBe(503);
  expect(reasons).toContain(reasonOf(ending));
  expect(retryAfter).toMatch(/^[1-9]\d*$/);
  expect(text).not.toMatch(
    /select|insert|update |\.[jt]s\b|node_modules|errno|econn|sqlite|mysql|mariadb|is locked|127\.0\.0\.1/i,
  );
};

const create = () => client.call('game.create', { title: 'a game', tagNames: ['a tag'] });
const idOf = (ending: Ending): string =>
  (JSON.parse(answered(ending).text) as { result: { data: { json: { id: string } } } }).result.data.json.id;

/** One call of each kind: reads and writes, with a key and without. */
const someCalls = (gameId: string): [ProcedureId, unknown][] => [
  ['game.list', { limit: 10, page: 1 }],
  ['game.getById', { id: gameId }],
  ['game.getTypeStats', {}],
  ['game.getRelated', { gameId }],
  ['user.me', {}],
  ['user.search', { query: 'a', limit: 1 }],
  ['game.create', { title: 'lost' }],
  ['game.toggleFavorite', { gameId }],
  ['user.updateProfile', { bio: 'lost' }],
];

const statusOf = (ending: Ending): number => answered(ending).status;

const onServers = (): void => {
  let proxy: Proxy;
  beforeEach(async () => {
    proxy = await startProxy(database.url);
    await start(proxy.url);
  });
  afterEach(() => proxy.cut().catch(() => undefined));

  test('every call is refused while it is away, and works when it is back', async () => {
    const id = idOf(await create());
    await proxy.cut();
    const anonymous = openClient(served.base);
    for (const [procedure, input] of someCalls(id)) {
      expectRefusal(await client.call(procedure, input), 'DATABASE_UNAVAILABLE');
    }
    expectRefusal(await anonymous.call('game.list', { limit: 10, page: 1 }), 'DATABASE_UNAVAILABLE');
    // What the database is not needed for works on.
    expect(statusOf(await client.get('/healthz'))).toBe(200);
    expect(statusOf(await client.get('/openapi.json'))).toBe(200);
    expect(reasonOf(await anonymous.call('user.me', {}))).toBe('KEY_MISSING');
    expectRefusal(await client.get('/readyz'), 'DATABASE_UNAVAILABLE');

    await proxy.restore();
    for (const [procedure, input] of someCalls(id)) expect(statusOf(await client.call(procedure, input))).toBe(200);
    expect(statusOf(await client.get('/readyz'))).toBe(200);
    anonymous.close();
    await withDatabase(database.url, async (db) => {
      expect(await db.read("SELECT 1 AS one FROM games WHERE title = 'lost'")).toEqual([{ one: 1 }]);
      await expectExactCounts(db);
    });
    expect(await served.stop()).toBe(0);
  });

  test('views that could not be stored are stored later', async () => {
    const id = idOf(await create());
    for (let view = 0; view < 5; view += 1) await client.call('game.getById', { id });
    await proxy.cut();
    // Longer than views wait.
    await sleep(1200);
    await proxy.restore();
    await client.call('game.getById', { id });
    expect(await served.stop()).toBe(0);
    await withDatabase(database.url, async (db) => {
      expect(await db.read('SELECT view_count FROM games')).toEqual([{ view_count: 6 }]);
    });
  });

  test('the service stops in order while it is away', async () => {
    await client.call('game.getById', { id: idOf(await create()) });
    await proxy.cut();
    expect(await served.stop()).toBe(0);
  });
};

const onSqlite = (): void => {
  beforeEach(() => start(database.url));

  test('while another process writes for long, writes are refused, and reads go on', async () => {
    const id = idOf(await create());
    const release = await holdWriteLock(database.url);
    const writer = openClient(served.base, key);
    const refused = [writer.call('game.create', { title: 'late' }), client.call('game.toggleFavorite', { gameId: id })];
    let isDone = false;
    void Promise.all(refused).then(() => (isDone = true));
    const reader = openClient(served.base, key);
    let reads = 0;
    while (!isDone) {
      expect(statusOf(await reader.get('/healthz'))).toBe(200);
      expect(statusOf(await reader.call('game.getById', { id }))).toBe(200);
      reads += 1;
      await sleep(20);
    }
    expect(reads).toBeGreaterThan(1);
    for (const ending of await Promise.all(refused)) expectRefusal(ending, 'OVERLOADED');

    await release();
    expect(statusOf(await create())).toBe(200);
    writer.close();
    reader.close();
    await withDatabase(database.url, expectExactCounts);
  });

  test('a write that another process holds up for a moment succeeds', async () => {
    const release = await holdWriteLock(database.url);
    const pending = create();
    await sleep(300);
    await release();
    expect(statusOf(await pending)).toBe(200);
  });
};

describe('the database', engine === 'sqlite' ? onSqlite : onServers);
