import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Client, openClient } from '../support/client.ts';
import { expectExactCounts } from '../support/counts.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { aKey, startLoad, storedGames, withDatabase } from '../support/load.ts';
import { type Environment, type ServeProcess, startServe } from '../support/program.ts';

// The real program, told to stop, or killed, while it works.

const CLIENTS = 8;

let database: TestDatabase;
let key: string;
let served: ServeProcess;

beforeEach(async () => {
  database = await createDatabase();
  key = await aKey(database.url);
});
afterEach(async () => {
  await served.stop('SIGKILL');
  await database.drop();
});

const start = async (env: Environment = {}): Promise<ServeProcess> => {
  served = await startServe({ url: database.url, env: { LOG_LEVEL: 'info', ...env } });
  return served;
};

/** Sends a request up to the middle of its body, so that it stays under way. */
const startSlowRequest = async (base: string) => {
  const { hostname, port } = new URL(base);
  const body = '{"json":{"limit":1,"page":1}}';
  const socket = connect(Number(port), hostname);
  socket.write(
    [
      'POST /api/trpc/game.list HTTP/1.1',
      'Host: gateway',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      '',
      body.slice(0, 10),
    ].join('\r\n'),
  );
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
  const answered = once(socket, 'close').then(() => answer);
  // The service has to see it before it is told to stop.
  await sleep(100);
  return {
    /** Resolves with whatever was answered when the connection is closed. */
    answered,
    finish: () => socket.write(body.slice(10)),
  };
};

/** Tells the service to stop, and resolves when it accepts nothing more. */
const beginToStop = async ({ base, child }: ServeProcess): Promise<{ exited: Promise<unknown[]> }> => {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  while (!(await isGone(base))) await sleep(10);
  return { exited };
};

const isGone = async (base: string): Promise<boolean> => {
  const client = openClient(base);
  const { kind } = await client.get('/healthz');
  client.close();
  return kind === 'refused';
};

describe('SIGTERM', () => {
  test('under load breaks no request, and loses nothing that was answered', async () => {
    const { base, stop } = await start();
    const load = startLoad(base, key, CLIENTS);
    await load.reached(10 * CLIENTS);
    const asked = performance.now();
    expect(await stop()).toBe(0);
    expect(performance.now() - asked).toBeLessThan(5000);
    await load.done;

    // Whoever calls again after the answer that was the last finds nobody listening.
    const endings = load.endings.filter((ending) => ending.kind !== 'refused');
    expect(endings.filter((ending) => ending.kind !== 'answered' || ending.status !== 200)).toEqual([]);
    expect(load.endings.length - endings.length).toBe(CLIENTS);

    await start();
    const stored = await storedGames(database.url);
    expect([...stored].toSorted()).toEqual(load.published().toSorted());
    await withDatabase(database.url, expectExactCounts);
  });

  test('lets what is under way finish, though nothing new is accepted', async () => {
    const { base } = await start();
    const slow = await startSlowRequest(base);
    const { exited } = await beginToStop(served);
    slow.finish();
    const answer = await slow.answered;
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toMatch(/^Connection: close\r$/m);
    expect(answer).toMatch(/"nextCursor":null\}\}\}\}$/);
    expect(await exited).toEqual([0, null]);
  });

  test('answers what an open connection sends meanwhile, as its last', async () => {
    const { base } = await start();
    const client = openClient(base, key);
    expect(await client.call('user.me', {})).toMatchObject({ kind: 'answered', status: 200 });
    const slow = await startSlowRequest(base);
    const { exited } = await beginToStop(served);
    expect(await client.call('user.me', {})).toMatchObject({ kind: 'answered', status: 200 });
    expect(await client.call('user.me', {})).toMatchObject({ kind: 'refused' });
    slow.finish();
    expect(await exited).toEqual([0, null]);
  });

  test('cuts off after SHUTDOWN_TIMEOUT_MS what does not finish', async () => {
    const { base, output, stop } = await start({ SHUTDOWN_TIMEOUT_MS: '300' });
    const slow = await startSlowRequest(base);
    expect(await stop()).toBe(0);
    expect(await slow.answered).toBe('');
    expect(output()).toContain('cut off requests that took too long');
  });

  test('a second time ends the program at once', async () => {
    const { base, child } = await start();
    await startSlowRequest(base);
    const { exited } = await beginToStop(served);
    const asked = performance.now();
    child.kill('SIGTERM');
    expect(await exited).toEqual([null, 'SIGTERM']);
    expect(performance.now() - asked).toBeLessThan(1000);
  });

  test('stores the views and key uses in memory', async () => {
    const { base, stop } = await start();
    const client = openClient(base, key);
    const id = await publish(client);
    for (let view = 0; view < 20; view += 1) await client.call('game.getById', { id });
    client.close();
    expect(await stop()).toBe(0);
    await withDatabase(database.url, async (db) => {
      expect(await db.read('SELECT view_count FROM games')).toEqual([{ view_count: 20 }]);
      expect(await db.read('SELECT 1 FROM api_keys WHERE last_used_at IS NULL')).toEqual([]);
    });
  });
});

test('SIGINT stops alike', async () => {
  const { output, stop } = await start();
  expect(await stop('SIGINT')).toBe(0);
  expect(output()).toContain('"msg":"stopped"');
});

test('kill -9 under load loses nothing that was answered, and leaves every count exact', async () => {
  const { base, stop } = await start();
  const client = openClient(base, key);
  const hot = await publish(client);
  client.close();
  const load = startLoad(base, key, CLIENTS);
  const fan = toggleUntilRefused(base, hot);
  await load.reached(10 * CLIENTS);
  await stop('SIGKILL');
  await Promise.all([load.done, fan]);

  await start();
  const stored = await storedGames(database.url);
  const lost = load.published().filter((id) => !stored.has(id));
  expect(lost).toEqual([]);
  // Whatever was stored without an answer, each client can have had only one of it.
  expect(stored.size - 1 - load.published().length).toBeLessThanOrEqual(CLIENTS);
  await withDatabase(database.url, expectExactCounts);
});

const publish = async (client: Client): Promise<string> => {
  const ending = await client.call('game.create', { title: 'hot' });
  if (ending.kind !== 'answered' || ending.status !== 200) throw new Error(JSON.stringify(ending));
  return (JSON.parse(ending.text) as { result: { data: { json: { id: string } } } }).result.data.json.id;
};

const toggleUntilRefused = async (base: string, gameId: string): Promise<void> => {
  const client = openClient(base, key);
  let kind = '';
  while (kind !== 'refused') ({ kind } = await client.call('game.toggleFavorite', { gameId }));
  client.close();
};
