/**
 * @engines sqlite server
 * @tier timing
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { scopes } from '../../contract/index.ts';
import { createKey } from '../../src/auth/service.ts';
import { createUser } from '../../src/user/service.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import { openClient, reasonIn } from '../harness/app/client.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { storedGames, withDatabase } from '../harness/http/load.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';

// Ordinary concurrency is not refused, and one caller with many connections does not hold up another with one.

const SECONDS = 2;
const GREEDY = 128;

// Two processes share the machine with these callers; where a third one does, it is measured again.
jest.retryTimes(2, { logErrorsBeforeRetry: true });

let database: TestDatabase;
let served: ServeProcess;
let keys: string[];
let games: string[];

beforeAll(async () => {
  database = await createDatabase();
  keys = await withDatabase(database.url, async (db) => {
    await db.migrate();
    const now = new Date();
    const made: string[] = [];
    for (let n = 0; n < 17; n += 1) {
      const userId = await createUser(db, `caller ${n}`, now);
      made.push((await createKey(db, { userId, name: 'load', scopes, expiresAt: null }, now)).key);
    }
    return made;
  });
  const seeded = await runCli(['seed', '--games', '5000', '--images', '500', '--users', '100', '--random-seed', '1'], {
    env: { DATABASE_URL: database.url },
  });
  expect(seeded).toMatchObject({ code: 0 });
  games = [...(await storedGames(database.url))];
  served = await startServe({ url: database.url, env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off' } });
});
afterAll(async () => {
  await served.stop('SIGKILL');
  await database.drop();
});

type Call = (n: number) => [ProcedureId, unknown];

const words = ['moon', 'star', 'dragon', '伝説', 'の', 'ra', 'go', 'castle'];
const gameOf = (n: number): string => games[n % games.length]!;
const related: Call = (n) => ['game.getRelated', { gameId: gameOf(n) }];
const calls: Record<string, Call> = {
  'game.getRelated': related,
  'game.list with a search': (n) => ['game.list', { limit: 20, page: 1 + (n % 5), search: words[n % words.length] }],
  'game.list': (n) => ['game.list', { limit: 20, page: 1 + (n % 200) }],
  'game.create': (n) => ['game.create', { title: `crowd ${n}`, tagNames: ['popular', `tag ${n % 50}`] }],
  'game.toggleFavorite of one game': () => ['game.toggleFavorite', { gameId: gameOf(0) }],
};

/** Callers on one connection each, which ask again as soon as they are answered; counts their answers by reason. */
const ask = async (count: number, keyOf: (n: number) => string, call: Call, ms = SECONDS * 1000) => {
  const outcomes: Record<string, number> = {};
  const until = performance.now() + ms;
  const caller = async (n: number): Promise<void> => {
    const client = openClient(served.base, keyOf(n), { patienceMs: 20_000 });
    for (let round = 0; performance.now() < until; round += 1) {
      const reason = reasonIn(await client.call(...call(n + round * count)));
      outcomes[reason] = (outcomes[reason] ?? 0) + 1;
    }
    client.close();
  };
  await Promise.all(Array.from({ length: count }, (_, n) => caller(n)));
  return outcomes;
};

describe('of callers that ask again as soon as they are answered, nobody is refused', () => {
  test.each(Object.keys(calls))('by %s: 64 at once', async (name) => {
    const outcomes = await ask(64, (n) => keys[n % 16]!, calls[name]!);
    expect(Object.keys(outcomes)).toEqual(['ok']);
    // Less would be more than the service can do in a second.
    expect(outcomes['ok']).toBeGreaterThan(64 * SECONDS);
  });
});

describe(`beside a caller with ${GREEDY} connections that asks for related games`, () => {
  test.each<[string, Call]>([
    ['reads', (n) => ['game.getById', { id: gameOf(n) }]],
    ['lists', calls['game.list']!],
    ['writes', (n) => ['game.toggleFavorite', { gameId: gameOf(n) }]],
    ['asks for the same', related],
  ])('one with a single connection that %s is answered, and not refused', async (_, call) => {
    const greedy = ask(GREEDY, () => keys[0]!, related, (SECONDS + 1) * 1000);
    await sleep(1000);
    const outcomes = await ask(1, () => keys[16]!, call);
    await greedy;
    expect(Object.keys(outcomes)).toEqual(['ok']);
    // Behind the calls of the other it would be answered once or twice a second.
    expect(outcomes['ok']).toBeGreaterThan(5 * SECONDS);
  });
});
