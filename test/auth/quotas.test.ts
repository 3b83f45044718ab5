/**
 * @engines sqlite
 * @tier fast
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mayKeepAnswer, sweepQuotas } from '../../src/auth/quotas.ts';
import { createKey } from '../../src/auth/service.ts';
import { DAILY_GAME_TYPES, DAILY_KEPT_ANSWERS, DAILY_TAGS } from '../../contract/index.ts';
import { type Input, startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { expectExactCounts } from '../harness/app/counts.ts';

// What a user may make only so many of in a day, whichever instance and by whichever key they ask.

let app: TestApp;
let now: Date;
let user: TestUser;
describe('daily quotas', () => {
  beforeEach(async () => {
    now = new Date('2026-04-01T21:30:00.000Z');
    app = await startApp({ now: () => now, rates: 'read=100000,anonymous=100000,write=100000,work=1000000' });
    user = await app.aUser();
  });
  afterEach(() => app.stop());

  const tags = (from: number, n: number): string[] => Array.from({ length: n }, (_, index) => `tag-${from + index}`);

  /** Games with so many tags, each of them new, from this one on. */
  const gamesWithTags = (from: number, n: number): Input<'game.batchCreate'> => ({
    games: Array.from({ length: Math.ceil(n / 20) }, (_, index) => ({
      title: `${index}`,
      tagNames: tags(from + 20 * index, Math.min(20, n - 20 * index)),
    })),
  });
  const gamesOfTypes = (from: number, n: number): Input<'game.batchCreate'> => ({
    games: Array.from({ length: n }, (_, index) => ({ title: 'x', gameType: `T${from + index}` })),
  });

  const count = async (sql: string): Promise<number> => {
    const [row] = await app.context.db.read<{ n: number }>(`SELECT COUNT(*) AS n FROM ${sql}`);
    return row?.n ?? -1;
  };

  const UNTIL_MIDNIGHT_S = 2.5 * 3600;

  test('the bytes of kept answers: to the last one', async () => {
    const keep = (bytes: number): Promise<boolean> =>
      app.context.db.transaction((tx) => mayKeepAnswer(tx, { userId: user.id, now }, bytes));
    expect([await keep(DAILY_KEPT_ANSWERS - 2), await keep(3), await keep(2), await keep(1)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  test('creations that meet count for their own users', async () => {
    const other = await app.aUser();
    await app.call('game.batchCreate', gamesWithTags(0, 3), user.key);
    // As if the others had been made today.
    await app.context.db.transaction((tx) =>
      tx.execute("UPDATE key_quotas SET n = ? WHERE what = 'tags'", [DAILY_TAGS]),
    );
    const create = (tagNames: string[], { key }: TestUser) =>
      app.send('game.create', { title: 'meeting', tagNames }, key);
    const replies = await Promise.all([
      create(tags(0, 2), user),
      create(tags(1e6, 2), other),
      create(tags(2e6, 1), user),
      create(tags(0, 3), user),
      create(tags(3e6, 1), other),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429, 200, 200]);
    expect(await count('tags')).toBe(3 + 3);
    await expectExactCounts(app.context.db);
  });

  test('creations that meet and make tags are counted for the user who came first, and stored together', async () => {
    const authors = await Promise.all(Array.from({ length: 8 }, () => app.aUser()));
    let transactions = 0;
    const { db } = app.context;
    const original = db.transaction;
    db.transaction = ((...given: never[]) => {
      transactions += 1;
      return Reflect.apply(original, db, given) as unknown;
    }) as never;
    const replies = await Promise.all(
      authors.map(({ key }, n) => app.send('game.create', { title: 'x', tagNames: ['of all', `own ${n}`] }, key)),
    );
    db.transaction = original;
    expect(replies.map(({ status }) => status)).toEqual(authors.map(() => 200));
    expect(transactions).toBeLessThan(authors.length);
    const made = await db.read<{ n: number }>("SELECT n FROM key_quotas WHERE what = 'tags' ORDER BY n");
    expect(made.map(({ n }) => n)).toEqual([1, 1, 1, 1, 1, 1, 1, 2]);
    await expectExactCounts(db);
  });

  test('the tags: to the last one, and no more until midnight', async () => {
    for (let made = 0; made < DAILY_TAGS - 10; made += 2000) {
      await app.call('game.batchCreate', gamesWithTags(made, Math.min(2000, DAILY_TAGS - 10 - made)), user.key);
    }
    const refused = await app.send('game.create', { title: 'x', tagNames: tags(1e6, 11) }, user.key);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, String(UNTIL_MIDNIGHT_S)]);
    expect(refused.body.error.json.data).toMatchObject({
      reason: 'QUOTA_EXCEEDED',
      hint: `A user may make ${DAILY_TAGS} new tags a day. This one has made ${DAILY_TAGS - 10}, and would make 11 more. The next day begins at midnight UTC, in 3 hours.`,
    });
    expect(await count('tags')).toBe(DAILY_TAGS - 10);
    expect(await count("games WHERE title = 'x'")).toBe(0);

    const post = await app.anImagePost({ tagNames: tags(2e6, 5) }, user);
    await app.call('image.update', { id: post.id, tagNames: [...tags(2e6, 3), ...tags(3e6, 5)] }, user.key);
    const image = { title: 'x', images: ['https://images.example.com/1.webp'], tagNames: ['one more'] };
    const game = await app.aGame({}, user);
    for (const [id, input] of [
      ['image.update', { id: post.id, tagNames: ['one more'] }],
      ['game.update', { id: game.id, tagNames: ['one more'] }],
      ['image.create', image],
      ['image.batchCreate', { posts: [image] }],
    ] as const) {
      const { reason } = (await app.fail(id, input, 429, user.key)).data;
      expect(reason).toBe('QUOTA_EXCEEDED');
    }
    expect(await count('tags')).toBe(DAILY_TAGS);
    // Those that there are may be used by anyone, and new ones be made by others.
    await app.aGame({ tagNames: tags(0, 20) }, user);
    await app.aGame({ tagNames: ['one more'] });
    await expectExactCounts(app.context.db);

    now = new Date('2026-04-02T00:00:00.000Z');
    await app.aGame({ tagNames: ['tomorrow'] }, user);
  });

  test('new types of games are counted in batches and one by one, and refused beyond the quota', async () => {
    await app.call('game.batchCreate', gamesOfTypes(0, 100), user.key);
    await app.call('game.batchCreate', gamesOfTypes(50, 100), user.key);
    const { id } = await app.aGame({}, user);
    await app.fail('game.batchCreate', gamesOfTypes(150, 51), 429, user.key);
    await app.call('game.batchCreate', gamesOfTypes(150, 49), user.key);
    await app.call('game.update', { id, gameType: 't199' }, user.key);
    await app.fail('game.update', { id, gameType: 'new' }, 429, user.key);
    const { data } = await app.fail('game.create', { title: 'x', gameType: 'new' }, 429, user.key);
    expect(data.hint).toContain(`A user may make ${DAILY_GAME_TYPES} new types of games a day.`);
    expect(await count("counters WHERE name LIKE 'games:T%'")).toBe(DAILY_GAME_TYPES);
    await app.aGame({ gameType: 't7' }, user);
    await app.aGame({ gameType: 'new' });
    await app.aGame({ gameType: 'new' }, user);
    await expectExactCounts(app.context.db);
  });

  describe('a day’s count', () => {
    const quotas = () =>
      app.context.db.read<{ what: string; day: string; n: number }>(
        'SELECT what, day, n FROM key_quotas ORDER BY what',
      );

    test('is exact, however many write at once', async () => {
      await Promise.all(
        Array.from({ length: 20 }, (_, n) => app.aGame({ gameType: `T${n % 5}`, tagNames: tags(n % 4, 10) }, user)),
      );
      expect(await quotas()).toEqual([
        { what: 'game types', day: '2026-04-01', n: 5 },
        { what: 'tags', day: '2026-04-01', n: 13 },
      ]);
      await expectExactCounts(app.context.db);
    });

    test('lets exactly so many through, however many write at once', async () => {
      const posts = Array.from({ length: 10 }, (_, n) =>
        app.send('game.batchCreate', gamesOfTypes(30 * n, 30), user.key),
      );
      const statuses = (await Promise.all(posts)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(6);
      expect(statuses.filter((status) => status === 429)).toHaveLength(4);
      expect(await count("counters WHERE name LIKE 'games:T%'")).toBe(180);
    });

    test('holds nothing where nothing new is made', async () => {
      await app.aGame({ gameType: 'RPG', tagNames: ['a'] });
      const before = await quotas();
      await app.aGame({ gameType: 'rpg', tagNames: ['A'] }, user);
      await app.aGame({}, user);
      expect(await quotas()).toEqual(before);
    });

    test('is that of all keys of a user together', async () => {
      const wanted = { userId: user.id, name: 'another', scopes: ['content:write'], expiresAt: null } as const;
      const keys = await Promise.all([1, 2, 3, 4].map(() => createKey(app.context.db, wanted, now)));
      const create = (n: number, input: object) => app.send('game.create', { title: 'x', ...input }, keys[n]!.key);
      await Promise.all([0, 1, 2].map((n) => create(n, { gameType: `T${n}`, tagNames: tags(9 * n, 9) })));
      expect(await quotas()).toEqual([
        { what: 'game types', day: '2026-04-01', n: 3 },
        { what: 'tags', day: '2026-04-01', n: 27 },
      ]);
      await app.context.db.transaction((tx) =>
        tx.execute("UPDATE key_quotas SET n = ? WHERE what = 'game types'", [DAILY_GAME_TYPES]),
      );
      expect((await create(3, { gameType: 'new' })).status).toBe(429);
    });

    test('is swept when nobody can be in that day any more, whoever made it', async () => {
      await app.aGame({ gameType: 'RPG', tagNames: ['a'] }, user);
      const sweep = (): Promise<boolean> => sweepQuotas(app.context.db.background, now);
      now = new Date('2026-04-02T12:00:00.000Z');
      await sweep();
      expect(await quotas()).toHaveLength(2);
      await app.aGame({ tagNames: ['b'] }, user);
      now = new Date('2026-04-03T12:00:00.000Z');
      expect(await sweep()).toBe(false);
      expect(await quotas()).toEqual([{ what: 'tags', day: '2026-04-02', n: 1 }]);
    });
  });
});
