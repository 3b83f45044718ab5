/**
 * @engines sqlite
 * @tier long
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { normalise } from '../../src/search/text.ts';
import { slugOf } from '../../src/content/tag/slug.ts';
import { type Input, type Output, startApp } from '../harness/app/app.ts';
import { engine } from '../harness/app/database.ts';

type GameInput = Input<'game.create'>;
type Game = Output<'game.getById'>;
type Filters = Omit<Input<'game.list'>, 'page' | 'limit' | 'cursor'>;

const BATCH = 100;
const isSqlite = engine === 'sqlite';
/** A server, to which each costs trips, plans all of them alike. */
const SEARCHES = isSqlite ? 100 : 30;
/** The other orders `list.test.ts` walks through on each engine, among fewer games. */
const sorts = isSqlite
  ? (['latest', 'oldest', 'views', 'likes', 'favorites'] as const)
  : (['latest', 'views'] as const);
/** Searches that find more are compared by their first page and total: their walks would take most of the time. */
const LONGEST_WALK = 500;

const inputs = gunzipSync(readFileSync('test/data/games.jsonl.gz'))
  .toString()
  .trimEnd()
  .split('\n')
  .map((line): GameInput => (JSON.parse(line) as { game: GameInput }).game);

const app = await startApp();
describe('games as they are published', () => {
  afterAll(() => app.stop());

  let games: Game[];
  let key: string;

  beforeAll(async () => {
    ({ key } = await app.aUser());
    games = [];
    for (let start = 0; start < inputs.length; start += BATCH) {
      const { items } = await app.call('game.batchCreate', { games: inputs.slice(start, start + BATCH) }, key);
      games.push(...items);
    }
  });

  /** The ids of all matches, page by page. */
  const walkPages = async (filters: Filters): Promise<string[]> => {
    const ids: string[] = [];
    for (let page = 1; ; page += 1) {
      const { items, hasMore } = await app.call('game.list', { ...filters, limit: BATCH, page });
      ids.push(...items.map((game) => game.id));
      if (!hasMore) return ids;
    }
  };

  /** The ids of all matches, from cursor to cursor. */
  const walkCursors = async (filters: Filters): Promise<string[]> => {
    const first = await app.call('game.list', { ...filters, limit: BATCH, page: 1 });
    const ids = first.items.map((game) => game.id);
    for (let cursor = first.nextCursor; cursor !== null;) {
      const next = await app.call('game.list', { ...filters, limit: BATCH, page: 1, cursor });
      ids.push(...next.items.map((game) => game.id));
      cursor = next.nextCursor;
    }
    return ids;
  };

  test('all 2 425 games are stored', () => {
    expect(games.map((game) => game.title)).toEqual(inputs.map((input) => input.title));
    expect(games).toHaveLength(2425);
  });

  test('each is as it was sent', () => {
    for (const [index, game] of games.entries()) {
      const input = inputs[index];
      const { title, description, gameType, isFree, version, coverUrl, tags, extraInfo } = game;
      expect({ title, description, gameType, isFree, version, coverUrl }).toEqual({
        title: input?.title,
        description: input?.description ?? null,
        gameType: input?.gameType?.toUpperCase() ?? null,
        isFree: input?.isFree ?? true,
        version: input?.version ?? null,
        coverUrl: input?.coverUrl ?? null,
      });
      expect(extraInfo).toEqual({
        originalName: input?.extraInfo?.originalName ?? null,
        originalAuthor: input?.extraInfo?.originalAuthor ?? null,
        fileSize: input?.extraInfo?.fileSize ?? null,
        platforms: input?.extraInfo?.platforms ?? [],
        screenshots: input?.extraInfo?.screenshots ?? [],
        downloads: (input?.extraInfo?.downloads ?? []).map((download) => ({ password: null, ...download })),
      });
      expect(tags.map((tag) => tag.slug)).toEqual([...new Set(input?.tagNames?.map(slugOf))]);
    }
  });

  test('each reads back as it was answered: in lists all, by its id one in eight', async () => {
    const byId = new Map(games.map((game) => [game.id, game]));
    for (let page = 1; byId.size > 0; page += 1) {
      const { items } = await app.call('game.list', { limit: BATCH, page }, key);
      expect(items.length).toBeGreaterThan(0);
      for (const item of items) {
        expect(byId.get(item.id)).toMatchObject(item);
        byId.delete(item.id);
      }
    }
    for (const [index, game] of games.entries()) {
      if (index % 8 === 0) expect(await app.call('game.getById', { id: game.id }, key)).toEqual(game);
    }
    // Or else they are counted while somebody pages through them.
    await app.context.routers.game.views.buffer.flush();
  });

  test.each(sorts)(
    'sorted by %s, pages and cursors show every game exactly once, in the same order',
    async (sortBy) => {
      const pages = await walkPages({ sortBy });
      const ids = await walkCursors({ sortBy });
      expect(ids).toEqual(pages);
      expect(ids.toSorted()).toEqual(games.map((game) => game.id).toSorted());
    },
  );

  /** Pseudo-random numbers from 0 to 1, the same in each run: Marsaglia's xorshift32. */
  const createRandom = (seed: number) => {
    let state = seed;
    return () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) / 2 ** 32;
    };
  };

  /** What a search looks at, game by game, the latest first. */
  const searchable = (): { id: string; texts: string[] }[] =>
    games
      .toSorted((a, b) => (a.createdAt + a.id < b.createdAt + b.id ? 1 : -1))
      .map(({ id, title, extraInfo: { originalName, originalAuthor }, tags }) => ({
        id,
        texts: [title, originalName ?? '', originalAuthor ?? '', ...tags.map((tag) => tag.name)].map(normalise),
      }));

  /** What a search has to find: all its words, each anywhere in one of the texts. */
  const scan = (search: string, all: ReturnType<typeof searchable>): string[] => {
    const words = normalise(search)
      .split(/\s+/)
      .filter((word) => word !== '');
    return all
      .filter(({ texts }) => words.every((word) => texts.some((text) => text.includes(word))))
      .map((game) => game.id);
  };

  test(`${SEARCHES} random pieces of titles find what a plain scan finds`, async () => {
    const random = createRandom(20_261_120);
    const all = searchable();
    let found = 0;
    for (let n = 0; n < SEARCHES; n += 1) {
      const title = Array.from(games[Math.floor(random() * games.length)]?.title ?? '');
      const length = 1 + Math.floor(random() * 6);
      const start = Math.floor(random() * Math.max(title.length - length, 1));
      const search = title.slice(start, start + length).join('');
      const expected = scan(search, all);
      const { items, total } = await app.call('game.list', { search, limit: BATCH, page: 1 });
      expect({ search, total, ids: items.map((game) => game.id) }).toEqual({
        search,
        total: expected.length,
        ids: expected.slice(0, BATCH),
      });
      if (total > BATCH && total <= LONGEST_WALK) {
        expect({ search, ids: await walkCursors({ search }) }).toEqual({ search, ids: expected });
      }
      found += total;
    }
    expect(found).toBeGreaterThan(SEARCHES);
  });
});
