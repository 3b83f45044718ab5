/**
 * @engines sqlite server
 * @tier fault
 */
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import type { ErrorResponse } from '../../contract/index.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import { type Client, type Ending, openClient } from '../harness/app/client.ts';
import { connectionOptions, createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { startTurns, type Turns, turnsIn } from '../harness/faults/turns.ts';
import { until } from '../harness/until.ts';
import { type Gate, startGate } from '../harness/servers/gate.ts';
import { aKey, idIn } from '../harness/http/load.ts';
import { type Environment, type ServeProcess, startServe } from '../harness/app/program.ts';

// The database does not answer, or not all of it.

const TIMEOUT_MS = 3000;
/** More would be another deadline than that of a request. */
const LONGEST = 2 * turnsIn(TIMEOUT_MS);
/** The service answers callers that do not need the database before the others. */
const QUICK = turnsIn(TIMEOUT_MS) / 2;

let database: TestDatabase;
let gate: Gate;
let key: string;
let served: ServeProcess;
let client: Client;
let operator: Connection;
let turns: Turns;

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
/** What a call comes to, on a connection of its own, and in how many turns. */
const timed = async (id: ProcedureId, input: unknown, withKey?: string): Promise<{ ending: Ending; took: number }> => {
  const own = openClient(served.base, withKey);
  const at = performance.now();
  const ending = await own.call(id, input);
  own.close();
  return { ending, took: turns.between(at, performance.now()) };
};
const statusOf = async (path: string): Promise<number> => (await fetch(`${served.base}${path}`)).status;
const timedGet = async (path: string): Promise<{ status: number; took: number }> => {
  const at = performance.now();
  const status = await statusOf(path);
  return { status, took: turns.between(at, performance.now()) };
};

const onServers = (): void => {
  beforeEach(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    gate = await startGate(database.url);
    operator = await createConnection(connectionOptions(new URL(database.url)));
    turns = await startTurns();
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
  /** Resolves with after how many turns so many statements of the service wait. */
  const untilWaiting = async (pattern: RegExp, isEnough: (count: number) => boolean): Promise<number> => {
    const at = performance.now();
    await until(async () => isEnough(await waiting(pattern)), { withinMs: Number.POSITIVE_INFINITY, everyMs: 5 });
    return turns.between(at, performance.now());
  };

  test('when it falls silent, calls end in time, /readyz is red, /healthz green; then all works at once', async () => {
    await start();
    const id = idOf(await client.call('game.create', { title: 'a game' }));
    await Promise.all(Array.from({ length: 20 }, () => timed('game.getById', { id })));
    expect(await statusOf('/readyz')).toBe(200);
    gate.hold();
    const calls = [
      ...Array.from({ length: 30 }, () => timed('game.getById', { id })),
      ...Array.from({ length: 10 }, () => timed('user.me', {}, key)),
      ...Array.from({ length: 10 }, () => timed('game.create', { title: 'lost' }, key)),
    ];
    let isRed = false;
    const looking = timedGet('/readyz').finally(() => (isRed = true));
    expect(await statusOf('/healthz')).toBe(200);
    // It asks the database for nothing, so it comes before what does.
    expect(isRed).toBe(false);
    const ready = await looking;
    expect(ready.status).toBe(503);
    expect(ready.took).toBeLessThan(LONGEST);
    for (const { ending, took } of await Promise.all(calls)) {
      expect(['TIMEOUT', 'DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN']).toContain(reasonOf(ending));
      expect(took).toBeLessThan(LONGEST);
    }
    gate.open();
    const { ending, took } = await timed('game.getById', { id });
    expect(answered(ending).status).toBe(200);
    expect(took).toBeLessThan(QUICK);
    expect(await statusOf('/readyz')).toBe(200);
  });

  test('a locked table keeps nobody from the others', async () => {
    await start();
    const id = idOf(await client.call('game.create', { title: 'a game' }));
    expect(await statusOf('/readyz')).toBe(200);
    await operator.query('LOCK TABLES games WRITE');
    const stuck = Array.from({ length: 16 }, () => timed('game.getById', { id }));
    // The indexer may wait for the table, too, and longer.
    const theirs = /r\.like_count/;
    await untilWaiting(theirs, (count) => count > 0);
    const others = await Promise.all([
      timed('image.list', { limit: 10, page: 1 }),
      timed('user.me', {}, key),
      timed('user.search', { query: 'a', limit: 1 }, key),
    ]);
    for (const { ending, took } of others) {
      expect(answered(ending).status).toBe(200);
      expect(took).toBeLessThan(QUICK);
    }
    const ready = await timedGet('/readyz');
    expect(ready.status).toBe(200);
    expect(ready.took).toBeLessThan(QUICK);
    for (const { ending } of await Promise.all(stuck)) expect(reasonOf(ending)).toBe('TIMEOUT');
    await untilWaiting(theirs, (count) => count === 0);
    await operator.query('UNLOCK TABLES');
  });

  test('a row that is held answers in time, and nothing waits for it any more, nor when its caller left', async () => {
    await start();
    const gameId = idOf(await client.call('game.create', { title: 'a game' }));
    await operator.beginTransaction();
    await operator.query('UPDATE games SET title = title');
    const { ending, took } = await timed('game.toggleFavorite', { gameId }, key);
    expect(reasonOf(ending)).toBe('TIMEOUT');
    expect(took).toBeLessThan(LONGEST);
    expect(await untilWaiting(/games/, (count) => count === 0)).toBeLessThan(QUICK);

    const leaving = new AbortController();
    const left = fetch(`${served.base}/api/trpc/game.toggleFavorite`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
      body: JSON.stringify({ json: { gameId } }),
      signal: leaving.signal,
    }).catch(() => undefined);
    await untilWaiting(/games/, (count) => count > 0);
    leaving.abort();
    await left;
    expect(await untilWaiting(/games/, (count) => count === 0)).toBeLessThan(QUICK);
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
    // Whoever is answered here was heard after that call.
    expect(await statusOf('/healthz')).toBe(200);
    const asked = performance.now();
    const ended = once(served.child, 'exit');
    served.child.kill('SIGTERM');
    await ended;
    // It was given a second, and the call may take twenty.
    expect(turns.between(asked, performance.now())).toBeLessThan(turnsIn(6000));
    stuck.close();
    if (workers === '1')
      expect(served.log()).toMatch(/"changes":1,"msg":"buffered changes could not be stored, and are lost"/);
  });
};

const onSqlite = (): void => {
  test('/readyz and /healthz answer', async () => {
    database = await createDatabase();
    served = await startServe({ url: database.url });
    expect(await statusOf('/readyz')).toBe(200);
    expect(await statusOf('/healthz')).toBe(200);
    await served.stop();
    await database.drop();
  });
};

describe('the database', engine === 'sqlite' ? onSqlite : onServers);
