/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setImmediate as breathe } from 'node:timers/promises';
import { contentView } from '../../../src/content/view.ts';
import { idFromBytes } from '../../../src/db/values.ts';
import { getRecord } from '../../../src/content/service.ts';
import { listGames } from '../../../src/game/service.ts';
import { getUser, updateUser } from '../../../src/user/service.ts';
import { anonymousCall, callOf } from '../../harness/app/call.ts';
import { startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';

// Reads that wait for the database share queries. Nobody may notice. Below HTTP, where more of them wait.

const READERS = 24;

let app: TestApp;
let users: TestUser[];

const times = <T>(n: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, (_, index) => make(index)));

describe('shared reads', () => {
  beforeAll(async () => {
    app = await startApp();
    users = await times(4, () => app.aUser());
  });
  afterAll(() => app.stop());

  /** Reads on and on, as many do, until `work` is done. */
  const underLoad = async (read: () => Promise<unknown>, work: () => Promise<void>): Promise<void> => {
    let isDone = false;
    const readers = times(READERS, async () => {
      while (!isDone) {
        await read();
        // What SQLite does takes no turn of the event loop.
        await breathe();
      }
    });
    try {
      await work();
    } finally {
      isDone = true;
      await readers;
    }
  };

  const aList = (input: Partial<Parameters<typeof listGames>[1]>, viewerId?: string) =>
    listGames(
      app.context.routers.game,
      { limit: 10, page: 1, sortBy: 'latest', timeRange: 'all', ...input },
      viewerId === undefined ? anonymousCall() : callOf(viewerId),
    );

  describe('a read sees what was answered before it', () => {
    const ROUNDS = 12;

    test('of a record and its viewer', async () => {
      const { context } = app;
      const [reader, writer] = [users[0]!, users[1]!];
      const { id } = await app.aGame();
      await underLoad(
        () => getRecord(context.routers.game, id, callOf(reader.id)),
        async () => {
          for (let round = 0; round < ROUNDS; round += 1) {
            const { favorited, favoriteCount } = await app.call('game.toggleFavorite', { gameId: id }, writer.key);
            const expected = { favoriteCount, viewer: { favorited, reaction: null } };
            const seen = await times(3, () => getRecord(context.routers.game, id, callOf(writer.id)));
            expect(seen.map(contentView)).toEqual(seen.map(() => expect.objectContaining(expected)));
            expect((await getRecord(context.routers.game, id, anonymousCall())).row.favoriteCount).toBe(favoriteCount);
          }
        },
      );
    });

    test('of a profile', async () => {
      const { context } = app;
      const { id } = users[2]!;
      await underLoad(
        () => getUser(context.routers.user, id, anonymousCall()),
        async () => {
          for (let round = 0; round < ROUNDS; round += 1) {
            const nickname = `round ${round}`;
            await updateUser(context.routers.user, { nickname }, callOf(id), () => ({}));
            expect((await getUser(context.routers.user, id, anonymousCall())).nickname).toBe(nickname);
          }
        },
      );
    });

    test('of lists, their totals included', async () => {
      const tagSlugs = ['fresh', 'air'];
      let total = 0;
      await underLoad(
        () => aList({ tagSlugs }),
        async () => {
          for (let round = 0; round < ROUNDS; round += 1) {
            const isListed = round % 3 !== 0;
            const { id } = await app.aGame({ tagNames: ['fresh', ...(isListed ? ['air'] : [])] }, users[3]);
            if (isListed) total += 1;
            const list = await aList({ tagSlugs });
            expect(list).toMatchObject({ total, totalRelation: 'eq' });
            if (isListed) expect(idFromBytes(list.records[0]!.row.id)).toBe(id);
          }
        },
      );
    });
  });

  test('everyone gets their own: records, viewers, and what there is not', async () => {
    const games = await times(5, () => app.aGame());
    await times(3, (index) => app.call('game.toggleFavorite', { gameId: games[index]!.id }, users[index]!.key));
    const missing = '019a3c5e-0000-7000-8000-000000000000';
    await times(300, async (n) => {
      const viewer = n % 4;
      const call = viewer === 3 ? anonymousCall() : callOf(users[viewer]!.id);
      if (n % 7 === 0) {
        await expect(getRecord(app.context.routers.game, missing, call)).rejects.toThrow('GAME_NOT_FOUND');
        return;
      }
      const seen = contentView(await getRecord(app.context.routers.game, games[n % 5]!.id, call));
      const expected = viewer === 3 ? undefined : n % 5 === viewer;
      expect([seen.title, seen.viewer?.favorited]).toEqual([games[n % 5]!.title, expected]);
    });
  });

  test('equal lists show each the own favorites', async () => {
    const games = await times(3, () => app.aGame({ tagNames: ['shared'] }));
    await times(3, (index) => app.call('game.toggleFavorite', { gameId: games[index]!.id }, users[index]!.key));
    const lists = await times(120, (n) => aList({ tagSlugs: ['shared'] }, n % 4 === 3 ? undefined : users[n % 4]!.id));
    for (const [n, { records }] of lists.entries()) {
      const views = new Map(records.map(contentView).map((view) => [view.id, view]));
      const favorited = games.map(({ id }) => views.get(id)?.viewer?.favorited);
      expect(favorited).toEqual([0, 1, 2].map((index) => (n % 4 === 3 ? undefined : index === n % 4)));
    }
  });

  test('a key that was revoked ends, and one that was made works, also when many are asked for at once', async () => {
    const callers = await times(20, () => app.aUser());
    const bad = await app.badKeys();
    await Promise.all([
      ...callers.map(async ({ id, key }) => expect((await app.call('user.me', {}, key)).id).toBe(id)),
      ...Object.entries(bad).map(async ([reason, key]) => {
        expect((await app.fail('user.me', {}, 401, key)).data.reason).toBe(reason);
      }),
    ]);
  });
});
