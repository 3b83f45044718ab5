/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Output, startApp } from '../harness/app/app.ts';

// This tests games alone: test/content/publishing.test.ts tests what they share with image posts.

const app = await startApp();
afterAll(() => app.stop());

const idsOf = (games: readonly { id: string }[]): string[] => games.map(({ id }) => id);

/** The number of games by type. */
const countsOf = ({ items }: Output<'game.getTypeStats'>) =>
  Object.fromEntries(items.map(({ gameType, count }) => [gameType ?? '(none)', count]));

/** Publishes games under these titles. */
const aLibrary = async (games: Record<string, Parameters<typeof app.aGame>[0]>) => {
  const author = await app.aUser();
  const inputs = Object.entries(games).map(([title, game]) => ({ title, ...game }));
  const { items } = await app.call('game.batchCreate', { games: inputs }, author.key);
  return Object.fromEntries(items.map((game) => [game.title, game.id]));
};

/** The titles of the games related to one. */
const relatedTitles = async (gameId: string | undefined, limit?: number): Promise<string[]> => {
  const { items } = await app.call('game.getRelated', { gameId: String(gameId), limit });
  return items.map(({ title }) => title);
};

describe('game.create', () => {
  test('stores what it is given and answers it whole', async () => {
    const author = await app.aUser({ nickname: '花子' });
    const input = {
      title: '伝説の騎士 Ω',
      description: 'Zeile 1\nZeile 2',
      coverUrl: 'https://images.example.com/cover.png?size=2#top',
      gameType: 'rpg',
      isFree: false,
      version: 'Ver1.20',
      tagNames: ['Open World', 'ファンタジー', 'open world'],
      extraInfo: {
        originalName: 'Knights of Legend',
        originalAuthor: '青い丘工房',
        fileSize: '1.5 GB',
        platforms: ['Windows', 'Android'],
        screenshots: ['http://images.example.com/1.png'],
        downloads: [
          { name: 'mirror', url: 'magnet:?xt=urn:btih:abc', password: '秘密' },
          { name: 'direct', url: 'https://files.example.com/a.zip' },
        ],
      },
    };
    const game = await app.call('game.create', input, author.key);
    expect(game).toEqual({
      ...input,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      gameType: 'RPG',
      tags: [
        { name: 'Open World', slug: 'open-world' },
        { name: 'ファンタジー', slug: 'ファンタジー' },
      ],
      tagNames: undefined,
      author: { id: author.id, nickname: '花子', avatar: null },
      viewCount: 0,
      likeCount: 0,
      dislikeCount: 0,
      favoriteCount: 0,
      viewer: { favorited: false, reaction: null },
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: game.createdAt,
      extraInfo: {
        ...input.extraInfo,
        downloads: [input.extraInfo.downloads[0], { ...input.extraInfo.downloads[1], password: null }],
      },
    });
    expect(await app.call('game.getById', { id: game.id }, author.key)).toEqual(game);
  });

  test('needs a title only: all else is null, empty or its default', async () => {
    const { key, id, nickname } = await app.aUser();
    const game = await app.call('game.create', { title: 'x' }, key);
    expect(game).toEqual({
      id: expect.any(String),
      title: 'x',
      description: null,
      coverUrl: null,
      gameType: null,
      isFree: true,
      version: null,
      tags: [],
      author: { id, nickname, avatar: null },
      viewCount: 0,
      likeCount: 0,
      dislikeCount: 0,
      favoriteCount: 0,
      viewer: { favorited: false, reaction: null },
      createdAt: expect.any(String),
      updatedAt: game.createdAt,
      extraInfo: {
        originalName: null,
        originalAuthor: null,
        fileSize: null,
        platforms: [],
        screenshots: [],
        downloads: [],
      },
    });
  });

  test('upper-cases the ASCII letters of the type and no others', async () => {
    expect((await app.aGame({ gameType: 'Visual-novel ß é' })).gameType).toBe('VISUAL-NOVEL ß é');
  });

  test('spells a tag as it was first spelled, whoever writes it', async () => {
    await app.aGame({ tagNames: ['Café Noir'] });
    const { tags } = await app.aGame({ tagNames: ['#new', 'CAFÉ  noir!', '🐉'] });
    expect(tags).toEqual([
      { name: '#new', slug: 'new' },
      { name: 'Café Noir', slug: 'café-noir' },
      { name: '🐉', slug: expect.stringMatching(/^t-[0-9a-f]{8}$/) },
    ]);
  });
});

