/**
 * @engines all second-server
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { gameKind } from '../../src/game/kind.ts';
import { imageKind } from '../../src/image/kind.ts';
import { type Draft, type Publication, publishAll } from '../../src/content/write/publish.ts';
import { newId } from '../../src/db/values.ts';
import { gameDraft } from '../../src/game/service.ts';
import { imagePostDraft } from '../../src/image/service.ts';
import { type Input, type Output, startApp, type TestApp } from '../harness/app/app.ts';
import { sortCounts } from '../harness/app/counts.ts';
import { engine } from '../harness/app/database.ts';

// Pages, cursors, sort modes, filters and totals of both lists; what `search` finds has a file of its own. Inputs
// that are refused before any database is asked are sent to one engine.

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.parse('2026-04-01T12:00:00.000Z');
const PICTURE = 'https://images.example.com/1.png';

let clock = NOW;
const app = await startApp({ now: () => new Date(clock) });
describe('lists', () => {
  afterAll(() => app.stop());

  type Page = Output<'game.list'> | Output<'image.list'>;
  type Query = Partial<Input<'image.list'>>;
  type Lister = (query: Query) => Promise<Page>;

  const listGames = (query: Partial<Input<'game.list'>>, of: TestApp = app) =>
    of.call('game.list', { limit: 100, page: 1, ...query });
  const listPosts = (query: Query, of: TestApp = app) => of.call('image.list', { limit: 100, page: 1, ...query });

  const idsOf = (records: readonly { id: string }[]): string[] => records.map(({ id }) => id);
  const titlesOf = ({ items }: Page): string[] => items.map(({ title }) => title);

  /** The ids on all pages, by their numbers. */
  const walkPages = async (list: Lister): Promise<string[]> => {
    const ids: string[] = [];
    for (let page = 1; ; page += 1) {
      const { items, hasMore, nextCursor } = await list({ page });
      ids.push(...idsOf(items));
      expect(nextCursor === null).toBe(!hasMore);
      if (!hasMore) return ids;
    }
  };

  /** The ids on all pages, from cursor to cursor. `between` runs after each page. */
  const walkCursors = async (list: Lister, between?: () => Promise<unknown>): Promise<string[]> => {
    const first = await list({ page: 1 });
    const ids = idsOf(first.items);
    const cursors = new Set<string>();
    for (let cursor = first.nextCursor; cursor !== null;) {
      if (cursors.has(cursor)) throw new Error('a page ends where an earlier one did: the walk would never end');
      cursors.add(cursor);
      await between?.();
      // A cursor wins over the page, were it one that does not exist.
      const { items, nextCursor } = await list({ page: 999_999, cursor });
      ids.push(...idsOf(items));
      cursor = nextCursor;
    }
    return ids;
  };

  const kinds = [
    {
      id: 'game.list' as const,
      otherId: 'image.list' as const,
      list: listGames as Lister,
      publish: (input: { title?: string; tagNames?: string[] }) => app.aGame(input),
    },
    {
      id: 'image.list' as const,
      otherId: 'game.list' as const,
      list: listPosts as Lister,
      publish: (input: { title?: string; tagNames?: string[] }) => app.anImagePost(input),
    },
  ];

  describe('a walk by pages and one by cursors show all that matches, once and in order', () => {
    /** 23 records; each six share an instant, and few differ in their counters. */
    const library = Array.from({ length: 23 }, (_, n) => {
      const createdAt = new Date(NOW - DAY - HOUR + Math.floor(n / 6) * HOUR);
      return {
        n,
        id: newId(createdAt),
        createdAt,
        title: n % 4 === 0 ? 'Dragon 竜' : 'Knight',
        gameType: n % 3 === 0 ? 'RPG' : undefined,
        tagNames: ['all', ...(n % 2 === 0 ? ['Even'] : []), ...(n % 5 < 3 ? ['Fifths'] : [])],
        counts: { viewCount: n % 3, likeCount: (n * 7) % 4, favoriteCount: (n * 5) % 3 },
      };
    });
    type Entry = (typeof library)[number];
    let walked: TestApp;

    beforeAll(async () => {
      walked = await startApp({ now: () => new Date(NOW) });
      const { id: authorId } = await walked.aUser();
      // The ids ascend; that the rows do not lie in their order must not matter.
      const shuffled = library.toSorted((a, b) => ((a.n * 5) % 23) - ((b.n * 5) % 23));
      const publications = (draftOf: (entry: Entry) => Draft): Publication[] =>
        shuffled.map((entry) => ({ ...entry, authorId, draft: draftOf(entry) }));
      await walked.context.db.transaction(async (tx) => {
        await publishAll(
          tx,
          gameKind,
          publications((entry) => gameDraft({ ...entry, isFree: true })),
        );
        await publishAll(
          tx,
          imageKind,
          publications((entry) => imagePostDraft({ ...entry, images: [PICTURE] })),
        );
      });
    });
    afterAll(() => walked.stop());

    type SortBy = keyof typeof sortCounts;

    const inOrder = (sortBy: SortBy, matches: (entry: Entry) => boolean): string[] => {
      const counter = sortCounts[sortBy];
      // The entries ascend by time and id.
      const sorted = library.filter(matches).toSorted((a, b) => counter(b) - counter(a) || b.n - a.n);
      return idsOf(sortBy === 'oldest' ? sorted.toReversed() : sorted);
    };

    const filters: { filter: Partial<Input<'game.list'>>; matches: (entry: Entry) => boolean }[] = [
      { filter: {}, matches: () => true },
      { filter: { search: 'ドラゴン' }, matches: () => false },
      { filter: { search: 'dragon 竜' }, matches: ({ n }) => n % 4 === 0 },
      { filter: { tagSlugs: ['all'] }, matches: () => true },
      { filter: { tagSlugs: ['even'] }, matches: ({ n }) => n % 2 === 0 },
      { filter: { tagSlugs: ['fifths', 'even', 'all'] }, matches: ({ n }) => n % 2 === 0 && n % 5 < 3 },
    ];
    const gameFilters: typeof filters = [
      ...filters,
      { filter: { gameType: 'rpg' }, matches: ({ gameType }) => gameType === 'RPG' },
      { filter: { timeRange: 'day' }, matches: ({ n }) => n >= 6 },
      {
        filter: { gameType: 'RPG', timeRange: 'day', tagSlugs: ['fifths'], search: 'k' },
        matches: ({ n }) => n >= 6 && n % 3 === 0 && n % 4 !== 0 && n % 5 < 3,
      },
    ];
    const crossed = <S extends SortBy>(sorts: readonly S[], all: typeof filters) =>
      sorts.flatMap((sortBy) => all.map((one) => ({ ...one, sortBy, name: JSON.stringify(one.filter) })));

    test.each(crossed(['latest', 'oldest', 'views', 'likes', 'favorites'], gameFilters))(
      'game.list by $sortBy with $name',
      async ({ filter, matches, sortBy }) => {
        const expected = inOrder(sortBy, matches);
        const list: Lister = (query) => listGames({ ...filter, limit: 8, sortBy, ...query }, walked);
        expect(await list({})).toMatchObject({ total: expected.length, totalRelation: 'eq' });
        expect(await walkPages(list)).toEqual(expected);
        expect(await walkCursors(list)).toEqual(expected);
      },
    );

    test.each(crossed(['latest', 'views'], filters))(
      'image.list by $sortBy with $name',
      async ({ filter, matches, sortBy }) => {
        const expected = inOrder(sortBy, matches);
        const list: Lister = (query) => listPosts({ ...(filter as Query), limit: 8, sortBy, ...query }, walked);
        expect(await list({})).toMatchObject({ total: expected.length, totalRelation: 'eq' });
        expect(await walkPages(list)).toEqual(expected);
        expect(await walkCursors(list)).toEqual(expected);
      },
    );
  });

  describe.each(kinds)('$id', ({ id, otherId, list, publish }) => {
    test('answers a page of summaries', async () => {
      const { description: _, ...record } = await publish({ tagNames: ['summaries'] });
      const { extraInfo: __, ...summary } = { extraInfo: undefined, ...record };
      expect(await list({ limit: 7, tagSlugs: ['summaries'] })).toEqual({
        items: [{ ...summary, viewer: null }],
        page: 1,
        limit: 7,
        total: 1,
        totalRelation: 'eq',
        hasMore: false,
        nextCursor: null,
      });
    });

    if (engine === 'sqlite') {
      test.each([0, 101, -1, 1.5, 1e300, '20', null, true])(
        'refuses the limit %p and names the range',
        async (limit) => {
          const { issues } = await app.fail(id, { limit, page: 1 }, 400);
          expect(issues).toEqual([
            {
              path: '/limit',
              code: expect.any(String),
              message: expect.stringMatching(/^must be a whole number from 1 to 100(, not \S.*)?$/),
            },
          ]);
        },
      );

      test.each([0, -1, 1.5, 2_147_483_648, '1', null])('refuses the page %p and names the range', async (page) => {
        const { issues } = await app.fail(id, { limit: 1, page }, 400);
        expect(issues).toEqual([
          {
            path: '/page',
            code: expect.any(String),
            message: expect.stringMatching(/^must be a whole number from 1 to 2147483647(, not \S.*)?$/),
          },
        ]);
      });

      test('needs limit and, without a cursor, page', async () => {
        const { issues } = await app.fail(id, {}, 400);
        expect(issues).toEqual([
          { path: '/limit', code: 'invalid_type', message: 'is required' },
          { path: '/page', code: 'invalid_type', message: 'is required without a cursor' },
        ]);
      });

      test.each([
        ['sortBy', 'rating', '/sortBy'],
        ['sortBy', '', '/sortBy'],
        ['search', '', '/search'],
        ['search', 'x'.repeat(101), '/search'],
        ['search', 'x\0', '/search'],
        ['cursor', '', '/cursor'],
        ['cursor', 'x'.repeat(1001), '/cursor'],
        ['tagSlugs', 'x', '/tagSlugs'],
        ['tagSlugs', Array.from({ length: 11 }, (_, n) => `x${n}`), '/tagSlugs'],
        ['tagSlugs', [''], '/tagSlugs/0'],
      ])('refuses %s %p', async (member, value, path) => {
        const { issues } = await app.fail(id, { limit: 1, page: 1, [member]: value }, 400);
        expect(issues).toEqual([{ path, code: expect.any(String), message: expect.any(String) }]);
      });

      test.each([
        [101, 100],
        [10_001, 1],
        [5001, 2],
        [2_147_483_647, 100],
      ])('refuses page %p of %p and leads to the cursor', async (page, limit) => {
        const { data } = await app.fail(id, { limit, page }, 404);
        expect(data).toMatchObject({ reason: 'PAGE_TOO_DEEP', hint: expect.stringContaining('`cursor`') });
      });
    }

    test.each([
      [100, 100],
      [10_000, 1],
    ])('answers page %p of %p, empty behind the end', async (page, limit) => {
      await publish({ tagNames: ['deep'] });
      expect(await list({ tagSlugs: ['deep'], page, limit })).toMatchObject({ items: [], page, hasMore: false });
    });

    test('an added record neither repeats nor hides another in a walk by cursor', async () => {
      const tagNames = ['growing'];
      const before: string[] = [];
      for (let n = 0; n < 7; n += 1) before.unshift((await publish({ tagNames })).id);
      const walk = await walkCursors(
        (query) => list({ limit: 2, tagSlugs: ['growing'], ...query }),
        () => publish({ tagNames }),
      );
      expect(walk).toEqual(before);
    });

    test('tagSlugs must all be there', async () => {
      const both = await publish({ tagNames: ['Both A', 'Both B'] });
      const first = await publish({ tagNames: ['Both A'] });
      expect(idsOf((await list({ tagSlugs: ['both-a'] })).items)).toEqual([first.id, both.id]);
      expect(idsOf((await list({ tagSlugs: ['both-a', 'both-b'] })).items)).toEqual([both.id]);
      expect(idsOf((await list({ tagSlugs: ['both-b', 'both-b'] })).items)).toEqual([both.id]);
      expect((await list({ tagSlugs: [] })).total).toBe((await list({})).total);
    });

    test.each(['no-such-tag', 'Known', 'known ', ' known', 'known%', '%', '_nown', "' OR 1=1 --"])(
      'the unknown slug %p gives an empty page, alone and beside a known one',
      async (slug) => {
        await publish({ tagNames: ['known'] });
        const nothing = { items: [], total: 0, totalRelation: 'eq', hasMore: false, nextCursor: null };
        expect(await list({ tagSlugs: [slug] })).toMatchObject(nothing);
        expect(await list({ tagSlugs: ['known', slug] })).toMatchObject(nothing);
      },
    );

    test('a blank search is no filter', async () => {
      await publish({});
      const { total, items } = await list({ limit: 3 });
      expect(await list({ limit: 3, search: ' \t　\n' })).toMatchObject({ total, items });
    });

    test('counts a new record at once', async () => {
      await publish({ tagNames: ['counted'] });
      const before = await list({ limit: 1 });
      await publish({ tagNames: ['counted'] });
      expect(await list({ limit: 1 })).toMatchObject({ total: before.total + 1, hasMore: true });
      expect(await list({ limit: 2, tagSlugs: ['counted'] })).toMatchObject({ total: 2, hasMore: false });
      expect(await list({ limit: 1, tagSlugs: ['counted'], search: 'no such title' })).toMatchObject({ total: 0 });
    });

    test('a cursor needs no page', async () => {
      for (const record of ['first', 'second']) {
        await app.aGame({ title: `${record} pageless` });
        await app.anImagePost({ title: `${record} pageless` });
      }
      const query = { search: 'pageless', limit: 1 };
      const { nextCursor } = await app.call(id, { ...query, page: 1 });
      const rest = await app.call(id, { ...query, cursor: nextCursor as string });
      expect(rest).toMatchObject({ page: 1, items: [{ title: 'first pageless' }] });
    });

    describe('a cursor', () => {
      const filter = { limit: 1, search: 'cursor walks', tagSlugs: ['cursor-a', 'cursor-b'], sortBy: 'views' as const };
      let cursor = '';
      let last = '';

      beforeAll(async () => {
        const input = { title: 'a cursor that walks', tagNames: ['cursor a', 'cursor b'] };
        last = (await publish(input)).id;
        await publish(input);
        cursor = (await list(filter)).nextCursor ?? '';
      });

      test('fits the same filters, however they are written, and any limit', async () => {
        const search = ' WALKS　ｃｕｒｓｏｒ';
        const query = { ...filter, search, tagSlugs: ['cursor-b', 'cursor-a', 'cursor-b'], limit: 9, page: 3 };
        expect(await list({ ...query, cursor })).toMatchObject({
          items: [{ id: last }],
          total: 2,
          page: 3,
          limit: 9,
          hasMore: false,
          nextCursor: null,
        });
      });

      if (engine === 'sqlite') {
        test.each([
          ['another search', { search: 'cursor' }],
          ['no search', { search: undefined }],
          ['another tag', { tagSlugs: ['cursor-a'] }],
          ['no tags', { tagSlugs: undefined }],
          ['another order', { sortBy: 'latest' }],
          ['the default order', { sortBy: undefined }],
        ])('of %s is refused', async (_, other) => {
          const { data } = await app.fail(id, { page: 1, ...filter, ...other, cursor }, 404);
          expect(data.reason).toBe('CURSOR_INVALID');
        });

        test('of the other list is refused', async () => {
          const { data } = await app.fail(otherId, { page: 1, ...filter, cursor }, 404);
          expect(data.reason).toBe('CURSOR_INVALID');
        });

        /** The cursor with other contents. */
        const forged = (change: (parts: unknown[]) => unknown): string =>
          Buffer.from(JSON.stringify(change(JSON.parse(Buffer.from(cursor, 'base64url').toString())))).toString(
            'base64url',
          );

        test.each<[name: string, forge: () => string]>([
          ['garbage', () => 'garbage'],
          ['emoji', () => '👾'],
          ['cut short', () => cursor.slice(0, -4)],
          ['no array', () => forged((parts) => Object.fromEntries(parts.entries()))],
          ['null', () => forged(() => null)],
          ['too few values', () => forged((parts) => parts.slice(0, -1))],
          ['too many values', () => forged((parts) => [...parts, 1])],
          ['another fingerprint', () => forged(([, ...values]) => ['AAAAAAAAAAAA', ...values])],
          ['a counter that is no whole number', () => forged(([made, , ...rest]) => [made, 1.5, ...rest])],
          ['a text as counter', () => forged(([made, , ...rest]) => [made, '1 OR 1=1', ...rest])],
          ['an object as counter', () => forged(([made, , ...rest]) => [made, {}, ...rest])],
          ['a text as time', () => forged(([made, count, , ...rest]) => [made, count, 'now', ...rest])],
          ['a time beyond all calendars', () => forged(([made, count, , ...rest]) => [made, count, 8.64e15, ...rest])],
          ['no id', () => forged((parts) => [...parts.slice(0, -1), 'x'])],
          ['null as id', () => forged((parts) => [...parts.slice(0, -1), null])],
        ])('that is forged is refused: %s', async (_, forge) => {
          const { data } = await app.fail(id, { page: 1, ...filter, cursor: forge() }, 404);
          expect(data.reason).toBe('CURSOR_INVALID');
        });
      }
    });
  });

  test('the sort modes follow what callers do', async () => {
    const reader = await app.aUser();
    const tagNames = ['popular'];
    const favored = await app.aGame({ title: 'favored', tagNames });
    const liked = await app.aGame({ title: 'liked', tagNames });
    const viewed = await app.aGame({ title: 'viewed', tagNames });
    const disliked = await app.aGame({ title: 'disliked', tagNames });
    await app.call('game.toggleFavorite', { gameId: favored.id }, reader.key);
    await app.call('game.toggleReaction', { gameId: liked.id, type: 'like' }, reader.key);
    await app.call('game.toggleReaction', { gameId: disliked.id, type: 'dislike' }, reader.key);
    await app.call('game.getById', { id: viewed.id });
    await app.context.routers.game.views.buffer.flush();

    for (const [sortBy, titles] of [
      [undefined, ['disliked', 'viewed', 'liked', 'favored']],
      ['latest', ['disliked', 'viewed', 'liked', 'favored']],
      ['oldest', ['favored', 'liked', 'viewed', 'disliked']],
      ['favorites', ['favored', 'disliked', 'viewed', 'liked']],
      ['likes', ['liked', 'disliked', 'viewed', 'favored']],
      ['views', ['viewed', 'disliked', 'liked', 'favored']],
    ] as const) {
      expect([sortBy, titlesOf(await listGames({ tagSlugs: ['popular'], sortBy }))]).toEqual([sortBy, titles]);
    }
  });

  describe('timeRange', () => {
    const ranges = { day: 1, week: 7, month: 30, year: 365 } as const;

    beforeAll(async () => {
      for (const [range, days] of Object.entries(ranges)) {
        for (const [where, age] of Object.entries({ in: days * DAY, out: days * DAY + 1 })) {
          clock = NOW - age;
          await app.aGame({ title: `${range}, just ${where}`, tagNames: ['ranges'] });
        }
      }
      clock = NOW;
    });

    test.each([
      ['day', 1],
      ['week', 3],
      ['month', 5],
      ['year', 7],
      ['all', 8],
      [undefined, 8],
    ] as const)('%p rolls back from now, to the millisecond', async (timeRange, length) => {
      const all = Object.keys(ranges).flatMap((range) => [`${range}, just in`, `${range}, just out`]);
      const page = await listGames({ tagSlugs: ['ranges'], timeRange });
      expect(titlesOf(page)).toEqual(all.slice(0, length));
      expect(page.total).toBe(length);
    });

    test('moves on with the clock', async () => {
      clock = NOW + 1;
      expect(titlesOf(await listGames({ tagSlugs: ['ranges'], timeRange: 'day' }))).toEqual([]);
      clock = NOW;
    });
  });

  test('gameType compares without regard to the case of ASCII letters, and whole', async () => {
    const tagNames = ['typed'];
    await app.aGame({ title: 'stored', gameType: 'Typed ü', tagNames });
    await app.aGame({ title: 'longer', gameType: 'Typed ü 2', tagNames });
    const found = async (gameType: string) => titlesOf(await listGames({ gameType, tagSlugs: ['typed'] }));
    expect(await found('TYPED ü')).toEqual(['stored']);
    expect(await found('typed ü')).toEqual(['stored']);
    expect(await found('typed Ü')).toEqual([]);
    expect(await found('typed')).toEqual([]);
    expect(await listGames({ gameType: 'tYPED ü' })).toMatchObject({ total: 1, totalRelation: 'eq' });
    expect(await listGames({ gameType: 'nobody has it' })).toMatchObject({ items: [], total: 0 });
  });

  if (engine === 'sqlite') {
    test.each(['likes', 'oldest', 'favorites', 'timeRange', 'gameType'])('image.list has no %s', async (name) => {
      const input = { limit: 1, page: 1, ...(/T/.test(name) ? { [name]: 'all' } : { sortBy: name }) };
      const { issues } = await app.fail('image.list', input, 400);
      expect(issues).toHaveLength(1);
    });
  }

  describe('past 10 000 matches', () => {
    const EXACTLY = 10_000;
    const MORE = 5;
    let bulk: TestApp;

    beforeAll(async () => {
      bulk = await startApp();
      const { id: authorId } = await bulk.aUser();
      const createdAt = new Date(NOW);
      const publications = Array.from({ length: EXACTLY + MORE }, (_, n): Publication => {
        const title = n < EXACTLY ? 'many' : 'more';
        const draft = gameDraft({ title, isFree: true, gameType: 'bulk', tagNames: ['bulk'] });
        return { id: newId(createdAt), authorId, createdAt, draft };
      });
      await bulk.context.db.transaction((tx) => publishAll(tx, gameKind, publications));
    });
    afterAll(() => bulk.stop());

    test.each([
      ['all games', {}],
      ['a type', { gameType: 'BULK' }],
      ['a tag', { tagSlugs: ['bulk'] }],
    ])('the total of %s stays exact', async (_, filter) => {
      expect(await listGames({ limit: 1, ...filter }, bulk)).toMatchObject({
        total: EXACTLY + MORE,
        totalRelation: 'eq',
      });
    });

    test.each([
      ['search', { search: 'm' }],
      ['type and tag', { gameType: 'BULK', tagSlugs: ['bulk'] }],
    ])('counting stops: %s', async (_, filter) => {
      expect(await listGames({ limit: 1, ...filter }, bulk)).toMatchObject({ total: EXACTLY, totalRelation: 'gte' });
    });

    test('10 000 itself is exact', async () => {
      expect(await listGames({ limit: 1, search: 'many' }, bulk)).toMatchObject({
        total: EXACTLY,
        totalRelation: 'eq',
      });
    });

    test('pages end, and the cursor of the last one leads on', async () => {
      const last = await listGames({ page: 100, sortBy: 'oldest' }, bulk);
      expect(last).toMatchObject({ hasMore: true, nextCursor: expect.any(String) });
      expect(new Set(titlesOf(last))).toEqual(new Set(['many']));
      const cursor = String(last.nextCursor);
      const next = await listGames({ sortBy: 'oldest', cursor }, bulk);
      expect(titlesOf(next)).toEqual(Array.from({ length: MORE }, () => 'more'));
      expect(next).toMatchObject({ hasMore: false, nextCursor: null, total: EXACTLY + MORE });
    });
  });
});
