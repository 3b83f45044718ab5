/**
 * @engines all
 * @tier fast
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { systemActor } from '../../src/auth/audit/log.ts';
import { suspendUser } from '../../src/admin/moderation/users.ts';
import { gameKind } from '../../src/game/kind.ts';
import { gameDraft } from '../../src/game/service.ts';
import { storeLastUses } from '../../src/auth/service.ts';
import { idFromBytes, storedIdToBytes, timeFromDb } from '../../src/db/values.ts';
import { Toggles } from '../../src/content/engagement/service.ts';
import { callOf } from '../harness/app/call.ts';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { engine } from '../harness/app/database.ts';
import { isReplay, repeating } from '../harness/documents/repeating.ts';

// How writes are stored: in few statements, in one order of locks.

let app: TestApp;
let users: TestUser[];

describe('writes', () => {
  beforeAll(async () => {
    app = await startApp();
    users = await Promise.all(Array.from({ length: 8 }, () => app.aUser()));
  });
  afterAll(() => app.stop());
  afterEach(() => expectExactCounts(app.context.db));

  /** The state of a toggle, as a view of its own. */
  const asIs = <T>(state: T): T => state;

  const IMAGES = ['https://images.example.com/1.webp'];

  /** The transactions that `work` runs, each as its statements, but for those that store what was buffered. */
  const transactionsOf = async (work: () => Promise<unknown>): Promise<string[][]> => {
    const { db } = app.context;
    const transactions: string[][] = [];
    const original = db.transaction;
    db.transaction = (inner) =>
      original.call(db, (tx) => {
        const statements: string[] = [];
        transactions.push(statements);
        return inner({
          ...tx,
          read: (sql, parameters) => {
            statements.push(sql);
            return tx.read(sql, parameters);
          },
          execute: (sql, parameters) => {
            statements.push(sql);
            return tx.execute(sql, parameters);
          },
        });
      }) as never;
    try {
      await work();
    } finally {
      db.transaction = original;
    }
    return transactions.filter(([first = '']) => !/view_count =|SET last_used_at/.test(first));
  };

  describe('what is answered is what is read', () => {
    test('of games, with everything and with nothing', async () => {
      const inputs = [
        {
          title: '  spaces kept  ',
          description: '説明 🎮',
          coverUrl: 'https://images.example.com/c.webp',
          gameType: 'rpg',
          isFree: false,
          version: 'Ver1.0',
          tagNames: ['One', 'two', 'ONE', '三'],
          extraInfo: { originalName: '原題', originalAuthor: '作者', platforms: ['Windows'] },
        },
        { title: 'bare' },
      ];
      const { items } = await app.call('game.batchCreate', { games: inputs }, users[0]!.key);
      for (const item of items) expect(await app.call('game.getById', { id: item.id }, users[0]!.key)).toEqual(item);
    });

    test('of image posts', async () => {
      const { items } = await app.call(
        'image.batchCreate',
        {
          posts: [
            { title: 'a', images: IMAGES, tagNames: ['One'], description: 'b' },
            { title: 'c', images: IMAGES },
          ],
        },
        users[0]!.key,
      );
      for (const item of items) expect(await app.call('image.getById', { id: item.id }, users[0]!.key)).toEqual(item);
    });
  });

  describe('round trips', () => {
    // SQLite cannot change two tables by one statement, and has no trips to save.
    const together = engine === 'sqlite' ? 0 : 1;
    // On shards, a statement holds the rows that others refer to; elsewhere, foreign keys do.
    const isSharded = engine === 'vitess';
    const held = isSharded ? 1 : 0;

    test('of a game with known tags: eight, COMMIT included', async () => {
      const tagNames = ['known 1', 'known 2', 'known 3'];
      await app.aGame({ tagNames, gameType: 'trips' }, users[0]);
      const transactions = await transactionsOf(() => app.aGame({ tagNames, gameType: 'trips' }, users[0]));
      expect(transactions.map((statements) => statements.length)).toEqual([8 - together + 2 * held]);
    });

    test('of a toggle: five, COMMIT included', async () => {
      const { id: gameId } = await app.aGame();
      const transactions = await transactionsOf(async () => {
        await app.call('game.toggleFavorite', { gameId }, users[0]!.key);
        await app.call('game.toggleReaction', { gameId, type: 'like' }, users[0]!.key);
        await app.call('game.toggleReaction', { gameId, type: 'dislike' }, users[0]!.key);
        await app.call('game.toggleReaction', { gameId, type: 'dislike' }, users[0]!.key);
      });
      expect(transactions.map((statements) => statements.length)).toEqual([4 + held, 4 + held, 4 + held, 4]);
    });

    test('of toggles of one game that meet: as many as of one or two', async () => {
      const { id: gameId } = await app.aGame();
      const { db, toggles } = app.context.routers.game;
      const transactions = await transactionsOf(() =>
        Promise.all(users.map(({ id }) => toggles.favorite(gameKind, gameId, callOf(id), asIs))),
      );
      expect(transactions.map((statements) => statements.length)).toEqual([4 + held, 4 + held]);
      const rows = await db.read('SELECT 1 FROM game_favorites WHERE game_id = ?', [storedIdToBytes(gameId)]);
      expect(rows).toHaveLength(users.length);
    });

    test('of toggles of several games that meet: one more than of one, and on shards those of each', async () => {
      const games = await Promise.all(users.map(() => app.aGame()));
      const { db, toggles } = app.context.routers.game;
      const toggleAll = (): Promise<unknown> =>
        Promise.all(users.map(({ id }, n) => toggles.favorite(gameKind, games[n]!.id, callOf(id), asIs)));
      for (const rows of [users.length, 0]) {
        const transactions = await transactionsOf(toggleAll);
        const ofEach = users.map(() => (rows === 0 ? 4 : 4 + held));
        expect(transactions.map((statements) => statements.length)).toEqual(isSharded ? ofEach : [4, 5]);
        const ids = games.map(({ id }) => storedIdToBytes(id));
        const stored = `SELECT 1 FROM game_favorites WHERE game_id IN (${ids.map(() => '?').join(', ')})`;
        expect(await db.read(stored, ids)).toHaveLength(rows);
      }
    });
  });

  describe('toggles of one record that are done together', () => {
    test('each see the state after their own, in the order in which they came', async () => {
      const { id } = await app.aGame();
      const [one, other] = [users[0]!.id, users[1]!.id];
      const toggles = new Toggles(app.context.db, app.context.routers.game.writes, app.context.now);
      const outcomes = await Promise.all([
        toggles.favorite(gameKind, id, callOf(other), asIs),
        toggles.favorite(gameKind, id, callOf(one), asIs),
        toggles.react(gameKind, id, 'like', callOf(one), asIs),
        toggles.react(gameKind, id, 'like', callOf(other), asIs),
        toggles.favorite(gameKind, id, callOf(one), asIs),
        toggles.react(gameKind, id, 'dislike', callOf(one), asIs),
        toggles.favorite(gameKind, id, callOf(one), asIs),
        toggles.react(gameKind, id, 'like', callOf(other), asIs),
      ]);
      expect(outcomes).toEqual([
        { favorited: true, favoriteCount: 1 },
        { favorited: true, favoriteCount: 2 },
        { reaction: 'like', likeCount: 1, dislikeCount: 0 },
        { reaction: 'like', likeCount: 2, dislikeCount: 0 },
        { favorited: false, favoriteCount: 1 },
        { reaction: 'dislike', likeCount: 1, dislikeCount: 1 },
        { favorited: true, favoriteCount: 2 },
        { reaction: null, likeCount: 0, dislikeCount: 1 },
      ]);
      expect(await app.call('game.getById', { id }, users[0]!.key)).toMatchObject({
        viewer: { favorited: true, reaction: 'dislike' },
        favoriteCount: 2,
        likeCount: 0,
        dislikeCount: 1,
      });
    });
  });

  describe('toggles of several records that are done together', () => {
    test('each see the state of their own record, and one that is not there fails alone', async () => {
      const [a, b, c] = [await app.aGame(), await app.aGame(), await app.aGame()];
      const [one, other] = [users[0]!.id, users[1]!.id];
      const unknown = one;
      const toggles = new Toggles(app.context.db, app.context.routers.game.writes, app.context.now);
      const outcomes = await Promise.allSettled([
        toggles.favorite(gameKind, a.id, callOf(one), asIs),
        toggles.favorite(gameKind, b.id, callOf(one), asIs),
        toggles.favorite(gameKind, c.id, callOf(one), asIs),
        toggles.favorite(gameKind, unknown, callOf(one), asIs),
        toggles.favorite(gameKind, b.id, callOf(other), asIs),
        toggles.react(gameKind, c.id, 'like', callOf(other), asIs),
        toggles.react(gameKind, b.id, 'dislike', callOf(one), asIs),
        toggles.favorite(gameKind, c.id, callOf(one), asIs),
        toggles.react(gameKind, unknown, 'like', callOf(one), asIs),
        toggles.react(gameKind, c.id, 'like', callOf(one), asIs),
      ]);
      const notFound = { status: 'rejected', reason: { reason: 'GAME_NOT_FOUND' } };
      const done = (value: object): object => ({ status: 'fulfilled', value });
      expect(outcomes).toMatchObject([
        done({ favorited: true, favoriteCount: 1 }),
        done({ favorited: true, favoriteCount: 1 }),
        done({ favorited: true, favoriteCount: 1 }),
        notFound,
        done({ favorited: true, favoriteCount: 2 }),
        done({ reaction: 'like', likeCount: 1, dislikeCount: 0 }),
        done({ reaction: 'dislike', likeCount: 0, dislikeCount: 1 }),
        done({ favorited: false, favoriteCount: 0 }),
        notFound,
        done({ reaction: 'like', likeCount: 2, dislikeCount: 0 }),
      ]);
      const states = await Promise.all([a, b, c].map(({ id }) => app.call('game.getById', { id }, users[0]!.key)));
      expect(states).toMatchObject([
        { favoriteCount: 1, likeCount: 0, dislikeCount: 0, viewer: { favorited: true, reaction: null } },
        { favoriteCount: 2, likeCount: 0, dislikeCount: 1, viewer: { favorited: true, reaction: 'dislike' } },
        { favoriteCount: 0, likeCount: 2, dislikeCount: 0, viewer: { favorited: false, reaction: 'like' } },
      ]);
    });
  });

  describe.each([
    ['one record', 1],
    ['several records', 4],
  ])('toggles of %s that are done together', (_, n) => {
    test('are stored but for one whose user is gone', async () => {
      const gone = await app.aUser();
      await app.context.db.transaction((tx) =>
        tx.execute('DELETE FROM users WHERE id = ?', [storedIdToBytes(gone.id)]),
      );
      const toggles = new Toggles(app.context.db, app.context.routers.game.writes, app.context.now);
      const games = await Promise.all(Array.from({ length: n }, () => app.aGame()));
      const outcomes = await Promise.allSettled(
        [users[0]!, users[1]!, gone, users[2]!].map(({ id }, index) =>
          toggles.favorite(gameKind, games[index % n]!.id, callOf(id), asIs),
        ),
      );
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
      expect(outcomes[2]).toMatchObject({ reason: { reason: 'KEY_UNKNOWN' } });
      const counts = await Promise.all(games.map(({ id }) => app.call('game.getById', { id })));
      expect(counts.reduce((sum, { favoriteCount }) => sum + favoriteCount, 0)).toBe(3);
    });

    test('all hear that theirs is unknown where none is there', async () => {
      const toggles = new Toggles(app.context.db, app.context.routers.game.writes, app.context.now);
      for (const ids of [users.slice(0, n).map(({ id }) => id), ['nonsense']]) {
        const outcomes = await Promise.allSettled(
          users.map(({ id }, index) => toggles.favorite(gameKind, ids[index % ids.length]!, callOf(id), asIs)),
        );
        for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { reason: 'GAME_NOT_FOUND' } });
      }
    });
  });

  describe('creations that meet', () => {
    const sent = (n: number): string => `meeting ${n}`;
    /** Creates games all at once, each by its author, and returns what came of them. */
    const createAll = (authors: readonly TestUser[], tagNames: (n: number) => string[]) =>
      Promise.all(
        authors.map(({ key }, n) =>
          app.send('game.create', { title: sent(n), gameType: 'MEET', tagNames: tagNames(n) }, key),
        ),
      );
    const sixteen = <T>(value: (n: number) => T): T[] => Array.from({ length: 16 }, (_, n) => value(n));

    test.each([
      ['one author with the same tags', () => sixteen(() => users[0]!), () => ['meeting', 'popular']],
      ['many authors with the same tags', () => sixteen((n) => users[n % 8]!), () => ['meeting', 'popular']],
      ['many authors with tags of their own', () => sixteen((n) => users[n % 8]!), (n: number) => [`own ${n}`]],
    ])('of %s are all stored, in fewer transactions, and answered as they are read', async (_, authors, tagNames) => {
      await app.context.auth.keys.flush();
      let replies: Awaited<ReturnType<typeof createAll>> = [];
      const transactions = await transactionsOf(async () => (replies = await createAll(authors(), tagNames)));
      expect(replies.map(({ status }) => status)).toEqual(sixteen(() => 200));
      expect(transactions.length).toBeLessThan(16);
      for (const [n, { body }] of replies.entries()) {
        const game = body.result.data.json;
        expect(game).toMatchObject({ title: sent(n), author: { id: authors()[n]!.id } });
        expect(await app.call('game.getById', { id: game.id }, authors()[n]!.key)).toEqual(game);
      }
    });

    test('fail alone: an author who is gone or suspended', async () => {
      const [gone, suspended] = [await app.aUser(), await app.aUser()];
      const { db } = app.context;
      await db.transaction((tx) => tx.execute('DELETE FROM users WHERE id = ?', [storedIdToBytes(gone.id)]));
      await suspendUser(db, suspended.id, systemActor(), { hide: false });
      const authors = [users[0]!, users[1]!, gone, suspended, users[2]!];
      const outcomes = await Promise.allSettled(
        authors.map(({ id }, n) =>
          app.context.routers.game.publisher.create(
            gameKind,
            gameDraft({ title: sent(n), isFree: true, tagNames: ['of some'] }),
            callOf(id),
            asIs,
          ),
        ),
      );
      expect(outcomes).toMatchObject([
        { status: 'fulfilled', value: { row: { title: sent(0) } } },
        { status: 'fulfilled', value: { row: { title: sent(1) } } },
        { reason: { reason: 'KEY_UNKNOWN' } },
        { reason: { reason: 'USER_SUSPENDED' } },
        { status: 'fulfilled', value: { row: { title: sent(4) } } },
      ]);
    });

    test('are done once for each Idempotency-Key, with whatever they are stored together', async () => {
      const [first, again] = [randomUUID(), randomUUID()];
      const send = (n: number, key: string) =>
        app.send('game.create', { title: sent(n) }, users[n % 8]!.key, repeating(key));
      const earlier = await send(0, again);
      const replies = await Promise.all([send(1, first), send(2, randomUUID()), send(0, again), send(1, first)]);
      expect(replies.slice(0, 3).map(({ status }) => status)).toEqual([200, 200, 200]);
      // The repetition meets the first call under way or, on a busy machine, finds its answer.
      expect([replies[3].status, isReplay(replies[3])]).toEqual(replies[3].status === 409 ? [409, false] : [200, true]);
      expect([isReplay(replies[2]), replies[2].body]).toEqual([true, earlier.body]);
      expect(await send(1, first)).toMatchObject({ status: 200, body: replies[0].body });
    });

    test('of one that the database refuses are stored but for that one', async () => {
      const create = (n: number, title = sent(n)) =>
        app.context.routers.game.publisher.create(
          gameKind,
          gameDraft({ title, isFree: true }),
          callOf(users[n]!.id),
          ({ row }) => row.title,
        );
      // No column takes a text that is none.
      const outcomes = await Promise.allSettled([create(0), create(1), create(2, null as never), create(3)]);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    });
  });

  test('a user who is gone publishes nothing', async () => {
    const gone = await app.aUser();
    await app.context.db.transaction((tx) => tx.execute('DELETE FROM users WHERE id = ?', [storedIdToBytes(gone.id)]));
    const { data } = await app.fail('game.create', { title: 'late', tagNames: ['late'] }, 401, gone.key);
    expect(data.reason).toBe('KEY_UNKNOWN');
    expect(await app.context.db.read("SELECT 1 FROM tags WHERE slug = 'late'")).toEqual([]);
  });

  test('last uses of many keys are stored at once, and never an earlier one over a later one', async () => {
    const { db } = app.context;
    const lastUses = async () => {
      const rows = await db.read<{ id: Uint8Array; last_used_at: string | null }>(
        'SELECT id, last_used_at FROM api_keys',
      );
      return new Map(rows.map((row) => [idFromBytes(row.id), row.last_used_at && timeFromDb(row.last_used_at)]));
    };
    await app.context.auth.keys.flush();
    const time = (n: number) => new Date(Date.UTC(2030, 0, 1, 0, 0, n, 10 * n));
    await storeLastUses(db, new Map(users.map(({ keyId }, n) => [keyId, time(n + 10)])));
    await storeLastUses(db, new Map(users.slice(0, 3).map(({ keyId }, n) => [keyId, time(n === 0 ? 50 : 0)])));
    const stored = await lastUses();
    expect(users.map(({ keyId }) => stored.get(keyId))).toEqual(
      users.map((_, n) => time(n === 0 ? 50 : n + 10).toISOString()),
    );
  });

  test('everyone writes everything, and nobody fails or loses a deadlock', async () => {
    const deadlocks = await deadlocksIn(writeEverything);
    expect(deadlocks).toBe(0);
  });

  /** How often a transaction lost a deadlock, and was run again, while `work` ran. */
  const deadlocksIn = async (work: () => Promise<unknown>): Promise<number> => {
    const { db } = app.context;
    const original = db.transaction;
    let deadlocks = 0;
    db.transaction = (inner) =>
      original.call(db, async (tx) => {
        try {
          return await inner(tx);
        } catch (error) {
          if ((error as { errno?: number }).errno === 1213) deadlocks += 1;
          throw error;
        }
      }) as never;
    try {
      await work();
    } finally {
      db.transaction = original;
    }
    return deadlocks;
  };

  /** Two callers of each user do everything once, beginning at different places. */
  const writeEverything = async (): Promise<void> => {
    const [author] = users;
    const games = await Promise.all([app.aGame({}, author), app.aGame({}, author)]);
    const posts = await Promise.all([1, 2, 3].map(() => app.anImagePost({ tagNames: ['busy 0'] }, author)));
    let serial = 0;
    /** A few of eight tags, in any order, and now and then one that two callers make at once. */
    const tags = (n: number): string[] => [
      ...new Set([n % 8, (5 * n + 3) % 8, (3 * n + 1) % 8].map((tag) => `busy ${tag}`)),
      ...(n % 3 === 0
        ? [`new ${Math.floor(n / 12)}`, `also new ${Math.floor(n / 12)}`].toSorted(() => (n % 2) - 0.5)
        : []),
    ];
    const next = () => (serial += 1);
    const acts: ((user: TestUser) => Promise<unknown>)[] = [
      () => app.aGame({ gameType: `B${next() % 3}`, tagNames: tags(serial) }, author),
      (user) => app.aGame({ tagNames: tags(next()) }, user),
      (user) =>
        app.call(
          'game.batchCreate',
          { games: [1, 2, 3, 4].map(() => ({ title: 'batch', gameType: `B${next() % 3}`, tagNames: tags(serial) })) },
          user.key,
        ),
      (user) =>
        app.call('image.batchCreate', { posts: [{ title: 'p', images: IMAGES, tagNames: tags(next()) }] }, user.key),
      () => app.call('image.update', { id: posts[next() % 3]!.id, tagNames: tags(serial) }, author!.key),
      () => app.call('image.update', { id: posts[next() % 3]!.id, title: 'busy', tagNames: [] }, author!.key),
      (user) => app.call('image.toggleFavorite', { imagePostId: posts[next() % 3]!.id }, user.key),
      (user) => app.call('game.toggleFavorite', { gameId: games[next() % 2]!.id }, user.key),
      (user) => app.call('game.toggleReaction', { gameId: games[next() % 2]!.id, type: 'like' }, user.key),
      (user) => app.call('user.updateProfile', { bio: `busy ${next()}` }, user.key),
      async () => {
        await app.call('game.getById', { id: games[next() % 2]!.id });
        await Promise.all([app.context.routers.game.views.buffer.flush(), app.context.auth.keys.flush()]);
      },
    ];
    await Promise.all(
      users.flatMap((user, caller) =>
        [0, 1].map(async (offset) => {
          const first = 5 * caller + offset;
          for (let n = first; n < first + acts.length; n += 1) await acts[n % acts.length]!(user);
        }),
      ),
    );
  };
});