describe('game.batchCreate', () => {
  test('stores games in their order', async () => {
    const author = await app.aUser();
    const games = [
      { title: 'third', gameType: 'adv', tagNames: ['batch order', 'b'] },
      { title: 'first', isFree: false, extraInfo: { platforms: ['Switch'] } },
      { title: 'second', description: 'same tag', tagNames: ['Batch Order'] },
    ];
    const { items } = await app.call('game.batchCreate', { games }, author.key);
    expect(items).toMatchObject([
      { title: 'third', gameType: 'ADV', isFree: true, tags: [{ slug: 'batch-order' }, { slug: 'b' }] },
      { title: 'first', isFree: false, tags: [], extraInfo: { platforms: ['Switch'] } },
      { title: 'second', description: 'same tag', tags: [{ name: 'batch order' }] },
    ]);
    for (const game of items) expect(await app.call('game.getById', { id: game.id }, author.key)).toEqual(game);
    const listed = await app.call('game.list', { limit: 10, page: 1, tagSlugs: ['batch-order'], sortBy: 'oldest' });
    expect(idsOf(listed.items)).toEqual([items[0]?.id, items[2]?.id]);
  });
});

describe('game.getTypeStats', () => {
  test('counts the games of each type and those without one', async () => {
    const author = await app.aUser();
    const before = await app.call('game.getTypeStats', {});
    const games = ['stat a', 'STAT A', 'stat b', undefined].map((gameType) => ({ title: 'x', gameType }));
    await app.call('game.batchCreate', { games }, author.key);
    await app.aGame({ gameType: 'Stat B' }, author);
    await app.aGame({ gameType: 'stat b' }, author);

    const after = await app.call('game.getTypeStats', {});
    const untyped = countsOf(before)['(none)'] ?? 0;
    expect(countsOf(after)).toEqual({ ...countsOf(before), 'STAT A': 2, 'STAT B': 3, '(none)': untyped + 1 });
    expect(after.total).toBe(before.total + 6);
    expect(after.items).toContainEqual({ gameType: null, count: untyped + 1 });
  });

  test('begins with the most frequent type', async () => {
    const { items, total } = await app.call('game.getTypeStats', {});
    const counts = items.map(({ count }) => count);
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));
    expect(total).toBe(counts.reduce((sum, count) => sum + count, 0));
  });

  test('counts 500 types one by one, and the games of all others together', async () => {
    const other = await startApp();
    const { key } = await other.aUser();
    const typed = (gameType?: string) => ({ title: 'x', gameType });
    expect(await other.call('game.getTypeStats', {})).toEqual({ items: [], otherCount: 0, total: 0 });

    // 499 types with one game each, and games without a type, which count as one type.
    const types = Array.from({ length: 499 }, (_, n) => `T${n}`).toSorted();
    const games = [...types.map(typed), typed(), typed(), typed()];
    while (games.length > 0) await other.call('game.batchCreate', { games: games.splice(-100) }, key);
    const full = await other.call('game.getTypeStats', {});
    expect(full).toEqual({
      items: [{ gameType: null, count: 3 }, ...types.map((gameType) => ({ gameType, count: 1 }))],
      otherCount: 0,
      total: 502,
    });

    // Two more, of which one is frequent: the last ones by name have to give way.
    const more = [typed('frequent'), typed('frequent'), typed('zzz')];
    await other.call('game.batchCreate', { games: more }, key);
    expect(await other.call('game.getTypeStats', {})).toEqual({
      items: [{ gameType: null, count: 3 }, { gameType: 'FREQUENT', count: 2 }, ...full.items.slice(1, -1)],
      otherCount: 2,
      total: 505,
    });
    await other.stop();
  });
});

