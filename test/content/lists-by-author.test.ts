/**
 * @engines all second-server
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { timeRangeDays } from '../../contract/index.ts';
import { moveRecords } from '../../src/admin/moderation/move.ts';
import { systemActor } from '../../src/auth/audit/log.ts';
import type { Parameter } from '../../src/db/connection.ts';
import { type Draft, publishAll } from '../../src/content/write/publish.ts';
import { newId, storedIdToBytes } from '../../src/db/values.ts';
import { gameKind } from '../../src/game/kind.ts';
import { gameDraft } from '../../src/game/service.ts';
import { imageKind } from '../../src/image/kind.ts';
import { imagePostDraft } from '../../src/image/service.ts';
import { Random } from '../../src/sandbox/seed/random.ts';
import { type Input, type Output, startApp, type TestUser } from '../harness/app/app.ts';
import { sortCounts } from '../harness/app/counts.ts';
import { engine } from '../harness/app/database.ts';
import { interceptReads } from '../harness/documents/reads.ts';

// Lists by `authorId`, alone and with other filters, held against a model of a few authors' records.

const DAY = 86_400_000;
const NOW = Date.parse('2026-04-01T12:00:00.000Z');
const PICTURE = 'https://images.example.com/1.png';
/** The search index answers for authors with more than 1000 records. */
const RECORDS = { many: 1030, few: 60, other: 150 };
const BATCH = 250;
const TITLES = ['dragon', 'snow', 'knight', '竜の伝説'];
const TAGS = ['alpha', 'beta', 'gamma', 'omega'];
const TYPES = ['RPG', 'ADV', undefined];
const SORTS = ['latest', 'oldest', 'views', 'likes', 'favorites'] as const;
const NOTHING = { items: [], total: 0, totalRelation: 'eq', hasMore: false, nextCursor: null };

type AuthorName = keyof typeof RECORDS;
type SortBy = (typeof SORTS)[number];
type Page = Output<'game.list'> | Output<'image.list'>;
type Filter = Pick<Input<'game.list'>, 'gameType' | 'tagSlugs' | 'timeRange' | 'search'>;

const random = new Random('lists by author');
const some = <T>(items: readonly T[], chance: number): T[] => items.filter(() => random.chance(chance));

const library = (Object.keys(RECORDS) as AuthorName[])
  .flatMap((author) => Array.from({ length: RECORDS[author] }, () => author))
  .map((author) => {
    // Some share an instant, none lies at the edge of a time range.
    const createdAt = new Date(NOW - (random.between(0, 500) + 0.5) * DAY * random.pick([1, 0.1]));
    return {
      author,
      id: newId(createdAt),
      createdAt,
      title: [random.pick(TITLES), ...some(TITLES, 0.3), 'tale'].join(' '),
      gameType: random.pick(TYPES),
      tagNames: some(TAGS, 0.5),
      counts: {
        viewCount: random.between(0, 9),
        likeCount: random.between(0, 3),
        favoriteCount: random.between(0, 50),
      },
    };
  })
  .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));
type Entry = (typeof library)[number];

const matches = (entry: Entry, { gameType, tagSlugs = [], timeRange = 'all', search = '' }: Filter): boolean =>
  (gameType === undefined || entry.gameType === gameType) &&
  tagSlugs.every((slug) => entry.tagNames.includes(slug)) &&
  (timeRange === 'all' || entry.createdAt.getTime() >= NOW - timeRangeDays[timeRange] * DAY) &&
  search.split(' ').every((word) => entry.title.includes(word));

/** The ids that a list must have, in order. */
const expectedIds = (author: AuthorName, filter: Filter, sortBy: SortBy): string[] => {
  const of = sortCounts[sortBy];
  const sorted = library
    .map((entry, n) => ({ entry, n }))
    .filter(({ entry }) => entry.author === author && matches(entry, filter))
    .toSorted((a, b) => of(b.entry) - of(a.entry) || b.n - a.n)
    .map(({ entry }) => entry.id);
  return sortBy === 'oldest' ? sorted.toReversed() : sorted;
};

