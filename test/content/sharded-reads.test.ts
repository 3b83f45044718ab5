/**
 * @engines all
 * @tier fast
 * @serverTier long
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readRows, readRowsById } from '../../src/content/records.ts';
import type { Reader } from '../../src/db/connection.ts';
import { gameKind } from '../../src/game/kind.ts';
import { readRelated } from '../../src/game/related.ts';
import { imageKind } from '../../src/image/kind.ts';
import { storedIdToBytes } from '../../src/db/values.ts';
import { type Output, startApp, type TestUser } from '../harness/app/app.ts';

// The statements for shards are common SQL: on one server they must find what the usual ones find.

const app = await startApp();
const { db } = app.context;
const usual: Reader = db.within(undefined);
const sharded: Reader = { ...usual, dialect: { ...db.dialect, isSharded: true } };

let viewer: TestUser;
const games: Output<'game.create'>[] = [];
const idsOf = () => games.map(({ id }) => storedIdToBytes(id));

beforeAll(async () => {
  viewer = await app.aUser();
  for (const [index, tagNames] of [['a', 'b'], ['b', 'c'], ['c'], [], ['a'], ['b', 'a', 'c']].entries()) {
    const gameType = index % 2 === 0 ? ('RPG' as const) : undefined;
    games.push(
      await app.aGame({
        title: `game ${index}`,
        tagNames,
        gameType,
        extraInfo: index < 3 ? { originalAuthor: 'Maru' } : {},
      }),
    );
  }
  await app.call('game.toggleFavorite', { gameId: games[1]!.id }, viewer.key);
  await app.call('game.toggleReaction', { gameId: games[2]!.id, type: 'like' }, viewer.key);
  await app.anImagePost();
});
afterAll(() => app.stop());

const byTitle = (rows: readonly { title: string }[]) => rows.toSorted((a, b) => (a.title < b.title ? -1 : 1));

describe('on shards', () => {
  test.each([
    [false, false],
    [false, true],
    [true, false],
    [true, true],
  ])('records are read as elsewhere (whole: %s, for a viewer: %s)', async (detail, isForViewer) => {
    const shape = { detail, viewerId: isForViewer ? viewer.id : undefined };
    const rows = await readRowsById(sharded, gameKind, shape, idsOf());
    expect(rows).toHaveLength(games.length);
    expect(byTitle(rows)).toEqual(byTitle(await readRowsById(usual, gameKind, shape, idsOf())));
  });

  const shape = { detail: false, viewerId: undefined };
  const page = {
    ids: [{ sql: 'SELECT id, favorite_count FROM games ORDER BY favorite_count DESC, id LIMIT ?', parameters: [4] }],
    order: 'ORDER BY p.favorite_count DESC, p.id',
    columns: [{ sql: '(SELECT n FROM counters WHERE name = ?) AS total', parameters: [gameKind.table] }],
  };

  test('a page keeps its order and its totals', async () => {
    const rows = await readRows<{ total: number }>(sharded, gameKind, shape, page);
    expect(rows.map(({ total, favoriteCount }) => [total, favoriteCount])).toEqual([
      [6, 1],
      [6, 0],
      [6, 0],
      [6, 0],
    ]);
    expect(rows).toEqual(await readRows(usual, gameKind, shape, page));
  });

  test('a total does not tell which state it is of', async () => {
    const stamped = { ...page, stamps: [{ sql: '? AS stamp', parameters: [7] }] };
    const stamp = db.dialect.isSharded ? undefined : 7;
    expect((await readRows<{ stamp?: number }>(usual, gameKind, shape, stamped))[0]?.stamp).toBe(stamp);
    expect(await readRows(sharded, gameKind, shape, stamped)).toEqual(await readRows(usual, gameKind, shape, page));
  });

  test('related games are the same, in the same order', async () => {
    for (const { id } of games) {
      const related = await readRelated(sharded, id, 4, viewer.id);
      expect(related).toHaveLength(4);
      expect(related).toEqual(await readRelated(usual, id, 4, viewer.id));
    }
  });

  test('nothing is read of what is not there', async () => {
    const missing = [Buffer.alloc(16, 1)];
    expect(await readRowsById(sharded, imageKind, { detail: true, viewerId: undefined }, missing)).toEqual([]);
    await expect(readRelated(sharded, '00000000-0000-7000-8000-000000000000', 4, undefined)).rejects.toMatchObject({
      reason: 'GAME_NOT_FOUND',
    });
  });
});