describe('game.getRelated', () => {
  test('weighs a rare shared tag more than a common one', async () => {
    const ids = await aLibrary({
      'rare and common': { tagNames: ['weight rare', 'weight common'] },
      common: { tagNames: ['weight common'] },
      rare: { tagNames: ['weight rare'] },
      source: { tagNames: ['weight rare', 'weight common'] },
      'also common': { tagNames: ['weight common', 'weight other'] },
      'nothing shared': { tagNames: ['weight other'] },
    });
    expect(await relatedTitles(ids['source'], 4)).toEqual(['rare and common', 'rare', 'also common', 'common']);
  });

  test('weighs a tag that n of all games have ln(1 + all / n), the same type 0.5, and the same original author 2', async () => {
    const other = await startApp();
    const author = await other.aUser();
    const extraInfo = { originalAuthor: 'same' };
    const times = (n: number, title: string, game: object = { tagNames: [title] }): object[] =>
      Array.from({ length: n }, () => ({ title, ...game }));
    const games = [
      ...times(1, 'source', { tagNames: ['of 3', 'of 5', 'of 4', 'of 7'], gameType: 'same' }),
      ...times(1, 'of 5, type', { tagNames: ['of 5'], gameType: 'same' }), // 3.04 + 0.5
      ...times(2, 'of 3'), // 3.54
      ...times(3, 'of 4'), // 3.26
      ...times(1, 'of 7, type', { tagNames: ['of 7'], gameType: 'same' }), // 2.73 + 0.5
      ...times(3, 'of 5'),
      ...times(5, 'of 7'),
      ...times(1, 'another source', { tagNames: ['of 15', 'of 16'], extraInfo }),
      ...times(14, 'of 15'), // 2.04
      ...times(1, 'author', { extraInfo }), // 2
      ...times(15, 'of 16'), // 1.98
    ];
    const { items } = await other.call(
      'game.batchCreate',
      { games: [...games, ...times(100 - games.length, 'nothing', {})] as never },
      author.key,
    );
    const related = async (title: string, limit: number): Promise<string[]> => {
      const gameId = items.find((game) => game.title === title)!.id;
      return (await other.call('game.getRelated', { gameId, limit })).items.map((game) => game.title);
    };
    expect(await related('source', 10)).toEqual([
      'of 5, type',
      'of 3',
      'of 3',
      ...Array<string>(3).fill('of 4'),
      'of 7, type',
      ...Array<string>(3).fill('of 5'),
    ]);
    expect(await related('another source', 16)).toEqual([...Array<string>(14).fill('of 15'), 'author', 'of 16']);
    await other.stop();
  });

  test('puts the more often favorited first among equals, then the newer', async () => {
    const tagNames = ['equals'];
    const ids = await aLibrary({ older: { tagNames }, loved: { tagNames }, newer: { tagNames }, source: { tagNames } });
    const { key } = await app.aUser();
    await app.call('game.toggleFavorite', { gameId: String(ids['loved']) }, key);
    expect(await relatedTitles(ids['source'], 3)).toEqual(['loved', 'newer', 'older']);
  });

  test('is filled up from the same type, then from the latest, without repeating any', async () => {
    const ids = await aLibrary({
      'same type, older': { gameType: 'filled' },
      'same type, newer': { gameType: 'filled' },
      source: { gameType: 'filled', tagNames: ['filled'] },
      'shares a tag': { tagNames: ['filled'] },
      latest: {},
    });
    const related = await relatedTitles(ids['source']);
    expect(related.slice(0, 4)).toEqual(['shares a tag', 'same type, newer', 'same type, older', 'latest']);
    expect(related).toHaveLength(6);
    // The tag counts the source itself, so two games with it are too few for two that share it.
    expect(await relatedTitles(ids['source'], 2)).toEqual(related.slice(0, 2));
  });

  test('never holds the game itself and holds no game twice, up to 24', async () => {
    const tagNames = ['many'];
    const games = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`many ${n}`, { tagNames }]));
    const ids = await aLibrary(games);
    const gameId = String(ids['many 29']);
    const { items } = await app.call('game.getRelated', { gameId, limit: 24 });
    expect(idsOf(items)).toHaveLength(24);
    expect(new Set([...idsOf(items), gameId]).size).toBe(25);
    expect(items.every(({ tags }) => tags[0]?.slug === 'many')).toBe(true);
  });

  test.each([0, 25, 1.5, '6', null])('refuses the limit %p', async (limit) => {
    const { id } = await app.aGame();
    const { issues } = await app.fail('game.getRelated', { gameId: id, limit }, 400);
    expect(issues).toEqual([
      {
        path: '/limit',
        code: expect.any(String),
        message: expect.stringMatching(/^must be a whole number from 1 to 24(, not \S.*)?$/),
      },
    ]);
  });

  test('shows the caller their own relation to each game', async () => {
    const viewer = await app.aUser();
    const ids = await aLibrary({ seen: { tagNames: ['seen'] }, source: { tagNames: ['seen'] } });
    await app.call('game.toggleReaction', { gameId: String(ids['seen']), type: 'like' }, viewer.key);
    const input = { gameId: String(ids['source']), limit: 1 };
    const own = await app.call('game.getRelated', input, viewer.key);
    const anonymous = await app.call('game.getRelated', input);
    expect(own.items[0]).toMatchObject({ title: 'seen', viewer: { favorited: false, reaction: 'like' } });
    expect(anonymous.items[0]).toMatchObject({ title: 'seen', viewer: null });
  });
});
