/**
 * @engines all
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { storedIdToBytes } from '../../src/db/values.ts';
import { type Input, startApp } from '../harness/app/app.ts';

// What `search` finds. Each record is asked for by the request right after the one that stored it.

const app = await startApp();
describe('search', () => {
  afterAll(() => app.stop());

  type Sought = Pick<Input<'game.create'>, 'title' | 'tagNames'>;

  /** The newest records that match; few enough are stored that all of them fit on a page. */
  const searchGames = async (search: string) => (await app.call('game.list', { limit: 100, page: 1, search })).items;
  const searchPosts = async (search: string) => (await app.call('image.list', { limit: 100, page: 1, search })).items;

  const kinds = [
    { id: 'game.list', publish: (sought: Sought) => app.aGame(sought), find: searchGames },
    { id: 'image.list', publish: (sought: Sought) => app.anImagePost(sought), find: searchPosts },
  ];

  const cases: { record: Sought; finds: string[]; misses: string[] }[] = [
    {
      record: { title: '星の伝説 〜ドラゴンと約束の丘〜' },
      finds: ['伝説', 'ドラゴン', 'どらごん', 'ﾄﾞﾗｺﾞﾝ', 'どラごﾝ', '星', '丘', '約束の丘', '丘 ドラゴン 星の', '〜'],
      misses: ['伝記', 'ドラコン', 'とらこん', '伝説 竜', '伝星'],
    },
    {
      record: { title: 'Dragon Quest' },
      finds: [
        'dragon',
        'rago',
        'DRAGON',
        'ｄｒａｇｏｎ',
        'quest dragon',
        '  q　u\te  ',
        'd',
        'dragon quest',
        'gon gon GON',
      ],
      misses: ['dragons', 'drgon', 'dragonquest', 'dragon quest x', 'nq'],
    },
    {
      record: { title: 'ﾌｧｲﾅﾙ ＦＡＮＴＡＳＹ ⑦ ㍿' },
      finds: ['ファイナル', 'ふぁいなる', 'fantasy 7', '⑦', '株式会社', '㍿'],
      misses: ['8', '有限会社'],
    },
    {
      record: { title: 'Café Ünïcode' },
      finds: ['cafe\u0301', 'CAFÉ', 'ünï', 'U\u0308NI\u0308'],
      misses: ['cafe', 'unicode'],
    },
    {
      record: { title: String.raw`100% fun_ \ O'Neil "x" -- ; #?*.+[a]` },
      finds: ['%', '0% f', '_', 'n_', '\\', "'", "o'neil", '"x"', '--', ';', '#?*', '.+[', '[a]'],
      misses: ['%%', '1%0', 'f_n', 'f%n', '__', '\\\\', "''", '%u%', '.*', '[ab]', String.raw`\%`],
    },
    { record: { title: '🐉 and 👩‍🚀' }, finds: ['🐉', '👩‍🚀', '👩', '🚀 🐉'], misses: ['🐲', '👨'] },
    {
      record: { title: 'tagged only', tagNames: ['Sci-Fi 宇宙', 'スペース'] },
      finds: ['sci-fi', 'SCI', '宇宙', 'すぺーす', 'tagged すぺ fi', 'only 宇宙 tagged'],
      misses: ['sci-fi-宇宙', 'onlysci', 'スペーズ'],
    },
  ];

  describe.each(kinds)('$id', ({ publish, find }) => {
    test('does not find what holds none of the characters that SQL gives a meaning', async () => {
      const { id } = await publish({ title: '100 fun xx ONeil' });
      for (const search of ['%', '_', '\\', "'", '"', '--', ';']) {
        expect((await find(search)).map((record) => record.id)).not.toContain(id);
      }
    });

    describe.each(cases)('$record.title', ({ record, finds, misses }) => {
      let id: string;
      beforeAll(async () => {
        ({ id } = await publish(record));
      });

      test.each(finds)('is found by %p', async (search) => {
        expect((await find(search)).map((found) => found.id)).toContain(id);
      });

      test.each(misses)('is not found by %p', async (search) => {
        expect((await find(search)).map((found) => found.id)).not.toContain(id);
      });
    });

    test('100 characters of search may be 50 terms', async () => {
      const terms = Array.from({ length: 50 }, (_, n) => String.fromCodePoint(0x4e00 + n));
      const { id } = await publish({ title: terms.toReversed().join('') });
      expect((await find(terms.join(' '))).map((found) => found.id)).toEqual([id]);
      expect(await find(`${terms.slice(1).join(' ')} x`)).toEqual([]);
    });
  });

  test('a game is found by its original name and author, not by its description', async () => {
    const game = await app.aGame({
      title: 'remake',
      description: 'a description of its own',
      gameType: 'UNSOUGHT',
      tagNames: ['blue'],
      extraInfo: { originalName: 'Moonlight Sonata', originalAuthor: 'アオイ工房', platforms: ['Amiga'] },
    });
    for (const search of ['moonlight', 'SONATA', 'あおい工房', '工', 'remake moon アオイ blue']) {
      expect([search, (await searchGames(search)).map(({ id }) => id)]).toEqual([search, [game.id]]);
    }
    for (const search of ['description of', 'unsought', 'amiga', 'remakemoonlight', 'sonata青']) {
      expect([search, await searchGames(search)]).toEqual([search, []]);
    }
  });

  test('an image post is not found by its description', async () => {
    await app.anImagePost({ description: 'undiscovered' });
    expect(await searchPosts('undiscovered')).toEqual([]);
  });

  test('a cursor follows a page whose records were all deleted after the search', async () => {
    const [next, gone] = [await app.aGame({ title: 'vanishing 1' }), await app.aGame({ title: 'vanishing 2' })];
    // The index knows nothing of this, as if it happened between the search and the read of the records.
    await app.context.db.transaction(async (tx) => {
      await tx.execute('DELETE FROM games WHERE id = ?', [storedIdToBytes(gone.id)]);
    });
    const query = { limit: 1, search: 'vanishing' };
    const page = await app.call('game.list', { ...query, page: 1 });
    expect(page).toMatchObject({ items: [], hasMore: true, nextCursor: expect.any(String) });
    const { items, hasMore } = await app.call('game.list', { ...query, cursor: page.nextCursor ?? '' });
    expect(items.map(({ id }) => id)).toEqual([next.id]);
    expect(hasMore).toBe(false);
  });
});
