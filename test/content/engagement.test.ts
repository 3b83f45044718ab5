/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { startApp, type TestUser } from '../harness/app/app.ts';

// Favorites and reactions, which work alike on games and image posts; test/content/toggles.test.ts has many callers at once.

const app = await startApp();
afterAll(() => app.stop());

type Reaction = 'like' | 'dislike';

const kinds = [
  {
    kind: 'game',
    member: 'gameId',
    publish: () => app.aGame(),
    favorite: (gameId: string, { key }: TestUser) => app.call('game.toggleFavorite', { gameId }, key),
    react: (gameId: string, type: Reaction, { key }: TestUser) =>
      app.call('game.toggleReaction', { gameId, type }, key),
    get: (id: string, user?: TestUser) => app.call('game.getById', { id }, user?.key),
    listNewest: (user?: TestUser) => app.call('game.list', { limit: 1, page: 1 }, user?.key),
  },
  {
    kind: 'image',
    member: 'imagePostId',
    publish: () => app.anImagePost(),
    favorite: (imagePostId: string, { key }: TestUser) => app.call('image.toggleFavorite', { imagePostId }, key),
    react: (imagePostId: string, type: Reaction, { key }: TestUser) =>
      app.call('image.toggleReaction', { imagePostId, type }, key),
    get: (id: string, user?: TestUser) => app.call('image.getById', { id }, user?.key),
    listNewest: (user?: TestUser) => app.call('image.list', { limit: 1, page: 1 }, user?.key),
  },
];

describe.each(kinds)('$kind', ({ kind, member, publish, favorite, react, get, listNewest }) => {
  test('toggleFavorite adds a favorite, and takes it back when called again', async () => {
    const [{ id }, one, other] = [await publish(), await app.aUser(), await app.aUser()];
    expect(await favorite(id, one)).toEqual({ [member]: id, favorited: true, favoriteCount: 1 });
    expect(await favorite(id, other)).toEqual({ [member]: id, favorited: true, favoriteCount: 2 });
    expect(await favorite(id, one)).toEqual({ [member]: id, favorited: false, favoriteCount: 1 });
    expect(await favorite(id, one)).toEqual({ [member]: id, favorited: true, favoriteCount: 2 });
  });

  test('toggleReaction sets a reaction, switches it, and takes it back when it is repeated', async () => {
    const [{ id }, user] = [await publish(), await app.aUser()];
    const steps: [Reaction, Reaction | null][] = [
      ['like', 'like'],
      ['dislike', 'dislike'],
      ['dislike', null],
      ['dislike', 'dislike'],
      ['like', 'like'],
      ['like', null],
    ];
    for (const [type, reaction] of steps) {
      expect(await react(id, type, user)).toEqual({
        [member]: id,
        reaction,
        likeCount: Number(reaction === 'like'),
        dislikeCount: Number(reaction === 'dislike'),
      });
    }
  });

  test('the reactions of several users add up', async () => {
    const { id } = await publish();
    const users = [await app.aUser(), await app.aUser(), await app.aUser()] as const;
    await react(id, 'like', users[0]);
    await react(id, 'dislike', users[1]);
    expect(await react(id, 'like', users[2])).toMatchObject({ reaction: 'like', likeCount: 2, dislikeCount: 1 });
    expect(await react(id, 'like', users[1])).toMatchObject({ reaction: 'like', likeCount: 3, dislikeCount: 0 });
    expect(await get(id)).toMatchObject({ likeCount: 3, dislikeCount: 0, favoriteCount: 0 });
  });

  test('a record shows each caller their own relation to it, alone and in lists', async () => {
    const [{ id }, fan, critic] = [await publish(), await app.aUser(), await app.aUser()];
    await favorite(id, fan);
    await react(id, 'like', fan);
    await react(id, 'dislike', critic);
    for (const [user, viewer] of [
      [fan, { favorited: true, reaction: 'like' }],
      [critic, { favorited: false, reaction: 'dislike' }],
      [undefined, null],
    ] as const) {
      const shown = { id, viewer, likeCount: 1, dislikeCount: 1, favoriteCount: 1 };
      expect(await get(id, user)).toMatchObject(shown);
      expect((await listNewest(user)).items).toMatchObject([shown]);
    }
  });

  test('does not count as a change by the author', async () => {
    const [record, user] = [await publish(), await app.aUser()];
    await favorite(record.id, user);
    await react(record.id, 'like', user);
    expect(await get(record.id)).toMatchObject({ updatedAt: record.updatedAt });
  });

  test('refuses a reaction that is neither like nor dislike', async () => {
    const [{ id }, user] = [await publish(), await app.aUser()];
    for (const type of ['love', 'LIKE', '', null, undefined]) {
      const { issues } = await app.fail(`${kind as 'game'}.toggleReaction`, { [member]: id, type }, 400, user.key);
      expect(issues).toEqual([{ path: '/type', code: 'invalid_value', message: expect.any(String) }]);
    }
    expect(await get(id)).toMatchObject({ likeCount: 0, dislikeCount: 0 });
  });
});
