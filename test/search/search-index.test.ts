/**
 * @engines sqlite server
 * @tier long
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { schema, searchKinds } from '../../src/app/schema.ts';
import { type Bytes, idFromBytes, newId, storedIdToBytes, timeFromDb } from '../../src/db/values.ts';
import { ContentReads } from '../../src/content/read/reads.ts';
import { gameKind } from '../../src/game/kind.ts';
import { SearchIndex } from '../../src/search/search-index.ts';
import { TagDictionary } from '../../src/content/tag/dictionary.ts';
import { beginGeneration, mergeSegments, replaceSegments } from '../../src/search/indexing/compact.ts';
import { flushTail } from '../../src/search/indexing/flush.ts';
import { SegmentWriter } from '../../src/search/indexing/segment-writer.ts';
import { readSegments } from '../../src/search/segment.ts';
import { SearchStore } from '../../src/search/store.ts';
import { imageKind } from '../../src/image/kind.ts';
import { Indexer } from '../../src/search/indexing/indexer.ts';
import { normalise, searchTerms } from '../../src/search/text.ts';
import { insertUser, insertUsers } from '../../src/user/service.ts';
import { Database } from '../../src/db/database.ts';
import { anonymousCall } from '../harness/app/call.ts';
import { type Input, startApp, type TestUser } from '../harness/app/app.ts';
import { engine } from '../harness/app/database.ts';
import { startCli } from '../harness/app/program.ts';

// Whatever the index holds, it finds what a scan of all texts finds. Its parts are so small here that a few dozen records
// fill all of its levels.

const app = await startApp();
const { db } = app.context;
describe('search index', () => {
  afterAll(() => app.stop());

  const sizes = { run: 8, fanout: 3, graceMs: 60_000 };
  const indexer = new Indexer(db, searchKinds, undefined, sizes);

  /** A random sequence that is the same each time. */
  const randomFrom = (seed: number) => {
    let state = seed;
    const below = (n: number): number => {
      state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
      return ((state ^ (state >>> 13)) >>> 0) % n;
    };
    return { below, pick: <T>(values: readonly T[]): T => values[below(values.length)] as T };
  };
  const random = randomFrom(7);

  const WORDS = [
    'dragon',
    'Drag',
    'gon',
    'a',
    'ana',
    'banana',
    'Café',
    '100%',
    'n_',
    '\\',
    "'",
    '%_',
    'aaaa',
    'aa',
    'ab',

    '伝説',
    '説',
    'ドラゴン',
    'どらごん',
    'ﾄﾞﾗ',
    '드래곤',
    '곤',
    '龙',
    '龙之',
    '🐉',
    '🐉🐲',
    '👩‍🚀',
    '𠮷野',
    '𠮷',
    '㍿',
  ];
  const some = (most: number, joint: string): string =>
    Array.from({ length: 1 + random.below(most) }, () => random.pick(WORDS)).join(joint);
  const title = (): string => some(5, random.pick([' ', '', '・']));
  const tagNames = (): string[] => [
    ...new Set(Array.from({ length: random.below(4) }, () => random.pick(['a dragon', '伝説', 'x', 'Y z']))),
  ];

  interface Naive {
    id: string;
    text: string;
    createdAt: number;
    type: string | null;
    tags: string[];
    counts: Record<string, number>;
  }

  const readAll = async (table: 'games' | 'image_posts'): Promise<Naive[]> => {
    const rows = await db.read<Record<string, unknown>>(`SELECT * FROM ${table}`);
    const tags = await db.read<{ id: number; slug: string }>('SELECT id, slug FROM tags');
    return rows.map((row) => ({
      id: idFromBytes(row['id'] as Bytes),
      text: row['search_text'] as string,
      createdAt: Date.parse(timeFromDb(row['created_at'] as string)),
      type: (row['game_type'] as string | null) ?? null,
      tags: (row['tag_ids'] as string)
        .split(',')
        .flatMap((id) => tags.find((tag) => String(tag.id) === id)?.slug ?? []),
      counts: {
        views: row['view_count'] as number,
        likes: row['like_count'] as number,
        favorites: row['favorite_count'] as number,
      },
    }));
  };

  type List = Input<'game.list'>;

  /** What a list answers according to a scan of all records. */
  const scan = (records: readonly Naive[], list: List): { ids: string[]; total: number } => {
    const terms = searchTerms(list.search);
    const { sortBy = 'latest', gameType, tagSlugs = [], timeRange = 'all' } = list;
    const days = { day: 1, week: 7, month: 30, year: 365, all: Infinity }[timeRange];
    const found = records.filter(
      (record) =>
        terms.every((term) => record.text.includes(term)) &&
        (gameType === undefined || record.type === gameType) &&
        tagSlugs.every((slug) => record.tags.includes(slug)) &&
        record.createdAt >= Date.now() - days * 86_400_000,
    );
    const sign = sortBy === 'oldest' ? 1 : -1;
    const count = (record: Naive): number => record.counts[sortBy] ?? 0;
    const sorted = found.toSorted(
      (a, b) => sign * (count(a) - count(b) || a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)),
    );
    return { ids: sorted.map(({ id }) => id), total: found.length };
  };

  const someTerms = (): string =>
    random
      .pick([
        () => random.pick([...'aginrd%_\\伝説龙곤ドラ', '🐉', '𠮷', '🚀', 'é']),
        () => random.pick(['ra', 'dr', 'an', 'aa', '伝説', 'ドラ', '0%', '🐉🐲', '𠮷野', '\\', 'zz', 'qx']),
        () => title().slice(random.below(3)),
        () => `${random.pick(WORDS)} ${random.pick(WORDS)} ${random.pick(WORDS)}`,
        () => random.pick(['banana', 'anana', 'aaa', 'nanan', 'dragonx', 'どらごん', 'agondrag']),
      ])()
      .replaceAll(/\p{Surrogate}/gu, '') || 'a';

  const gameList = (): List => ({
    limit: random.pick([2, 5, 100]),
    page: 1,
    search: someTerms(),
    sortBy: random.pick(['latest', 'oldest', 'views', 'likes', 'favorites']),
    ...(random.below(4) === 0 && { gameType: random.pick(['RPG', 'ADV']) }),
    ...(random.below(4) === 0 && { tagSlugs: [random.pick(['a-dragon', '伝説', 'x'])] }),
    ...(random.below(4) === 0 && { timeRange: random.pick(['day', 'year'] as const) }),
  });

  /** All ids of a list, by pages or by cursors, and its total. */
  const walk = async (id: 'game.list' | 'image.list', list: List): Promise<{ ids: string[]; total: number }> => {
    const ids: string[] = [];
    const byCursor = random.below(2) === 0;
    let cursor: string | undefined;
    for (let page = 1; ; page += 1) {
      const where = byCursor ? { page: 1, ...(cursor !== undefined && { cursor }) } : { page };
      const answer = await app.call(id, { ...list, ...where });
      ids.push(...answer.items.map((item) => item.id));
      if (!answer.hasMore || page === 4) return { ids, total: answer.total };
      cursor = answer.nextCursor ?? undefined;
    }
  };

  /** What computes is the same on each engine: where a search costs trips, a third of them will do. */
  const rounds = (times: number): number => (engine === 'sqlite' ? times : Math.ceil(times / 3));

  const expectLists = async (times: number): Promise<void> => {
    const games = await readAll('games');
    const posts = await readAll('image_posts');
    for (let n = 0; n < rounds(times); n += 1) {
      const list = gameList();
      const expected = scan(games, list);
      const most = 4 * list.limit;
      expect([list, await walk('game.list', list)]).toEqual([list, { ...expected, ids: expected.ids.slice(0, most) }]);
      const { gameType: _, timeRange: __, ...rest } = list;
      const postList = { ...rest, sortBy: random.pick(['latest', 'views'] as const) };
      const wanted = scan(posts, postList);
      expect([postList, await walk('image.list', postList as List)]).toEqual([
        postList,
        { ...wanted, ids: wanted.ids.slice(0, most) },
      ]);
    }
  };

  const expectUsers = async (times: number): Promise<void> => {
    const users = await db.read<{ id: Bytes; nickname: string }>('SELECT id, nickname FROM users ORDER BY id');
    for (let n = 0; n < rounds(times); n += 1) {
      const query = random.pick([someTerms(), 'dragon a', 'n a', 'a', '伝', 'user', ' 1', 'n 伝説']);
      const text = normalise(query).trim();
      const found = users.filter(({ nickname }) => normalise(nickname).includes(text));
      const first = found.filter(({ nickname }) => normalise(nickname).startsWith(text));
      const sorted = [...first, ...found.filter((user) => !first.includes(user))].map(({ id }) => idFromBytes(id));
      const limit = random.pick([1, 3, 50]);
      const { items, hasMore } = await app.call('user.search', { query, limit }, author.key);
      expect([query, limit, items.map(({ id }) => id), hasMore]).toEqual([
        query,
        limit,
        sorted.slice(0, limit),
        sorted.length > limit,
      ]);
    }
  };

  const segmentCounts = async (): Promise<number[]> => {
    const rows = await db.read<{ level: number; n: number }>(
      'SELECT level, COUNT(*) AS n FROM search_segments WHERE kind = 1 AND state = 1 GROUP BY level ORDER BY level',
    );
    return rows.map(({ level, n }) => level * 100 + n);
  };

  /** How many searches the index did not answer. */
  let unanswered = 0;
  const { search: index } = app.context.routers.user;
  const original = index.search.bind(index);
  index.search = async (...question) => {
    const answer = await original(...question);
    if (!answer) unanswered += 1;
    return answer;
  };
  afterEach(() => {
    expect(unanswered).toBe(0);
  });

  /** As if the processes that worked on the index had been silent for long. */
  const forgetWorkers = (): Promise<void> =>
    db.transaction(async (tx) => {
      await tx.execute('UPDATE search_kinds SET held_until = 0');
      await tx.execute('UPDATE search_segments SET touched = 0 WHERE state <> 1');
    });

  let author: TestUser;
  const posts: string[] = [];

  const publish = async (n: number): Promise<void> => {
    const several = <T>(make: () => T): T[] => Array.from({ length: n }, make);
    const games = await app.call(
      'game.batchCreate',
      {
        games: several(() => ({ title: title(), tagNames: tagNames(), gameType: random.pick(['RPG', 'ADV', 'SLG']) })),
      },
      author.key,
    );
    const images = ['https://images.example.com/1.webp'];
    const made = await app.call(
      'image.batchCreate',
      { posts: several(() => ({ title: title(), tagNames: tagNames(), images })) },
      author.key,
    );
    posts.push(...made.items.map(({ id }) => id));
    await db.transaction(async (tx) => {
      for (const { id } of games.items) {
        await tx.execute('UPDATE games SET view_count = ?, like_count = ?, favorite_count = ? WHERE id = ?', [
          random.below(3),
          random.below(3),
          random.below(3),
          storedIdToBytes(id),
        ]);
      }
      for (let users = 0; users < n / 2; users += 1) {
        await insertUser(tx, { id: newId(new Date()), nickname: nickname() }, new Date());
      }
    });
  };
  const nickname = (): string => title().slice(0, 50).trim() || 'x';
  const change = async (n: number): Promise<void> => {
    for (let changed = 0; changed < n; changed += 1) {
      const id = random.pick(posts);
      await app.call(
        'image.update',
        { id, ...(random.below(2) === 0 ? { title: title() } : { tagNames: tagNames() }) },
        author.key,
      );
    }
    await app.call('user.updateProfile', { nickname: nickname() }, author.key);
  };

  beforeAll(async () => {
    author = await app.aUser({ nickname: 'dragon author' });
  });

  describe('a search finds what a scan finds', () => {
    test('while everything waits to be indexed', async () => {
      await publish(20);
      await change(5);
      expect(await segmentCounts()).toEqual([]);
      await expectLists(20);
      await expectUsers(10);
    });

    test('in one segment and the tail', async () => {
      await indexer.work();
      await expectLists(20);
      await expectUsers(10);
    });

    test('in segments of all levels, with records that were changed again and again', async () => {
      for (let round = 0; round < 4; round += 1) {
        await publish(24);
        await change(8);
        await indexer.work();
        await expectLists(10);
        await expectUsers(6);
      }
      expect((await segmentCounts()).some((n) => n > 200)).toBe(true);
    });

    test('in segments that are merged while their records change', async () => {
      const holder = 1;
      const kind = imageKind.search;
      await publish(4 * sizes.run);
      while (await flushTail(db, new SearchStore(db), kind, sizes.run));
      await db.transaction((tx) =>
        tx.execute('UPDATE search_kinds SET holder = ?, held_until = ?', [holder, Date.now() + 60_000]),
      );
      const inputs = (await readSegments(db, kind)).filter(({ level }) => level === 0);
      const writer = new SegmentWriter(db, kind, holder, () => Promise.resolve());
      const merged = await mergeSegments(db, new SearchStore(db), kind, writer, inputs);
      for (const id of posts.slice(-3 * sizes.run)) await app.call('image.update', { id, title: title() }, author.key);
      while (await flushTail(db, new SearchStore(db), kind, sizes.run, 1));
      await writer.publish(async (tx) => {
        await beginGeneration(tx, kind);
        await replaceSegments(tx, merged, 1);
      });
      await forgetWorkers();
      await expectLists(20);
    });

    test('while others write and index', async () => {
      let isDone = false;
      const writing = (async () => {
        await publish(20);
        await change(10);
        isDone = true;
      })();
      const before = await readAll('games');
      while (!isDone) {
        await indexer.work();
        const list = { ...gameList(), page: 1, sortBy: 'oldest' as const, timeRange: 'all' as const, limit: 100 };
        const { items, total } = await app.call('game.list', list);
        const ids = items.map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        const known = scan(before, list).ids;
        expect(ids.slice(0, Math.min(known.length, 100))).toEqual(known.slice(0, 100));
        expect(total).toBeGreaterThanOrEqual(known.length);
      }
      await writing;
      await expectLists(20);
    });
  });

  describe('the index is built anew', () => {
    const idsOf = async (search: string): Promise<string[]> =>
      (await app.call('game.list', { limit: 100, page: 1, search })).items.map(({ id }) => id);

    test('beside writers, with searches that find the same at every moment', async () => {
      await publish(30);
      const games = await readAll('games');
      let isDone = false;
      const rebuilding = (async () => {
        for (const kind of searchKinds) await indexer.reindex(kind);
        isDone = true;
      })();
      while (!isDone) {
        const search = random.pick(['a', 'ra', 'dragon', '伝説', 'gon']);
        const known = scan(games, { limit: 100, page: 1, search, sortBy: 'oldest' }).ids;
        const { items } = await app.call('game.list', { limit: 100, page: 1, search, sortBy: 'oldest' });
        expect([search, items.map(({ id }) => id).slice(0, known.length)]).toEqual([search, known.slice(0, 100)]);
        await publish(1);
        await change(1);
      }
      await rebuilding;
      await expectLists(20);
      await expectUsers(10);
      await indexer.work();
      await expectLists(20);
      await expectUsers(10);
    });

    test('when it lost what it held', async () => {
      await db.transaction(async (tx) => {
        await tx.execute('DELETE FROM search_blocks');
        await tx.execute('DELETE FROM search_texts');
      });
      for (const kind of searchKinds) await indexer.reindex(kind);
      expect((await idsOf('dragon')).length).toBeGreaterThan(0);
      await expectLists(20);
      await expectUsers(10);
    });
  });

  /** The first games that hold a text, by an index of its own. */
  const searchWith = async (own: SearchIndex, reader: Database, search: string): Promise<string[]> => {
    const games = new ContentReads(reader, new TagDictionary(reader), own, gameKind);
    const { records } = await games.list({ limit: 100, page: 1, search, sortBy: 'latest' }, anonymousCall());
    return records.map(({ row }) => idFromBytes(row.id));
  };

  test('more changes than a search reads are found without the index', async () => {
    const few = new SearchIndex(db, 2);
    for (const sought of ['banana', 'dragon', 'a']) await app.aGame({ title: sought }, author);
    expect(await few.search(gameKind.search, { terms: ['a'], labels: [] })).toBeUndefined();
    const { ids } = scan(await readAll('games'), { limit: 100, page: 1, search: 'a' });
    expect(await searchWith(few, db, 'a')).toEqual(ids.slice(0, 100));
  });

  describe('several processes', () => {
    test('find what one of them has stored with their next request', async () => {
      const other = await Database.open(app.databaseUrl, schema);
      try {
        const otherIndex = new SearchIndex(other);
        for (let n = 0; n < 2 * sizes.run; n += 1) {
          const { id } = await app.aGame({ title: `seen at once ${n}` }, author);
          expect((await searchWith(otherIndex, other, 'at once'))[0]).toBe(id);
          if (n % 3 === 0) await indexer.work();
        }
      } finally {
        await other.close();
      }
    });

    test('index at once, and nothing is lost or found twice', async () => {
      const other = await Database.open(app.databaseUrl, schema);
      try {
        const indexers = [indexer, new Indexer(other, searchKinds, undefined, sizes)];
        for (let round = 0; round < 4; round += 1) {
          await publish(20);
          // Each takes the lease from the other one, as if this one had been silent for long.
          await Promise.all([...indexers.map((one) => one.work()), forgetWorkers(), forgetWorkers()]);
          await expectLists(8);
          await expectUsers(4);
        }
      } finally {
        await other.close();
      }
    });

    test('may be killed while they index: searches stay right, and what they left is cleared away', async () => {
      await db.transaction((tx) =>
        insertUsers(
          tx,
          Array.from({ length: 2000 }, () => ({ id: newId(new Date()), nickname: nickname() })),
          new Date(),
        ),
      );
      await forgetWorkers();
      const child = startCli(['reindex'], { DATABASE_URL: app.databaseUrl });
      const ended = once(child, 'exit');
      const unfinished = () => db.read<{ id: number }>('SELECT id FROM search_segments WHERE state = 0 AND kind = 3');
      while ((await unfinished()).length === 0 && child.exitCode === null) await sleep(2);
      child.kill('SIGKILL');
      await ended;
      const left = (await unfinished()).map(({ id }) => id);
      expect(left).not.toEqual([]);
      await expectUsers(3);

      await forgetWorkers();
      await new Indexer(db, searchKinds, undefined, { ...sizes, run: 500 }).work();
      expect(await unfinished()).toEqual([]);
      const blocks = await db.read<{ segment: number }>('SELECT DISTINCT segment FROM search_blocks');
      expect(blocks.filter(({ segment }) => left.includes(segment))).toEqual([]);
      await expectUsers(3);
    });
  });
});
