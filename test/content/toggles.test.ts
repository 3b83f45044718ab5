/**
 * @engines all second-server
 * @tier fast
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Output, startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { expectExactCounts } from '../harness/app/counts.ts';

// Writes that meet: whoever comes when, each caller gets an answer and every count is that of the rows.

const CALLERS = 16;
const TOGGLES = 40;

let app: TestApp;
let users: TestUser[];

const times = <T>(n: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, (_, index) => make(index)));

const userOf = (index: number): TestUser => users[index % users.length]!;

beforeAll(async () => {
  app = await startApp();
  users = await times(CALLERS, () => app.aUser());
});
afterAll(() => app.stop());
afterEach(() => expectExactCounts(app.context.db));

const upTo = (n: number): number[] => Array.from({ length: n }, (_, index) => index + 1);
const sorted = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

describe('favorites of one game', () => {
  test(`${TOGGLES} toggles of one user at once alternate`, async () => {
    const { id: gameId } = await app.aGame();
    const { key } = userOf(0);
    const replies = await times(TOGGLES, () => app.call('game.toggleFavorite', { gameId }, key));
    expect(replies.filter(({ favorited }) => favorited)).toHaveLength(TOGGLES / 2);
    expect(replies.filter(({ favorited, favoriteCount }) => Number(favorited) !== favoriteCount)).toEqual([]);
    expect(await app.call('game.getById', { id: gameId }, key)).toMatchObject({
      favoriteCount: 0,
      viewer: { favorited: false },
    });
  });

  test(`${TOGGLES} users at once each count once, and each is told another number`, async () => {
    const { id: gameId } = await app.aGame();
    const fans = [...users, ...(await times(TOGGLES - CALLERS, () => app.aUser()))];
    const toggle = (index: number) => app.call('game.toggleFavorite', { gameId }, fans[index]!.key);
    const added = await times(TOGGLES, toggle);
    expect(added.every(({ favorited }) => favorited)).toBe(true);
    expect(sorted(added.map(({ favoriteCount }) => favoriteCount))).toEqual(upTo(TOGGLES));
    const removed = await times(TOGGLES - 1, toggle);
    expect(removed.some(({ favorited }) => favorited)).toBe(false);
    expect(sorted(removed.map(({ favoriteCount }) => favoriteCount))).toEqual(upTo(TOGGLES - 1));
    expect(await app.call('game.getById', { id: gameId })).toMatchObject({ favoriteCount: 1 });
  });
});

describe('reactions to one game', () => {
  test(`${TOGGLES} toggles of one user at once alternate`, async () => {
    const { id: gameId } = await app.aGame();
    const { key } = userOf(0);
    const replies = await times(TOGGLES, () => app.call('game.toggleReaction', { gameId, type: 'like' }, key));
    expect(replies.filter(({ reaction }) => reaction === 'like')).toHaveLength(TOGGLES / 2);
    expect(replies.filter(({ reaction, likeCount }) => Number(reaction === 'like') !== likeCount)).toEqual([]);
    expect(await app.call('game.getById', { id: gameId }, key)).toMatchObject({
      likeCount: 0,
      viewer: { reaction: null },
    });
  });

  test('likes and dislikes of one user at once leave at most one of them', async () => {
    const { id: gameId } = await app.aGame();
    const { key } = userOf(0);
    const types = ['like', 'dislike'] as const;
    const replies = await times(TOGGLES, (index) =>
      app.call('game.toggleReaction', { gameId, type: types[index % 2]! }, key),
    );
    for (const { reaction, likeCount, dislikeCount } of replies) {
      expect([likeCount, dislikeCount]).toEqual([Number(reaction === 'like'), Number(reaction === 'dislike')]);
    }
  });

  test('toggles of many users at once count each', async () => {
    const { id: gameId } = await app.aGame();
    const replies = await times(CALLERS, (index) =>
      app.call('game.toggleReaction', { gameId, type: index % 2 === 0 ? 'like' : 'dislike' }, userOf(index).key),
    );
    const likes = replies.filter(({ reaction }) => reaction === 'like');
    expect(sorted(likes.map(({ likeCount }) => likeCount))).toEqual(upTo(CALLERS / 2));
    // Everyone changes their mind.
    await times(CALLERS, (index) =>
      app.call('game.toggleReaction', { gameId, type: index % 2 === 0 ? 'dislike' : 'like' }, userOf(index).key),
    );
    // And half of them gives it up.
    await times(CALLERS, (index) =>
      app.call('game.toggleReaction', { gameId, type: index % 4 < 2 ? 'dislike' : 'like' }, userOf(index).key),
    );
    const { likeCount, dislikeCount } = await app.call('game.getById', { id: gameId });
    expect(likeCount + dislikeCount).toBe(CALLERS / 2);
  });
});

describe(`${CALLERS} callers at once`, () => {
  test('toggle favorites and reactions of several records of both kinds', async () => {
    const games = await times(3, () => app.aGame());
    const posts = await times(3, () => app.anImagePost());
    await times(CALLERS, async (caller) => {
      const { key } = userOf(caller);
      for (let round = 0; round < 3; round += 1) {
        const gameId = games[(caller + round) % games.length]!.id;
        const imagePostId = posts[(caller + 2 * round) % posts.length]!.id;
        const type = (caller + round) % 3 === 0 ? 'dislike' : 'like';
        await Promise.all([
          app.call('game.toggleFavorite', { gameId }, key),
          app.call('game.toggleReaction', { gameId, type }, key),
          app.call('image.toggleFavorite', { imagePostId }, key),
          app.call('image.toggleReaction', { imagePostId, type }, key),
        ]);
      }
    });
    // Each caller came to each record once.
    for (const { id } of games) expectReactions(await app.call('game.getById', { id }));
    for (const { id } of posts) expectReactions(await app.call('image.getById', { id }));
  });

  test('make the same tags', async () => {
    const tagNames = Array.from({ length: 10 }, (_, index) => `shared ${index}`);
    const games = await times(CALLERS, (caller) =>
      app.call(
        'game.create',
        // Each in another order, so that locks would be asked for crosswise if that were the order of the request.
        { title: 'tagged', gameType: `T${caller % 3}`, tagNames: rotated(tagNames, caller) },
        userOf(caller % 4).key,
      ),
    );
    for (const [caller, { tags }] of games.entries()) {
      expect(tags.map(({ name }) => name)).toEqual(rotated(tagNames, caller));
    }
    expect(await app.call('game.list', { limit: 1, page: 1, tagSlugs: ['shared-3'] })).toMatchObject({
      total: CALLERS,
      totalRelation: 'eq',
    });
    const { items } = await app.call('game.getTypeStats', {});
    expect(items.find(({ gameType }) => gameType === 'T0')).toEqual({ gameType: 'T0', count: Math.ceil(CALLERS / 3) });
  });

  test('publish batches that share tags, types and authors', async () => {
    await times(8, async (caller) => {
      const title = `batch ${caller}`;
      const images = ['https://images.example.com/1.webp'];
      const tagNames = rotated(['north', 'east', 'south', 'west'], caller);
      const games = Array.from({ length: 10 }, (_, index) => ({
        title,
        gameType: `B${(caller + index) % 4}`,
        tagNames: [...rotated(tagNames, index), `only ${caller}`],
      }));
      const posts = games.map(() => ({ title, images, tagNames }));
      await Promise.all([
        app.call('game.batchCreate', { games }, userOf(caller % 3).key),
        app.call('image.batchCreate', { posts }, userOf((caller + 1) % 3).key),
      ]);
    });
  });

  test('create, change, toggle and read, while views are stored', async () => {
    const author = userOf(0);
    const hot = await app.aGame({ tagNames: ['hot'] }, author);
    const posts = await times(4, () => app.anImagePost({ tagNames: ['hot'] }, author));
    const { game, image } = app.context.routers;
    await times(CALLERS, async (caller) => {
      const { key } = userOf(caller);
      const { id: imagePostId } = posts[caller % posts.length]!;
      const updated = await Promise.all([
        app.call('game.getById', { id: hot.id }),
        app.call('image.getById', { id: imagePostId }),
        app.aGame({ gameType: 'mix', tagNames: ['hot', `mix ${caller % 5}`] }, userOf(caller)),
        app.call('image.update', { id: imagePostId, tagNames: [`mix ${caller % 7}`, 'hot'] }, author.key),
        app.call('image.toggleFavorite', { imagePostId }, key),
        app.call('game.toggleReaction', { gameId: hot.id, type: 'like' }, key),
        game.views.buffer.flush(),
        image.views.buffer.flush(),
      ]);
      expect(updated[3].tags).toEqual([
        { name: `mix ${caller % 7}`, slug: `mix-${caller % 7}` },
        { name: 'hot', slug: 'hot' },
      ]);
    });
    await Promise.all([game.views.buffer.flush(), image.views.buffer.flush()]);
    expect(await app.call('game.getById', { id: hot.id })).toMatchObject({ viewCount: CALLERS, likeCount: CALLERS });
    const views = await Promise.all(posts.map(({ id }) => app.call('image.getById', { id })));
    expect(sum(views)).toBe(CALLERS);
  });
});

const expectReactions = (record: Output<'game.getById'> | Output<'image.getById'>): void => {
  expect(record.favoriteCount).toBe(CALLERS);
  expect(record.likeCount + record.dislikeCount).toBe(CALLERS);
};

const rotated = <T>(items: readonly T[], by: number): T[] => [
  ...items.slice(by % items.length),
  ...items.slice(0, by % items.length),
];

const sum = (posts: readonly Output<'image.getById'>[]): number =>
  posts.reduce((total, { viewCount }) => total + viewCount, 0);
