/**
 * @engines server
 * @tier fault
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { openClient, reasonIn } from '../harness/app/client.ts';
import { idToBytes } from '../../src/db/values.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { connectionOptions, createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { startProber } from '../harness/faults/prober.ts';
import { quantile } from '../harness/quantile.mjs';
import { until } from '../harness/until.ts';
import { startReaders } from '../harness/faults/readers.ts';
import { startTurns, turnsIn } from '../harness/faults/turns.ts';
import { audit, eachEnded, startWriters, strayOf } from '../harness/faults/writers.ts';
import { aKey, idIn, withDatabase } from '../harness/http/load.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';

// Another session of the database holds what callers want: a table, or a row.

/** The time limit of requests. The service answers callers that need no lock within it, on a busy machine too. */
const REQUEST_MS = 4000;
/** More would be another deadline than that of a request. */
const LONGEST = 2 * turnsIn(REQUEST_MS);
/** The service answers callers that need nothing locked long before the others. */
const QUICK = turnsIn(REQUEST_MS) / 4;
const BUSY = ['TIMEOUT', 'OVERLOADED', 'OUTCOME_UNKNOWN'];

let database: TestDatabase;
let key: string;
let served: ServeProcess;
let other: Connection;

const start = async (requestMs: number): Promise<void> => {
  served = await startServe({
    url: database.url,
    env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off', REQUEST_TIMEOUT_MS: String(requestMs) },
  });
};

beforeEach(async () => {
  database = await createDatabase();
  key = await aKey(database.url);
  await start(REQUEST_MS);
  other = await createConnection(connectionOptions(new URL(database.url)));
});
afterEach(async () => {
  await other.end();
  await served.stop('SIGKILL');
  await database.drop();
});

const call = async (procedure: Parameters<ReturnType<typeof openClient>['call']>[0], input: unknown) => {
  const client = openClient(served.base, key);
  const ending = await client.call(procedure, input);
  client.close();
  if (ending.kind !== 'answered' || ending.status !== 200) throw new Error(`${procedure}: ${JSON.stringify(ending)}`);
  return idIn(ending.text);
};

/** Locks a game's row, and no other, in a transaction of the other session. */
const hold = async (gameId: string): Promise<void> => {
  await other.query('START TRANSACTION');
  const sql = 'SELECT 1 FROM games WHERE id = ? FOR UPDATE';
  const [held] = await other.query<RowDataPacket[]>(sql, [idToBytes(gameId)]);
  expect(held).toHaveLength(1);
};

/** How many statements of the service's sessions run: where it has nothing else to do, they wait for a lock. */
const waitingStatements = async (): Promise<number> => {
  const [rows] = await other.query<RowDataPacket[]>('SHOW PROCESSLIST');
  const own = new URL(database.url).pathname.slice(1);
  return rows.filter(({ db, Command, Id }) => db === own && Command !== 'Sleep' && Id !== other.threadId).length;
};

/** The promise resolves when `isEnough` of the number of waiting statements. */
const untilWaiting = (isEnough: (count: number) => boolean): Promise<void> =>
  until(async () => isEnough(await waitingStatements()), { withinMs: Number.POSITIVE_INFINITY });

/** So many readers of games, each in a way of its own, or else they would be read once for all. */
const gameReaders = (count: number, gameId: string): Parameters<typeof startReaders>[1] =>
  Array.from({ length: count }, (_, n) => {
    const page = { limit: n + 1, page: 1 };
    return [
      { procedure: 'game.list' as const, input: { ...page, search: 'game' }, key },
      { procedure: 'game.list' as const, input: { ...page, tagSlugs: ['tag'] }, key },
      { procedure: 'game.getRelated' as const, input: { gameId, limit: 1 + (n % 24) }, key },
      { procedure: 'game.list' as const, input: { ...page, gameType: 'ADV', sortBy: 'views' }, key },
      { procedure: 'game.getById' as const, input: { id: gameId }, key },
    ][n % 5]!;
  });

const crowds = globalThis.TEST_ENGINE.name === 'mariadb' ? [8, 16, 64] : [64];

