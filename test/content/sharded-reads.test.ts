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

  test('a page keeps its order, its totals and the columns of its ids', async () => {
    const select = {
      columns: ['(SELECT n FROM counters WHERE name = ?) AS total'],
      columnParameters: [gameKind.table],
      idColumns: ['favorite_count'],
      ids: '(SELECT id, favorite_count FROM games ORDER BY favorite_count DESC, id LIMIT ?)',
      idParameters: [4],
      end: 'ORDER BY p.favorite_count DESC, p.id',
    };
    const shape = { detail: false, viewerId: undefined };
    const rows = await readRows<{ total: number; favorite_count: number }>(sharded, gameKind, shape, select);
    expect(rows.map(({ total, favorite_count: n }) => [total, n])).toEqual([
      [6, 1],
      [6, 0],
      [6, 0],
      [6, 0],
    ]);
    expect(rows).toEqual(await readRows(usual, gameKind, shape, select));
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
