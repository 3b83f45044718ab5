/**
 * @engines server vitess
 * @tier fault
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ProcedureId } from '../harness/app/app.ts';
import { type Client, type Ending, openClient, reasonIn } from '../harness/app/client.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { type LostCommits, lostCommits } from '../harness/faults/lost-commit.ts';
import { noteResult } from '../harness/faults/results.ts';
import { audit, outcomesOf, startTogglers, startWriters } from '../harness/faults/writers.ts';
import { aKey, idIn, withDatabase } from '../harness/http/load.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { type Proxy, startProxy } from '../harness/servers/proxy.ts';

// A write is done, and the word of it is lost: between the database and the service, or between the service and its caller.

let database: TestDatabase;
let key: string;
let served: ServeProcess;
let toDatabase: Proxy;
let toService: Proxy;
let commits: LostCommits;
let client: Client;
let gameId: string;
let postId: string;

describe('outcome of a commit', () => {
  beforeAll(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    toDatabase = await startProxy(database.url);
    commits = lostCommits();
    toDatabase.watch(commits.watch);
    served = await startServe({
      url: toDatabase.url,
      env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off', REQUEST_TIMEOUT_MS: '3000' },
    });
    toService = await startProxy(served.base);
  });
  afterAll(async () => {
    await served.stop('SIGKILL');
    await toService.close();
    await toDatabase.close();
    await database.drop();
  });

  beforeEach(async () => {
    toService.watch(undefined);
    client = openClient(toService.url, key, { patienceMs: 10_000 });
    gameId = idIn(textOf(await client.call('game.create', { title: 'a game' })));
    postId = idIn(
      textOf(await client.call('image.create', { title: 'a post', images: ['https://example.com/1.png'] })),
    );
  });
  afterEach(() => client.close());

  const textOf = (ending: Ending): string => {
    if (ending.kind !== 'answered' || ending.status !== 200) throw new Error(JSON.stringify(ending));
    return ending.text;
  };

  let written = 0;
  /** What nobody has written before. */
  const aText = (): string => `written ${(written += 1)}`;

  /** One call of each operation that writes, whose effect can be seen. */
  const writes: [ProcedureId, () => unknown][] = [
    ['game.create', () => ({ title: aText(), tagNames: ['tag'] })],
    ['game.batchCreate', () => ({ games: [{ title: aText() }, { title: aText() }] })],
    ['game.toggleFavorite', () => ({ gameId })],
    ['game.toggleReaction', () => ({ gameId, type: 'like' })],
    ['image.create', () => ({ title: aText(), images: ['https://example.com/2.png'] })],
    ['image.batchCreate', () => ({ posts: [{ title: aText(), images: ['https://example.com/2.png'] }] })],
    ['image.update', () => ({ id: postId, title: aText() })],
    ['image.toggleFavorite', () => ({ imagePostId: postId })],
    ['image.toggleReaction', () => ({ imagePostId: postId, type: 'dislike' })],
    ['user.updateProfile', () => ({ bio: aText() })],
    ['user.updateAvatar', () => ({ avatar: `/${aText().replace(' ', '-')}.png` })],
  ];

  /** What is stored, in numbers: done once, each write changes them in one way. */
  const stored = () =>
    withDatabase(database.url, async (db) => {
      const count = async (from: string) => (await db.read<{ n: number }>(`SELECT COUNT(*) AS n FROM ${from}`))[0]?.n;
      await expectExactCounts(db);
      return {
        games: await count('games'),
        posts: await count('image_posts'),
        favorites: [await count('game_favorites'), await count('image_post_favorites')],
        reactions: [await count('game_reactions'), await count('image_post_reactions')],
        // What is changed, and how often.
        changed: await db.read('SELECT title FROM image_posts ORDER BY id'),
        profile: await db.read('SELECT bio, avatar FROM users'),
      };
    });

  /** Has the answer to the next COMMIT be lost. Returns how many were. */
  const loseNextCommit = (): (() => number) => {
    const before = commits.lost();
    commits.lose(1);
    return () => commits.lost() - before;
  };

  /** Has the reply to the next request be lost between the service and its caller, who sees the connection break. */
  const loseNextAnswer = (): (() => number) => {
    let lost = 0;
    // On a new connection, which nothing has broken yet.
    client.close();
    client = openClient(toService.url, key, { patienceMs: 10_000 });
    toService.watch(() => ({
      request: () => undefined,
      reply: (_chunk, lose) => {
        if (lost > 0) return;
        lost += 1;
        lose();
      },
    }));
    return () => lost;
  };

  describe('when the database’s answer to a commit is lost', () => {
    test.each(writes)('%s says that its outcome is unknown', async (procedure, input) => {
      const before = await stored();
      const lost = loseNextCommit();
      const ending = await client.call(procedure, input());
      expect(lost()).toBe(1);
      expect(reasonIn(ending)).toBe('OUTCOME_UNKNOWN');
      expect(ending).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^[1-9]\d*$/) });
      // It is done, in fact.
      expect(await stored()).not.toEqual(before);
    });

    test.each(writes)('%s, repeated with its Idempotency-Key, has one effect', async (procedure, input) => {
      const headers = { 'Idempotency-Key': randomUUID() };
      const body = input();
      const before = await stored();
      const lost = loseNextCommit();
      const first = await client.call(procedure, body, headers);
      expect(lost()).toBe(1);
      const done = await stored();
      expect(done).not.toEqual(before);
      const second = await client.call(procedure, body, headers);
      const answer = textOf(second);
      expect(await stored()).toEqual(done);
      // Either the service found out by itself, and it is the first answer; or it says so, and replays.
      if (reasonIn(first) === 'ok') expect(first).not.toHaveProperty('headers.idempotency-replayed');
      else expect(reasonIn(first)).toBe('OUTCOME_UNKNOWN');
      expect(second).toMatchObject({ headers: { 'idempotency-replayed': 'true' } });
      expect(textOf(await client.call(procedure, body, headers))).toBe(answer);
      expect(await stored()).toEqual(done);
    });
  });

  test('apiKey.create shows its secret, though the database’s answer to its commit is lost', async () => {
    const lost = loseNextCommit();
    const ending = await client.call(
      'apiKey.create',
      { name: aText(), scopes: ['user:read'] },
      { 'Idempotency-Key': randomUUID() },
    );
    expect(lost()).toBe(1);
    expect(textOf(ending)).toMatch(/"secret":"cgk_/);
  });

  test.each(writes)('%s whose answer never arrived, repeated, has one effect', async (procedure, input) => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const body = input();
    const before = await stored();
    const lost = loseNextAnswer();
    const first = await client.call(procedure, body, headers);
    expect(lost()).toBe(1);
    expect(['broken', 'half']).toContain(first.kind);
    const done = await stored();
    expect(done).not.toEqual(before);
    const second = await client.call(procedure, body, headers);
    textOf(second);
    expect(second).toMatchObject({ headers: { 'idempotency-replayed': 'true' } });
    expect(await stored()).toEqual(done);
  });

  test('callers that obey lose and double nothing, however often connections break', async () => {
    const lost = loseNextCommit();
    const writers = startWriters(toService.url, key, { count: 16, obedient: true });
    const togglers = await startTogglers(toService.url, key, { count: 4, obedient: true });
    await writers.succeeded(50);
    let [broken, rounds] = [0, 0];
    while (rounds < 30 || broken <= 20 || lost() <= 3) {
      await sleep(20 + Math.random() * 300);
      rounds += 1;
      const what = rounds % 3;
      if (what === 0) broken += toDatabase.breakAll();
      else if (what === 1) broken += toService.breakAll();
      else commits.lose(2);
    }
    await writers.succeeded(50);
    await Promise.all([writers.stop(), togglers.stop()]);

    const checked = await audit(database.url, writers, togglers);
    const outcomes = outcomesOf([...writers.attempts, ...togglers.attempts]);
    noteResult({
      fault: 'connections cut at random, on both sides, and answers to commits lost',
      rounds,
      load: '16 writers, 4 togglers, with Idempotency-Key',
      ...checked,
      seen: Object.entries(outcomes)
        .map(([outcome, count]) => `${outcome} ${count}`)
        .join(', '),
    });
    expect(Object.keys(outcomes).length).toBeGreaterThan(1);
    expect(checked).toMatchObject({ histories: [], lost: 0, duplicated: 0, unacknowledged: 0 });
    await withDatabase(database.url, expectExactCounts);
  });
});