describe('a table that another session has locked', () => {
  test.each(crowds)('holds up %d readers of it, and nobody else', async (crowd) => {
    const userId = await call('user.me', {});
    const gameId = await call('game.create', { title: 'a game', tagNames: ['tag'], gameType: 'ADV' });
    const postId = await call('image.create', { title: 'a post', images: ['https://example.com/1.png'] });
    const turns = await startTurns();
    const free: Parameters<typeof startReaders>[1] = [
      { procedure: 'image.list', input: { limit: 20, page: 1 } },
      { procedure: 'image.getById', input: { id: postId } },
      { procedure: 'user.getProfile', input: { id: userId } },
      { procedure: 'user.me', input: {}, key },
      { procedure: 'user.search', input: { query: 'a', limit: 1 }, key },
    ];
    const others = startReaders(served.base, free);
    await other.query('LOCK TABLES games WRITE');
    const lockedAt = performance.now();
    const games = startReaders(served.base, gameReaders(crowd, gameId));
    const ready = startProber(`${served.base}/readyz`);
    await untilWaiting((count) => count > 3);
    await eachEnded(games.attempts, crowd, lockedAt, 2);
    const releasedAt = performance.now();
    await other.query('UNLOCK TABLES');
    const unlockedAt = performance.now();
    await eachEnded(games.attempts, crowd, unlockedAt, 5);
    await Promise.all([others.stop(), games.stop(), ready.stop()]);

    const during = (attempt: { at: number }) => attempt.at >= lockedAt && attempt.at < releasedAt;
    const affected = games.attempts.filter(during);
    const quick = others.attempts.filter(during);
    // The fault hit: nobody read games, and some waited for that as long as they may.
    const read = affected.filter(({ outcome, at, ms }) => outcome === 'ok' && at + ms < releasedAt);
    expect(read.map(({ procedure }) => procedure)).toEqual([]);
    expect(affected.map(({ outcome }) => outcome)).toContain('TIMEOUT');

    expect(strayOf(affected, ['ok', ...BUSY])).toEqual([]);
    expect(Math.max(...affected.map(turns.during))).toBeLessThan(LONGEST);
    // A machine that has too much to do refuses some, with the lock or without.
    expect(strayOf(quick, ['ok', 'OVERLOADED'])).toEqual([]);
    expect(quick.filter(({ outcome }) => outcome !== 'ok').length).toBeLessThan(quick.length / 20);
    // Each of the others was answered again and again before one deadline was over.
    for (const caller of free.keys()) {
      const own = quick.filter((one) => one.caller === caller).map(turns.during);
      expect(quantile(own, 0.9)).toBeLessThan(QUICK);
    }
    expect(ready.samples.filter(({ status }) => status !== 200)).toEqual([]);
    expect(quantile(ready.samples.filter(during).map(turns.during), 0.9)).toBeLessThan(QUICK);
    // Who asks again at once is a crowd, of which some are refused, with the lock or without.
    const after = games.attempts.filter(({ at }) => at > unlockedAt);
    const answered = after.filter(({ outcome }) => outcome === 'ok').map(({ procedure }) => procedure);
    expect(new Set(answered)).toEqual(new Set(games.attempts.map(({ procedure }) => procedure)));
    expect(strayOf(after, ['ok', 'OVERLOADED'])).toEqual([]);
  });
});

describe('a row that another session has locked', () => {
  test('makes those who write to it wait until their time is over, and nobody else', async () => {
    const gameId = await call('game.create', { title: 'held' });
    await hold(gameId);
    const writers = startWriters(served.base, key, { count: 4, obedient: false });
    const free = await Promise.all([1, 2, 3, 4].map((n) => call('game.create', { title: `free ${n}` })));
    const togglers = startReaders(
      served.base,
      free.map((id) => ({ procedure: 'game.toggleFavorite' as const, input: { gameId: id }, key })),
    );
    const turns = await startTurns();
    // More than there are connections to write on.
    const clients = Array.from({ length: 24 }, () => openClient(served.base, key, { patienceMs: 20_000 }));
    const heldAt = performance.now();
    const endings = await Promise.all(
      clients.map(async (client) => {
        const ending = await client.call('game.toggleFavorite', { gameId });
        return { reason: reasonIn(ending), at: heldAt, ms: performance.now() - heldAt };
      }),
    );
    const refusedAt = performance.now();
    // Of 24, none waits on after its caller was told.
    await untilWaiting((count) => count <= 5);
    const nothingAt = performance.now();
    await Promise.all([
      eachEnded(writers.attempts, 4, refusedAt, 1),
      eachEnded(togglers.attempts, 4, refusedAt, 1),
      other.query('COMMIT'),
    ]);
    await Promise.all([writers.stop(), togglers.stop()]);
    for (const client of clients) client.close();

    const checked = await audit(database.url, writers);
    expect([...new Set(endings.map(({ reason }) => reason))].filter((reason) => !BUSY.includes(reason))).toEqual([]);
    expect(endings.map(({ reason }) => reason)).toContain('TIMEOUT');
    expect(Math.max(...endings.map(turns.during))).toBeLessThan(LONGEST);
    expect(turns.between(refusedAt, nothingAt)).toBeLessThan(QUICK);
    // The others went on all the while: they meet the row in one group for each of those who wait for it, and for half a second.
    for (const attempts of [writers.attempts, togglers.attempts]) {
      expect(strayOf(attempts, ['ok'])).toEqual([]);
      const meanwhile = attempts.filter(({ at, ms }) => at >= heldAt && at + ms <= refusedAt);
      expect(meanwhile.length).toBeGreaterThan(endings.length);
      expect(Math.max(...meanwhile.map(turns.during))).toBeLessThan(LONGEST / 2);
    }
    expect(checked).toMatchObject({ lost: 0, duplicated: 0 });
    await withDatabase(database.url, expectExactCounts);
  });

  test('is not waited for any more, by the service or the database, once the caller has left', async () => {
    await served.stop();
    // Else it would wait as long as its caller might have.
    await start(30_000);
    const gameId = await call('game.create', { title: 'held' });
    await hold(gameId);
    const turns = await startTurns();
    const client = openClient(served.base, key);
    const left = client.call('game.toggleFavorite', { gameId });
    await untilWaiting((count) => count > 0);
    client.close();
    expect(reasonIn(await left)).toMatch(/^broken/);
    const leftAt = performance.now();
    await untilWaiting((count) => count === 0);
    const nothingAt = performance.now();
    await other.query('COMMIT');
    expect(turns.between(leftAt, nothingAt)).toBeLessThan(QUICK);
    const [rows] = await other.query<RowDataPacket[]>('SELECT 1 FROM game_favorites');
    expect(rows).toEqual([]);
    await withDatabase(database.url, expectExactCounts);
  });
});