const filters: Filter[] = [
  {},
  { tagSlugs: ['alpha'] },
  { tagSlugs: ['alpha', 'omega'] },
  { tagSlugs: ['gamma', 'beta', 'alpha'] },
  { search: 'dragon' },
  { search: 'dragon snow knight' },
  // It has more matches than each author has records.
  { search: 'tale' },
  { search: '伝説 sno' },
  { search: 'knight', tagSlugs: ['beta'] },
];
const gameFilters: Filter[] = [
  ...filters,
  { gameType: 'RPG' },
  { gameType: 'ADV', tagSlugs: ['beta'] },
  { timeRange: 'week' },
  { timeRange: 'month', tagSlugs: ['omega'] },
  { timeRange: 'year', search: 'snow' },
  { gameType: 'RPG', timeRange: 'year', tagSlugs: ['alpha', 'beta'], search: 'dragon 竜' },
];

const app = await startApp({ now: () => new Date(NOW) });

const kinds = [
  {
    id: 'game.list' as const,
    deletion: 'game.delete' as const,
    kind: gameKind,
    sorts: SORTS,
    filters: gameFilters,
    draftOf: (entry: Entry): Draft => gameDraft({ ...entry, isFree: true }),
    publish: (input: { tagNames?: string[] }, author: TestUser) => app.aGame(input, author),
    favor: (id: string, key: string) => app.call('game.toggleFavorite', { gameId: id }, key),
  },
  {
    id: 'image.list' as const,
    deletion: 'image.delete' as const,
    kind: imageKind,
    sorts: ['latest', 'views'] as const,
    filters,
    draftOf: (entry: Entry): Draft => imagePostDraft({ ...entry, images: [PICTURE] }),
    publish: (input: { tagNames?: string[] }, author: TestUser) => app.anImagePost(input, author),
    favor: (id: string, key: string) => app.call('image.toggleFavorite', { imagePostId: id }, key),
  },
];

afterAll(() => app.stop());

