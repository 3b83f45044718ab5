/**
 * @engines sqlite server
 * @tier timing
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import type { ErrorResponse } from '../../contract/index.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import { type Client, type Ending, openClient } from '../harness/app/client.ts';
import { connectionOptions, createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { type Gate, startGate } from '../harness/servers/gate.ts';
import { aKey, idIn } from '../harness/http/load.ts';
import { type Environment, type ServeProcess, startServe } from '../harness/app/program.ts';

// The database does not answer, or not all of it.

const TIMEOUT_MS = 1500;

let database: TestDatabase;
let gate: Gate;
let key: string;
let served: ServeProcess;
let client: Client;
let operator: Connection;

const start = async (env: Environment = {}): Promise<void> => {
  served = await startServe({
    url: gate.url,
    env: { LOG_LEVEL: 'warn', REQUEST_TIMEOUT_MS: String(TIMEOUT_MS), SHUTDOWN_TIMEOUT_MS: '1000', ...env },
  });
  client = openClient(served.base, key);
};

const answered = (ending: Ending): Extract<Ending, { kind: 'answered' }> => {
  if (ending.kind !== 'answered') throw new Error(`The connection failed: ${JSON.stringify(ending)}`);
  return ending;
};
const reasonOf = (ending: Ending): string =>
  (JSON.parse(answered(ending).text) as ErrorResponse).error.json.data.reason;
const idOf = (ending: Ending): string => idIn(answered(ending).text);
/** What a call comes to, on a connection of its own, and after how many milliseconds. */
const timed = async (id: ProcedureId, input: unknown, withKey?: string): Promise<{ ending: Ending; ms: number }> => {
  const own = openClient(served.base, withKey);
  const began = performance.now();
  const ending = await own.call(id, input);
  own.close();
  return { ending, ms: performance.now() - began };
};
const timedGet = async (path: string): Promise<{ status: number; ms: number }> => {
  const began = performance.now();
  const { status } = await fetch(`${served.base}${path}`);
  return { status, ms: performance.now() - began };
};

