/**
 * @engines vitess
 * @tier long
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { migrations } from '../../migrations/index.ts';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { runCommand } from '../harness/app/command.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { storedRows } from '../harness/documents/stored-rows.ts';

// A new version may change tables that are on shards: each migration but the first, which makes them before they move there, is
// reverted and applied there.

const KEPT = [
  'games',
  'image_posts',
  'game_tags',
  'image_post_tags',
  'game_favorites',
  'game_reactions',
  'users',
  'tags',
];

let app: TestApp;
let author: TestUser;

const stored = async (): Promise<Record<string, string[]>> => {
  const rows: Record<string, string[]> = {};
  for (const table of KEPT) {
    const all = await storedRows(app.context.db, table);
    // Columns that are added anew come last, and MySQL writes JSON with spaces.
    const sorted = all.map((row) =>
      JSON.stringify(Object.entries(JSON.parse(row) as object).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    );
    rows[table] = sorted.map((row) => row.replaceAll('", ', '",')).toSorted();
  }
  return rows;
};
const migrate = (...args: string[]) => runCommand(['migrate', ...args], { env: { DATABASE_URL: app.databaseUrl } });

describe('commands on two shards', () => {
  beforeAll(async () => {
    app = await startApp();
    author = await app.aUser();
    const images = Array.from({ length: 6 }, (_, n) => `https://images.example.com/${n}.png`);
    for (let n = 0; n < 20; n += 1) {
      const { id } = await app.aGame({ title: `game ${n}`, gameType: 'RPG', tagNames: ['a', `t${n}`] }, author);
      await app.call('game.toggleFavorite', { gameId: id }, author.key);
      await app.anImagePost({ title: `post ${n}`, images, tagNames: ['a'] }, author);
    }
    await app.context.auth.keys.flush();
  });
  afterAll(() => app.stop());

  test('revert the migrations to the first and apply them again, which keeps what is stored', async () => {
    const before = await stored();
    expect(before['games']).toHaveLength(20);
    for (const { name } of migrations.slice(1).toReversed()) {
      expect(await migrate('--down', '--yes')).toMatchObject({ code: 0, stdout: expect.stringContaining(name) });
    }
    const applied = await migrate();
    expect(applied).toMatchObject({
      code: 0,
      stdout: migrations
        .slice(1)
        .map(({ name }) => `${name}\n`)
        .join(''),
    });
    // Not by `toEqual`, which would print all rows.
    expect(JSON.stringify(await stored()) === JSON.stringify(before)).toBe(true);
    await expectExactCounts(app.context.db);
    const { total } = await app.call('game.list', { tagSlugs: ['a'], limit: 5, page: 1 });
    expect(total).toBe(20);
  });

  test('leave "backup" to Vitess, which says so and writes nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'content-gateway-shards-'));
    const env = { DATABASE_URL: app.databaseUrl };
    expect(await runCommand(['backup', join(folder, 'all.sql')], { env })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('on several shards'),
    });
    expect(await readdir(folder)).toEqual([]);
    await rm(folder, { recursive: true });
  });
});
