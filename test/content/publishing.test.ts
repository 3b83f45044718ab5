/**
 * @engines sqlite
 * @tier fast
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { startApp, type TestUser } from '../harness/app/app.ts';
import { withoutTable } from '../harness/app/database.ts';

// Games and image posts behave alike when they are published, alone and in batches, and when they are read.

const app = await startApp();
afterAll(() => app.stop());

const images = ['https://images.example.com/1.webp'];

/** Of each: its batch, its number in a profile, the table of its tags, its other required members, and some faults. */
const kinds = [
  {
    kind: 'game',
    batch: 'games',
    counter: 'gameCount',
    table: 'game_tags',
    needs: {},
    faulty: [
      { title: '', version: 'v1.0' },
      { title: 'x', extraInfo: { downloads: [{ name: 'x', url: 'https://files.example.com/' }, { url: 'x' }] }, a: 1 },
    ],
    faults: [
      '/games/1/title too_small',
      '/games/1/version invalid_format',
      '/games/3/a unrecognized_keys',
      '/games/3/extraInfo/downloads/1/name invalid_type',
      '/games/3/extraInfo/downloads/1/url invalid_format',
    ],
  },
  {
    kind: 'image',
    batch: 'posts',
    counter: 'imagePostCount',
    table: 'image_post_tags',
    needs: { images },
    faulty: [
      { title: 'x', images: [] },
      { title: '', images: [...images, 'nowhere'] },
    ],
    faults: ['/posts/1/images too_small', '/posts/3/images/1 invalid_format', '/posts/3/title too_small'],
  },
] as const;

describe.each(kinds)('$kind', ({ kind, batch, counter, table, needs, faulty, faults }) => {
  // Both are called by the types of games: the tests look only at members that both have.
  const of = kind as 'game';
  const publish = (record: object, { key }: TestUser) =>
    app.call(`${of}.create`, { title: 'x', ...needs, ...record }, key);
  const batchOf = (records: readonly object[]) => ({ [batch as 'games']: records as { title: string }[] });

  /** How many records there are, all and of this author, as everyone sees it. */
  const countRecords = async (author: TestUser) => {
    const { total } = await app.call(`${of}.list`, { limit: 1, page: 1 });
    const profile = await app.call('user.getProfile', { id: author.id });
    const stats = of === 'game' ? (await app.call('game.getTypeStats', {})).total : total;
    return { total, stats, own: profile[counter] };
  };
  const tagsOf = (slug: string) => app.context.db.read('SELECT id FROM tags WHERE slug = ?', [slug]);

  test('counts for its author', async () => {
    const author = await app.aUser();
    const { total } = await countRecords(author);
    await publish({}, author);
    await publish({}, author);
    expect(await countRecords(author)).toEqual({ total: total + 2, stats: total + 2, own: 2 });
  });

  test('stores nothing when its last step fails, and tells the caller nothing of the reason', async () => {
    const author = await app.aUser();
    const before = await countRecords(author);
    const { dataSource } = app.context.db;
    const database = { url: app.databaseUrl, run: (sql: string) => dataSource.query(sql) };
    await withoutTable(database, table, async () => {
      const input = { title: 'half', ...needs, tagNames: [`half ${kind}`] };
      expect(await app.fail(`${of}.create`, input, 500, author.key)).toEqual({
        message: 'Something went wrong on our side.',
        code: -32603,
        data: {
          code: 'INTERNAL_SERVER_ERROR',
          httpStatus: 500,
          path: `${kind}.create`,
          reason: 'INTERNAL',
          requestId: expect.any(String),
          hint: 'Quote `requestId` when you report it.',
          docs: '/errors#INTERNAL',
        },
        issues: [],
      });
    });
    expect(await countRecords(author)).toEqual(before);
    expect(await tagsOf(`half-${kind}`)).toEqual([]);
  });

  test('a batch stores up to 100 in their order', async () => {
    const author = await app.aUser();
    const records = Array.from({ length: 100 }, (_, n) => ({
      title: `hundred ${n}`,
      ...needs,
      tagNames: [`hundred ${n % 7}`],
    }));
    const { items } = await app.call(`${of}.batchCreate`, batchOf(records), author.key);
    const shown = items.map(({ tags, ...item }) => ({ ...item, tagNames: tags.map(({ name }) => name) }));
    expect(shown).toMatchObject(records);
    const { items: newest } = await app.call(`${of}.list`, { limit: 100, page: 1 });
    expect(newest.map(({ id }) => id)).toEqual(items.map(({ id }) => id).toReversed());
    expect(new Set(newest.map(({ id }) => id)).size).toBe(100);
    expect(await countRecords(author)).toMatchObject({ own: 100 });
  });

  test.each([
    [0, 'too_small', '1'],
    [101, 'too_big', '100'],
  ])('a batch of %d is refused', async (length, code, bound) => {
    const author = await app.aUser();
    const records = Array.from({ length }, () => ({ title: 'x', ...needs }));
    const { issues } = await app.fail(`${of}.batchCreate`, batchOf(records), 400, author.key);
    expect(issues).toEqual([{ path: `/${batch}`, code, message: expect.stringContaining(bound) }]);
    expect(await countRecords(author)).toMatchObject({ own: 0 });
  });

  test('a batch names every fault of every faulty record and stores none', async () => {
    const author = await app.aUser();
    const before = await countRecords(author);
    const good = { title: 'good', ...needs, tagNames: [`unborn ${kind}`] };
    const records = [good, faulty[0], good, faulty[1], good];
    const { issues, data } = await app.fail(`${of}.batchCreate`, batchOf(records), 400, author.key);
    expect(data.reason).toBe('VALIDATION_FAILED');
    expect(issues.map(({ path, code }) => `${path} ${code}`).toSorted()).toEqual(faults);
    expect(await countRecords(author)).toEqual(before);
    expect(await tagsOf(`unborn-${kind}`)).toEqual([]);
  });

  test('reading by the id counts views, which show without anything else happening', async () => {
    const { id } = await publish({ tagNames: [`viewed ${kind}`] }, await app.aUser());
    for (let n = 0; n < 3; n += 1) await app.call(`${of}.getById`, { id });
    const deadline = Date.now() + 10_000;
    let viewCount: number | undefined = 0;
    while (viewCount !== 3 && Date.now() < deadline) {
      await sleep(50);
      const { items } = await app.call(`${of}.list`, { limit: 1, page: 1, tagSlugs: [`viewed-${kind}`] });
      viewCount = items[0]?.viewCount;
    }
    expect(viewCount).toBe(3);
  });

  test('does not count a view of what does not exist', async () => {
    await app.fail(`${of}.getById`, { id: '019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f02' }, 404);
    await app.context.routers[of].views.buffer.flush();
    expect(await publish({}, await app.aUser())).toMatchObject({ viewCount: 0 });
  });
});