const onServers = (): void => {
  beforeEach(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    gate = await startGate(database.url);
    operator = await createConnection(connectionOptions(new URL(database.url)));
  });
  afterEach(async () => {
    client.close();
    gate.open();
    await served.stop('SIGKILL');
    await operator.end();
    await gate.close();
    await database.drop();
  });

  const waiting = async (pattern: RegExp): Promise<number> => {
    const [rows] = await operator.query<RowDataPacket[]>('SHOW FULL PROCESSLIST');
    const ours = rows.filter(
      ({ db, Id }) => db === new URL(database.url).pathname.slice(1) && Id !== operator.threadId,
    );
    return ours.filter(({ Info }) => pattern.test(String(Info))).length;
  };

  test('when it falls silent, calls end in time, /readyz is red, /healthz green; then all works at once', async () => {
    await start();
    const id = idOf(await client.call('game.create', { title: 'a game' }));
    await Promise.all(Array.from({ length: 20 }, () => timed('game.getById', { id })));
    expect((await timedGet('/readyz')).status).toBe(200);
    gate.hold();
    const calls = [
      ...Array.from({ length: 30 }, () => timed('game.getById', { id })),
      ...Array.from({ length: 10 }, () => timed('user.me', {}, key)),
      ...Array.from({ length: 10 }, () => timed('game.create', { title: 'lost' }, key)),
    ];
    await sleep(100);
    const ready = await timedGet('/readyz');
    expect(ready.status).toBe(503);
    expect(ready.ms).toBeLessThan(2000);
    const healthy = await timedGet('/healthz');
    expect(healthy.status).toBe(200);
    expect(healthy.ms).toBeLessThan(1000);
    for (const { ending, ms } of await Promise.all(calls)) {
      expect(['TIMEOUT', 'DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN']).toContain(reasonOf(ending));
      expect(ms).toBeLessThan(TIMEOUT_MS + 500);
    }
    gate.open();
    const { ending, ms } = await timed('game.getById', { id });
    expect(answered(ending).status).toBe(200);
    expect(ms).toBeLessThan(1000);
    expect((await timedGet('/readyz')).status).toBe(200);
  });

  test('a locked table keeps nobody from the others', async () => {
    await start();
    const id = idOf(await client.call('game.create', { title: 'a game' }));
    expect((await timedGet('/readyz')).status).toBe(200);
    await operator.query('LOCK TABLES games WRITE');
    const stuck = Array.from({ length: 16 }, () => timed('game.getById', { id }));
    // The indexer may wait for the table, too, and longer.
    const theirs = /r\.like_count/;
    while ((await waiting(theirs)) < 1) await sleep(10);
    const others = await Promise.all([
      timed('image.list', { limit: 10, page: 1 }),
      timed('user.me', {}, key),
      timed('user.search', { query: 'a', limit: 1 }, key),
    ]);
    for (const { ending, ms } of others) {
      expect(answered(ending).status).toBe(200);
      expect(ms).toBeLessThan(1000);
    }
    const ready = await timedGet('/readyz');
    expect(ready.status).toBe(200);
    expect(ready.ms).toBeLessThan(1000);
    for (const { ending } of await Promise.all(stuck)) expect(reasonOf(ending)).toBe('TIMEOUT');
    while ((await waiting(theirs)) > 0) await sleep(10);
    await operator.query('UNLOCK TABLES');
  });

  test('a row that is held answers in time, and nothing waits for it any more, nor when its caller left', async () => {
    await start();
    const gameId = idOf(await client.call('game.create', { title: 'a game' }));
    await operator.beginTransaction();
    await operator.query('UPDATE games SET title = title');
    const { ending, ms } = await timed('game.toggleFavorite', { gameId }, key);
    expect(reasonOf(ending)).toBe('TIMEOUT');
    expect(ms).toBeLessThan(TIMEOUT_MS + 500);
    const ended = performance.now();
    while ((await waiting(/games/)) > 0) await sleep(10);
    expect(performance.now() - ended).toBeLessThan(1000);

    const leaving = new AbortController();
    const left = fetch(`${served.base}/api/trpc/game.toggleFavorite`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
      body: JSON.stringify({ json: { gameId } }),
      signal: leaving.signal,
    }).catch(() => undefined);
    while ((await waiting(/games/)) === 0) await sleep(5);
    leaving.abort();
    await left;
    const gone = performance.now();
    while ((await waiting(/games/)) > 0) await sleep(10);
    expect(performance.now() - gone).toBeLessThan(1000);
    await operator.rollback();
    const { favoriteCount } = (
      JSON.parse(answered(await client.call('game.getById', { id: gameId })).text) as {
        result: { data: { json: { favoriteCount: number } } };
      }
    ).result.data.json;
    expect(favoriteCount).toBe(0);
  });

  test.each(['1', '2'])('SIGTERM while it is silent ends all in time, with %s workers', async (workers) => {
    await start({ WORKERS: workers, REQUEST_TIMEOUT_MS: '20000' });
    const id = idOf(await client.call('game.create', { title: 'a game' }));
    for (let view = 0; view < 5; view += 1) await client.call('game.getById', { id });
    gate.hold();
    const stuck = openClient(served.base);
    void stuck.call('game.getById', { id });
    await sleep(100);
    const asked = performance.now();
    const ended = once(served.child, 'exit');
    served.child.kill('SIGTERM');
    await ended;
    // One second more than it was given, and what a busy machine takes.
    expect(performance.now() - asked).toBeLessThan(3000);
    stuck.close();
    if (workers === '1')
      expect(served.log()).toMatch(/"changes":1,"msg":"buffered changes could not be stored, and are lost"/);
  });
};

const onSqlite = (): void => {
  test('/readyz and /healthz answer', async () => {
    database = await createDatabase();
    served = await startServe({ url: database.url });
    expect((await timedGet('/readyz')).status).toBe(200);
    expect((await timedGet('/healthz')).status).toBe(200);
    await served.stop();
    await database.drop();
  });
};

describe('the database', engine === 'sqlite' ? onSqlite : onServers);
