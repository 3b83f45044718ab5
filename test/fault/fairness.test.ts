/**
 * @engines sqlite server
 * @tier fault
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { scopes } from '../../contract/index.ts';
import { createKey } from '../../src/auth/service.ts';
import { createUser } from '../../src/user/service.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import { openClient, reasonIn } from '../harness/app/client.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { storedGames, withDatabase } from '../harness/http/load.ts';
import { quantile } from '../harness/quantile.mjs';
import { until } from '../harness/until.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';

// Ordinary concurrency is not refused, and one caller with many connections does not hold up another with one.

const GREEDY = 128;
/** How often the one with a single connection asks. */
const LONE = 20;

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
  served = await startServe({
    url: database.url,
    // However busy the machine is, 64 calls end within that.
    env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off', MAX_QUEUE_MS: '30000', REQUEST_TIMEOUT_MS: '120000' },
  });
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

/** Callers on one connection each, which ask again as soon as they are answered, until `isDone`; each answer is told. */
const ask = async (
  count: number,
  keyOf: (n: number) => string,
  call: Call,
  isDone: (round: number) => boolean,
  onAnswer: (reason: string) => void,
): Promise<void> => {
  const caller = async (n: number): Promise<void> => {
    const client = openClient(served.base, keyOf(n), { patienceMs: 60_000 });
    for (let round = 0; !isDone(round); round += 1) onAnswer(reasonIn(await client.call(...call(n + round * count))));
    client.close();
  };
  await Promise.all(Array.from({ length: count }, (_, n) => caller(n)));
};

describe('of callers that ask again as soon as they are answered, nobody is refused', () => {
  test.each(Object.keys(calls))('by %s: 64 at once', async (name) => {
    const reasons = new Set<string>();
    await ask(
      64,
      (n) => keys[n % 16]!,
      calls[name]!,
      (round) => round === 5,
      (reason) => reasons.add(reason),
    );
    expect([...reasons]).toEqual(['ok']);
  });
});

describe(`beside a caller with ${GREEDY} connections that asks for related games`, () => {
  test.each<[string, Call]>([
    ['reads', (n) => ['game.getById', { id: gameOf(n) }]],
    ['lists', calls['game.list']!],
    ['writes', (n) => ['game.toggleFavorite', { gameId: gameOf(n) }]],
    ['asks for the same', related],
  ])('one with a single connection that %s is answered between few answers to the other', async (_, call) => {
    let [greedyAnswers, isOver] = [0, false];
    const greedy = ask(
      GREEDY,
      () => keys[0]!,
      related,
      () => isOver,
      () => (greedyAnswers += 1),
    );
    await until(() => greedyAnswers >= GREEDY, { withinMs: Number.POSITIVE_INFINITY });
    const reasons = new Set<string>();
    const between: number[] = [];
    let before = greedyAnswers;
    await ask(
      1,
      () => keys[16]!,
      call,
      (round) => round === LONE,
      (reason) => {
        reasons.add(reason);
        between.push(greedyAnswers - before);
        before = greedyAnswers;
      },
    );
    isOver = true;
    await greedy;
    expect([...reasons]).toEqual(['ok']);
    // Behind all that the other asks for, there would be as many as it has connections, and for a write as many for each of its
    // statements. With fair turns, the median of writes was 30 to 59 on two cores.
    expect(quantile(between, 0.5)).toBeLessThan((2 * GREEDY) / 3);
  });
});