describe.each(kinds)('$id by author', ({ id, deletion, kind, sorts, filters: all, draftOf, publish, favor }) => {
  const authors = {} as Record<AuthorName, TestUser>;
  const list = (query: object, key?: string): Promise<Page> => app.call(id, { limit: 20, page: 1, ...query }, key);
  const idsOf = ({ items }: Page): string[] => items.map((item) => item.id);

  beforeAll(async () => {
    for (const name of Object.keys(RECORDS) as AuthorName[]) authors[name] = await app.aUser();
    // The ids ascend; that the rows do not lie in their order must not matter.
    const shuffled = library.toSorted((a, b) => a.title.localeCompare(b.title));
    const publications = shuffled.map((entry) => ({
      ...entry,
      authorId: authors[entry.author].id,
      draft: draftOf(entry),
    }));
    for (let start = 0; start < publications.length; start += BATCH) {
      await app.context.db.transaction((tx) => publishAll(tx, kind, publications.slice(start, start + BATCH)));
    }
  });

  /** Walks to the end, by page or by cursor, and expects the total of each page. */
  const walk = async (query: object, limit: number, total: number, isByCursor: boolean): Promise<string[]> => {
    const ids: string[] = [];
    let cursor: string | null = null;
    for (let page = 1; ; page += 1) {
      const one: Page = await list({ ...query, limit, ...(cursor === null ? { page } : { cursor }) });
      ids.push(...idsOf(one));
      expect(one).toMatchObject({ total, totalRelation: 'eq', hasMore: ids.length < total });
      expect(one.nextCursor === null).toBe(!one.hasMore);
      if (!one.hasMore) return ids;
      if (isByCursor) cursor = one.nextCursor;
    }
  };

  test.each(
    (Object.keys(RECORDS) as AuthorName[]).flatMap((author) => sorts.map((sortBy) => [author, sortBy] as const)),
  )('has the records of the author with %s by %s', async (author, sortBy) => {
    for (const filter of all) {
      const expected = expectedIds(author, filter, sortBy);
      const query = { ...filter, sortBy, authorId: authors[author].id };
      const limit = Math.min(100, Math.ceil(expected.length / 3) + 1);
      for (const isByCursor of [false, true]) {
        const ids = await walk(query, limit, expected.length, isByCursor);
        expect({ filter, isByCursor, ids }).toEqual({ filter, isByCursor, ids: expected });
      }
    }
  });

  if (engine === 'sqlite') {
    test('reads the matches of a search by their ids, however many records the author has', async () => {
      const statements: [string, readonly Parameter[] | undefined][] = [];
      const restore = interceptReads(app.context.db, (read) => (sql, parameters) => {
        statements.push([sql, parameters ?? []]);
        return read(sql, parameters);
      });
      await list({ search: 'dragon snow knight', authorId: authors.many.id }).finally(restore);
      const plans = await Promise.all(
        statements.map(([sql, parameters]) => app.context.db.read(`EXPLAIN QUERY PLAN ${sql}`, parameters)),
      );
      expect(JSON.stringify(plans)).not.toContain(`${kind.table}_author`);
    });
  }

  test('shows each viewer what the viewer did', async () => {
    const author = await app.aUser();
    const [first, second] = [await publish({}, author), await publish({}, author)];
    await favor(first.id, authors.few.key);
    const viewers = async (key?: string) =>
      (await list({ authorId: author.id }, key)).items.map((item) => [item.id, item.viewer]);
    const none = { favorited: false, reaction: null };
    expect(Object.fromEntries(await viewers(authors.few.key))).toEqual({
      [first.id]: { ...none, favorited: true },
      [second.id]: none,
    });
    expect(Object.fromEntries(await viewers())).toEqual({ [first.id]: null, [second.id]: null });
  });

  test.each(['x', '%', 'ffffffff-ffff-ffff-ffff-fffffffffff', "' OR 1=1 --", newId(new Date(NOW))])(
    'has nothing of the unknown author %p',
    async (authorId) => {
      for (const filter of all) expect(await list({ ...filter, authorId })).toMatchObject(NOTHING);
      for (const sortBy of sorts) expect(await list({ sortBy, authorId, page: 3 })).toMatchObject(NOTHING);
    },
  );

  test('has a new record at once, and none that was deleted or moved', async () => {
    const [author, heir] = [await app.aUser(), await app.aUser()];
    const queries = (authorId: string) =>
      [{}, { tagSlugs: ['alpha'] }, { sortBy: 'views' }, { sortBy: 'views', tagSlugs: ['alpha', 'new'] }].map(
        (query) => ({ ...query, authorId }),
      );
    const expectAll = async ({ id: authorId }: TestUser, ids: readonly string[]): Promise<void> => {
      for (const query of queries(authorId)) {
        const page = await list(query);
        expect({ ...page, items: idsOf(page).toSorted() }).toMatchObject({
          ...NOTHING,
          items: ids.toSorted(),
          total: ids.length,
        });
      }
    };
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      await expectAll(author, ids);
      ids.push((await publish({ tagNames: ['alpha', 'new'] }, author)).id);
    }
    await expectAll(author, ids);
    await app.call(deletion, { id: ids.pop()! }, author.key);
    await expectAll(author, ids);
    const owners = { from: author.id, to: heir.id };
    await moveRecords(app.context.db, kind, ids.map(storedIdToBytes), owners, systemActor());
    await expectAll(author, []);
    await expectAll(heir, ids);
    for (const one of ids) await app.call(deletion, { id: one }, heir.key);
    await expectAll(heir, []);
  });

  test('refuses a cursor of another author, and of a list without one', async () => {
    const { many, other } = authors;
    for (const sortBy of ['latest', 'views']) {
      const ofAuthor = (await list({ limit: 1, sortBy, authorId: many.id })).nextCursor!;
      const ofAll = (await list({ limit: 1, sortBy })).nextCursor!;
      for (const [authorId, cursor] of [
        [other.id, ofAuthor],
        [undefined, ofAuthor],
        [many.id, ofAll],
      ]) {
        const { data } = await app.fail(id, { limit: 1, sortBy, authorId, cursor }, 404);
        expect(data.reason).toBe('CURSOR_INVALID');
      }
    }
  });
});

test.each([
  [
    'game.list',
    { sortBy: 'views', gameType: 'RPG', search: 'の' },
    'WyJqWUE1b1lGZ0Yxck8iLDk5NCwxNzc0MjQwNTc3MTA0LCIwMTlkMThmYS1iNjUwLTdjYTQtYjkxNi02YjIxZWNhOTE2MWQiXQ',
  ],
  [
    'game.list',
    { sortBy: 'oldest', timeRange: 'year', gameType: 'RPG', search: 'a e' },
    'WyJLWWlnMjdtWE9kODciLDE3NzI2MDQxODY1MDEsIjAxOWNiNzcxLTVmODUtN2MxNy04M2QyLTBkNjA3YjcxOGUwNyJd',
  ],
  ['image.list', {}, 'WyJla2hPM05DREtEQ2IiLDE3NzQ2NDMzNzYwNTMsIjAxOWQzMGZjLWVmYjUtNzlhMS05NDg3LTg5NmE0ZmUwYzllZCJd'],
] as const)('%s of %j accepts a cursor that version 1.2.0 made', async (id, filter, cursor) => {
  expect((await app.send(id, { ...filter, limit: 10, cursor })).status).toBe(200);
});
