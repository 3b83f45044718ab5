/**
 * @engines server
 * @tier fault
 */
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ErrorResponse } from '../../contract/index.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import { type Client, type Ending, openClient, reasonIn } from '../harness/app/client.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { startTurns, type Turns, turnsIn } from '../harness/faults/turns.ts';
import { type Proxy, startProxy } from '../harness/servers/proxy.ts';
import { aKey, idIn } from '../harness/http/load.ts';
import { type Environment, type ServeProcess, startServe } from '../harness/app/program.ts';

// The database, or the network to it, falls silent.

const TIMEOUT_MS = 3000;
/** More would be another deadline than that of a request. */
const LONGEST = 2 * turnsIn(TIMEOUT_MS);
/** The service answers callers that do not need the database before the others. */
const QUICK = turnsIn(TIMEOUT_MS) / 2;

let database: TestDatabase;
let proxy: Proxy;
let key: string;
let served: ServeProcess;
let client: Client;
let turns: Turns;

const start = async (env: Environment = {}): Promise<void> => {
  served = await startServe({
    url: proxy.url,
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

describe('the database', () => {
  beforeEach(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    proxy = await startProxy(database.url);
    turns = await startTurns();
  });
  afterEach(async () => {
    client.close();
    proxy.thaw();
    await served.stop('SIGKILL');
    await proxy.close();
    await database.drop();
  });

  test('when it falls silent, calls end in time, /readyz is red, /healthz green; then all works at once', async () => {
    await start();
    const id = idOf(await client.call('game.create', { title: 'a game' }));
    await Promise.all(Array.from({ length: 20 }, () => timed('game.getById', { id })));
    expect(await statusOf('/readyz')).toBe(200);
    proxy.freeze();
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
    proxy.thaw();
    const { ending, took } = await timed('game.getById', { id });
    expect(answered(ending).status).toBe(200);
    expect(took).toBeLessThan(QUICK);
    expect(await statusOf('/readyz')).toBe(200);
  });

  test('when it answers 200 ms late, calls take longer, and all succeed', async () => {
    await start({ REQUEST_TIMEOUT_MS: '60000' });
    const began = performance.now();
    proxy.delayReplies(200);
    const ended = [];
    for (let round = 0; round < 3; round += 1) {
      const calls = [timed('game.list', { limit: 5, page: 1 }), timed('user.me', {}, key)];
      ended.push(...(await Promise.all([...calls, timed('game.create', { title: 'late' }, key)])));
    }
    proxy.delayReplies(0);
    expect(new Set(ended.map(({ ending }) => reasonIn(ending)))).toEqual(new Set(['ok']));
    expect(performance.now() - began).toBeGreaterThan(200);
  });

  test('when the network forgets each connection, calls on them end in time, and later ones succeed', async () => {
    await start();
    const id = idOf(await client.call('game.create', { title: 'a game' }));
    const callAll = () =>
      Promise.all([
        timed('game.list', { limit: 5, page: 1 }),
        timed('image.list', { limit: 5, page: 1 }),
        timed('user.me', {}, key),
        timed('game.toggleFavorite', { gameId: id }, key),
      ]);
    await callAll();
    expect(proxy.forget()).toBeGreaterThan(0);
    const reasons: string[][] = [];
    // A call knows that a connection is dead only when its time is over.
    for (let isOver = false; !isOver;) {
      const endings = await callAll();
      for (const { took } of endings) expect(took).toBeLessThan(LONGEST);
      const failed = endings.filter(({ ending }) => answered(ending).status !== 200);
      reasons.push(failed.map(({ ending }) => reasonOf(ending)));
      isOver = failed.length === 0;
      expect(reasons.length).toBeLessThanOrEqual(4);
    }
    // The fault hit.
    expect(reasons.flat()).toContain('TIMEOUT');
    expect(['TIMEOUT', 'OVERLOADED', 'DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN']).toEqual(
      expect.arrayContaining(reasons.flat()),
    );
  });

  test.each(['1', '2'])('SIGTERM while it is silent ends all in time, with %s workers', async (workers) => {
    await start({ WORKERS: workers, REQUEST_TIMEOUT_MS: '20000' });
    const id = idOf(await client.call('game.create', { title: 'a game' }));
    for (let view = 0; view < 5; view += 1) await client.call('game.getById', { id });
    proxy.freeze();
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
});
