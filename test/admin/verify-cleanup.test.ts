/**
 * @engines sqlite
 * @tier long
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { gameKind } from '../../src/game/kind.ts';
import { findMarked } from '../../src/content/read/find.ts';
import { removeRecords } from '../../src/content/write/remove.ts';
import { reconcile } from '../../src/admin/reconcile/service.ts';
import { searchKinds } from '../../src/app/schema.ts';
import { Indexer } from '../../src/search/indexing/indexer.ts';
import { type Output, startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { runCommand } from '../harness/app/command.ts';
import { expectExactCounts } from '../harness/app/counts.ts';

// Records go, and nothing that counts or finds them remembers them.

const RUN = '0123456789ab';
const OTHER_RUN = 'ba9876543210';

let app: TestApp;
let author: TestUser;
let fan: TestUser;
let indexer: Indexer;

beforeAll(async () => {
  app = await startApp();
  app.context.lifecycle.relay.start();
  [author, fan] = [await app.aUser(), await app.aUser()];
  indexer = new Indexer(app.context.db, searchKinds, undefined, { run: 4, fanout: 2, graceMs: 60_000 });
});
afterAll(() => app.stop());

const cleanUp = async (...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> =>
  runCommand(['verify-cleanup', ...args], { env: { DATABASE_URL: app.databaseUrl } });

const marked = (run: string, title: string) => ({ title: `[verify ${run}] ${title}`, tagNames: ['shared', 'verify'] });

/** Has a record liked and held as a favorite. */
const touch = async (game: Output<'game.create'>, post: Output<'image.create'>): Promise<void> => {
  for (const { key } of [author, fan]) {
    await app.call('game.toggleFavorite', { gameId: game.id }, key);
    await app.call('game.toggleReaction', { gameId: game.id, type: 'like' }, key);
    await app.call('image.toggleReaction', { imagePostId: post.id, type: 'dislike' }, key);
    await app.call('image.toggleFavorite', { imagePostId: post.id }, key);
  }
};

const titles = async (query: object): Promise<string[]> => {
  const games = await app.call('game.list', { limit: 100, page: 1, ...query });
  const posts = await app.call('image.list', { limit: 100, page: 1, ...query });
  // What a list counts is what it shows.
  expect([games.total, posts.total]).toEqual([games.items.length, posts.items.length]);
  return [...games.items, ...posts.items].map(({ title }) => title).toSorted();
};

const totals = async (): Promise<number[]> => {
  const stats = await app.call('game.getTypeStats', {});
  const { gameCount, imagePostCount } = await app.call('user.getProfile', { id: author.id });
  return [stats.total, stats.items.find(({ gameType }) => gameType === 'RPG')?.count ?? 0, gameCount, imagePostCount];
};

describe('verify-cleanup', () => {
  let kept: string[];
  let gone: Output<'game.create'>;

  beforeAll(async () => {
    // What is not verify’s: without the tag, or without the title.
    await app.aGame({ title: `[verify ${RUN}] but not tagged`, gameType: 'RPG', tagNames: ['shared'] }, author);
    await app.aGame({ title: 'tagged, but not titled', gameType: 'RPG', tagNames: ['verify', 'shared'] }, author);
    await app.anImagePost({ title: 'verify', tagNames: ['shared'] }, fan);
    await touch(await app.aGame({ title: 'liked' }, fan), await app.anImagePost({ title: 'liked' }, author));
    kept = await titles({});
    for (const run of [RUN, OTHER_RUN]) {
      for (const title of ['one', 'two', 'three', 'four', 'five']) {
        gone = await app.aGame({ ...marked(run, title), gameType: 'RPG' }, author);
        await touch(gone, await app.anImagePost(marked(run, title), author));
      }
      // What is removed later stands in segments of the index, and in its tail.
      if (run === RUN) await indexer.work();
    }
  });

  test('counts, and removes nothing unless told to', async () => {
    const before = await titles({});
    expect(await cleanUp()).toEqual({
      code: 0,
      stdout: '10 games and 10 image posts of verify are there.\n',
      stderr: 'Remove them with: npm run -s cli -- verify-cleanup --yes\n',
    });
    expect((await cleanUp('--run', RUN)).stdout).toBe('5 games and 5 image posts of verify are there.\n');
    expect(await titles({})).toEqual(before);
    expect(await totals()).toEqual([13, 12, 12, 11]);
  });

  test('removes the records of a run, and then of all', async () => {
    // Remembered by the service as counted.
    expect((await titles({ tagSlugs: ['verify', 'shared'] })).length).toBe(21);
    expect((await cleanUp('--run', RUN, '--yes')).stdout).toBe('5 games and 5 image posts of verify removed.\n');
    expect(await titles({ search: RUN })).toEqual([`[verify ${RUN}] but not tagged`]);
    expect((await titles({ search: OTHER_RUN })).length).toBe(10);
    expect((await titles({ tagSlugs: ['verify', 'shared'] })).length).toBe(11);
    expect(await totals()).toEqual([8, 7, 7, 6]);

    expect((await cleanUp('--yes')).stdout).toBe('5 games and 5 image posts of verify removed.\n');
    expect((await cleanUp('--yes')).stdout).toBe('0 games and 0 image posts of verify removed.\n');
    expect(await titles({})).toEqual(kept);
    expect(await totals()).toEqual([3, 2, 2, 1]);
    expect(await app.fail('game.getById', { id: gone.id }, 404)).toMatchObject({ data: { reason: 'GAME_NOT_FOUND' } });
  });

  test('leaves every counter right', async () => {
    expect(await reconcile(app.context.db, { fix: false })).toEqual([]);
    await expectExactCounts(app.context.db);
  });

  test('leaves nothing for search to find, before the index takes it in, after that, and when it is built anew', async () => {
    const find = async (): Promise<string[][]> => [
      await titles({ search: 'verify' }),
      await titles({ search: 'three' }),
    ];
    const found = [kept.filter((title) => title.includes('verify')).toSorted(), []];
    found[0] = [...(found[0] ?? []), 'tagged, but not titled'].toSorted();
    expect(await find()).toEqual(found);
    await indexer.work();
    expect(await find()).toEqual(found);
    for (const kind of searchKinds) await indexer.reindex(kind);
    expect(await find()).toEqual(found);
  });

  test('has totals counted anew that were remembered', async () => {
    const query = { tagSlugs: ['a', 'b'], limit: 100, page: 1 };
    const total = async (): Promise<number> => (await app.call('game.list', query)).total;
    await app.aGame({ tagNames: ['a', 'b'] }, author);
    await app.aGame({ title: `[verify ${RUN}] both`, tagNames: ['a', 'b', 'verify'] }, author);
    expect(await total()).toBe(2);
    await cleanUp('--yes');
    // Each tag has as many records as it had.
    await app.aGame({ tagNames: ['a'] }, author);
    await app.aGame({ tagNames: ['b'] }, author);
    expect(await total()).toBe(1);
  });

  test('removes what two of it come upon at once only once', async () => {
    for (let n = 0; n < 8; n += 1) await app.aGame(marked(RUN, `race ${n}`), author);
    const { db } = app.context;
    const remove = async (): Promise<number> => {
      let n = 0;
      const marking = { tagSlug: 'verify', titleStart: '[verify ' };
      for await (const ids of findMarked(db, gameKind, marking)) {
        n += await removeRecords(db, gameKind, ids);
      }
      return n;
    };
    const [first, second] = await Promise.all([remove(), remove()]);
    expect(first + second).toBe(8);
    await expectExactCounts(app.context.db);
  });
});
