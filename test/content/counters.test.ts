/**
 * @engines all
 * @tier long
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { incrementAll } from '../../src/db/sql/increment.ts';
import { idToBytes } from '../../src/db/values.ts';
import { reconcile } from '../../src/admin/reconcile/service.ts';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { engine } from '../harness/app/database.ts';

// Counters that drifted, as an operator's statement or a fault of ours would leave them: nothing fails, and no count that
// anyone is shown or that is stored goes below 0.

let app: TestApp;
let user: TestUser;

beforeAll(async () => {
  app = await startApp();
  user = await app.aUser();
});
afterAll(() => app.stop());
beforeEach(() => reconcile(app.context.db, { fix: true }));

const write = (sql: string, parameters: (string | number | Uint8Array)[] = []): Promise<number> =>
  app.context.db.transaction((tx) => tx.execute(sql, parameters));

const expectMended = async (): Promise<void> => {
  await reconcile(app.context.db, { fix: true });
  await expectExactCounts(app.context.db);
};

const counters = ['favorite_count', 'like_count', 'dislike_count'];
/** What a counter may have drifted to: MySQL and MariaDB store nothing less than 0. */
const drifted = engine === 'sqlite' ? [0, -3] : [0];

describe.each(drifted)('counters that drifted to %i', (n) => {
  const drift = (table: string, columns: readonly string[], id?: string): Promise<number> =>
    write(
      `UPDATE ${table} SET ${columns.map((column) => `${column} = ${n}`).join(', ')} ${id === undefined ? '' : 'WHERE id = ?'}`,
      id === undefined ? [] : [idToBytes(id)!],
    );

  test.each([
    ['game', 'gameId'],
    ['image', 'imagePostId'],
  ] as const)('marks of a record are taken back and switched: %s', async (router, member) => {
    const { id } = router === 'game' ? await app.aGame() : await app.anImagePost();
    const table = router === 'game' ? 'games' : 'image_posts';
    const target = { [member]: id } as { gameId: string; imagePostId: string };
    await app.call(`${router}.toggleFavorite`, target, user.key);
    await app.call(`${router}.toggleReaction`, { ...target, type: 'like' }, user.key);
    await drift(table, counters, id);
    expect(await app.call(`${router}.toggleFavorite`, target, user.key)).toMatchObject({
      favorited: false,
      favoriteCount: 0,
    });
    expect(await app.call(`${router}.toggleReaction`, { ...target, type: 'dislike' }, user.key)).toMatchObject({
      reaction: 'dislike',
      likeCount: 0,
      dislikeCount: 1,
    });
    await drift(table, counters, id);
    expect(await app.call(`${router}.toggleReaction`, { ...target, type: 'dislike' }, user.key)).toMatchObject({
      reaction: null,
      dislikeCount: 0,
    });
    expect(await app.call(`${router}.getById`, { id })).toMatchObject({
      likeCount: 0,
      dislikeCount: 0,
      favoriteCount: 0,
    });
    await expectMended();
  });

  test('a post gives up tags that count none', async () => {
    const tagNames = ['kept', 'given up', 'given up too'];
    const { id } = await app.anImagePost({ tagNames }, user);
    await drift('tags', ['image_post_count', 'game_count']);
    const taken = `taken${Math.abs(n)}`;
    await app.call('image.update', { id, tagNames: ['kept', taken] }, user.key);
    const stored = await app.context.db.read<{ slug: string; n: number }>(
      'SELECT slug, image_post_count AS n FROM tags WHERE slug IN (?, ?, ?) ORDER BY slug',
      ['given-up', 'given-up-too', taken],
    );
    expect(stored.map((row) => row.n)).toEqual([0, 0, 1]);
    await expectMended();
  });

  test('what is added to several rows at once leaves none below 0', async () => {
    const ids = [await app.aGame(), await app.aGame(), await app.aGame()].map((game) => idToBytes(game.id)!);
    await drift('games', ['view_count']);
    await app.context.db.transaction((tx) =>
      incrementAll(tx, [
        { table: 'games', column: 'view_count', additions: ids.map((id, index) => [id, index * 2 - 2] as const) },
      ]),
    );
    const rows = await Promise.all(
      ids.map((id) => app.context.db.read<{ n: number }>('SELECT view_count AS n FROM games WHERE id = ?', [id])),
    );
    expect(rows.map(([row]) => row!.n)).toEqual(n < 0 ? [0, 0, 0] : [0, 0, 2]);
  });

  test('all that shows counts shows none less than 0', async () => {
    const game = await app.aGame({ gameType: 'DRIFT', tagNames: ['one tag', 'other tag'] });
    await app.anImagePost();
    const shown = ['view_count', ...counters];
    await app.context.routers.game.views.buffer.flush();
    for (const table of ['games', 'image_posts']) await drift(table, shown);
    for (const table of ['users', 'tags']) await drift(table, ['game_count', 'image_post_count']);
    await write(`UPDATE counters SET n = ${n}`);
    for (const sortBy of ['latest', 'views', 'likes', 'favorites'] as const) {
      const first = await app.call('game.list', { limit: 1, page: 1, sortBy });
      expect(first.items[0]).toMatchObject({ viewCount: 0, likeCount: 0, dislikeCount: 0, favoriteCount: 0 });
      expect(first.total).toBeGreaterThanOrEqual(0);
      const next = await app.call('game.list', { limit: 1, page: 1, cursor: first.nextCursor!, sortBy });
      expect(next.items[0]?.id).not.toBe(first.items[0]?.id);
    }
    const filters = [{ gameType: 'DRIFT' }, { tagSlugs: ['one-tag'] }, { tagSlugs: ['one-tag', 'other-tag'] }];
    for (const filter of filters) {
      expect((await app.call('game.list', { limit: 5, page: 1, ...filter })).total).toBeGreaterThanOrEqual(0);
    }
    expect(await app.call('game.getRelated', { gameId: game.id })).toMatchObject({ items: expect.any(Array) });
    const { items, total, otherCount } = await app.call('game.getTypeStats', {});
    expect([total >= 0, otherCount >= 0, items.every(({ count }) => count >= 0)]).toEqual([true, true, true]);
    expect(await app.call('user.getProfile', { id: game.author.id })).toMatchObject({
      gameCount: 0,
      imagePostCount: 0,
    });
    expect((await app.call('image.list', { limit: 1, page: 1 })).items[0]).toMatchObject({ likeCount: 0 });
    await expectMended();
  });

  test('reconcile finds what counters say, and those that stand for nothing', async () => {
    await app.aGame();
    await write('INSERT INTO counters (name, n) VALUES (?, ?)', ['games:GONE', n || 1]);
    await write("UPDATE counters SET n = ? WHERE name = 'games'", [n]);
    const [finding] = await reconcile(app.context.db, { fix: true });
    expect(finding?.samples).toEqual([
      { field: 'counters.n', id: 'games', stored: n, actual: expect.any(Number) },
      { field: 'counters.n', id: 'games:GONE', stored: n || 1, actual: 0 },
    ]);
    await write("DELETE FROM counters WHERE name = 'games:GONE'");
    await expectMended();
  });
});
