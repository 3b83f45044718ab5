/**
 * @engines sqlite server
 * @tier long
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { gameKind } from '../../../src/game/kind.ts';
import { imageKind } from '../../../src/image/kind.ts';
import { publish } from '../../../src/content/write/publisher.ts';
import { Database } from '../../../src/db/database.ts';
import { idFromBytes, timeFromDb } from '../../../src/db/values.ts';
import { gameDraft } from '../../../src/game/service.ts';
import { schema } from '../../../src/app/schema.ts';
import { creations, type SeedOptions } from '../../../src/sandbox/seed/records.ts';
import { seed, SeedError } from '../../../src/sandbox/seed/service.ts';
import { startApp, type TestApp } from '../../harness/app/app.ts';
import { runCommand } from '../../harness/app/command.ts';
import { expectExactCounts } from '../../harness/app/counts.ts';
import { runCli } from '../../harness/app/program.ts';

const OPTIONS: SeedOptions = { users: 40, games: 400, images: 80, randomSeed: 7, until: new Date('2026-04-01') };
const TWO_YEARS_MS = 2 * 365 * 86_400_000;
const HAN = /\p{Script=Han}/u;
const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const HANGUL = /\p{Script=Hangul}/u;
const LATIN = /^[\p{Script=Latin}\p{Script=Common}]+$/u;

const ignore = (): void => {};
const sow = (db: Database, options: Partial<SeedOptions> = {}): Promise<void> =>
  seed(db, { ...OPTIONS, ...options }, ignore);

const countRows = async (db: Database): Promise<Record<string, number>> => {
  const [row] = await db.read<Record<string, number>>(
    `SELECT (SELECT COUNT(*) FROM users) AS users, (SELECT COUNT(*) FROM games) AS games,
    (SELECT COUNT(*) FROM image_posts) AS images`,
  );
  return { ...row };
};

/** A stored value, written the same whatever the driver. */
const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return typeof value === 'string' && /^\d{4}-\d\d-\d\d \d\d:/.test(value) ? timeFromDb(value) : value;
};

/** Every row of every table that a seed fills. */
const dump = async (db: Database): Promise<Record<string, unknown[]>> => {
  const links = [gameKind, imageKind].flatMap(({ tagTable, favoriteTable, reactionTable }) => [
    tagTable,
    favoriteTable,
    reactionTable,
  ]);
  const tables: Record<string, unknown[]> = {};
  for (const table of ['users', 'tags', 'games', 'image_posts', 'counters', ...links]) {
    const rows = await db.read<object>(`SELECT * FROM ${table}`);
    const written = rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([column, value]) => [column, plain(value)])),
    );
    // By their first columns, which are their keys.
    tables[table] = written.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  return tables;
};

describe('a seeded database', () => {
  let app: TestApp;
  let db: Database;
  let stored: number;

  beforeAll(async () => {
    app = await startApp();
    ({ db } = app.context);
    stored = 0;
    await seed(db, OPTIONS, (rows) => (stored += rows));
  });

  afterAll(() => app.stop());

  test('holds as much as was asked for, and every count is exact', async () => {
    expect(await countRows(db)).toEqual({ users: 40, games: 400, images: 80 });
    expect(stored).toBe(520);
    await expectExactCounts(db);
    const { total } = await app.call('game.getTypeStats', {});
    expect(total).toBe(400);
  });

  test('is the same as another one, of whatever engine', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'content-gateway-seed-'));
    const other = await Database.open(`sqlite:${join(folder, 'other.db')}`, schema);
    try {
      await other.migrate();
      await sow(other);
      expect(await dump(other)).toEqual(await dump(db));
    } finally {
      await other.close();
      await rm(folder, { recursive: true });
    }
  });

  test('is titled in Japanese, Chinese, English and Korean', async () => {
    for (const table of ['games', 'image_posts']) {
      const titles = (await db.read<{ title: string }>(`SELECT title FROM ${table}`)).map(({ title }) => title);
      const share = (isWritten: (title: string) => boolean) => titles.filter(isWritten).length / titles.length;
      expect(share((title) => KANA.test(title))).toBeGreaterThan(0.15);
      expect(share((title) => HAN.test(title) && !KANA.test(title))).toBeGreaterThan(0.15);
      expect(share((title) => LATIN.test(title))).toBeGreaterThan(0.1);
      expect(share((title) => HANGUL.test(title))).toBeGreaterThan(0.1);
      expect(new Set(titles).size / titles.length).toBeGreaterThan(0.7);
    }
  });

  test('has few frequent tags and many rare ones, about four a game', async () => {
    const tags = await db.read<{ n: number }>('SELECT game_count AS n FROM tags ORDER BY game_count DESC');
    const counts = tags.map(({ n }) => n);
    const total = counts.reduce((sum, n) => sum + n, 0);
    expect(total / 400).toBeGreaterThan(3.5);
    expect(total / 400).toBeLessThan(4.5);
    expect(counts[0]).toBeGreaterThan(400 / 5);
    expect(counts[0]! / counts[9]!).toBeGreaterThan(4);
    expect(counts.filter((n) => n === 1).length).toBeGreaterThan(200);
  });

  test('has authors who published much and others who published little', async () => {
    const authors = await db.read<{ n: number }>('SELECT game_count AS n FROM users ORDER BY id');
    expect(authors[0]!.n).toBeGreaterThan(5 * authors[20]!.n);
  });

  test('has about one favorite and one like a record, few dislikes, and some games without a type', async () => {
    const [mean] = await db.read<Record<string, number>>(
      `SELECT AVG(favorite_count) AS favorites, AVG(like_count) AS likes, AVG(dislike_count) AS dislikes,
      AVG(view_count) AS views FROM games`,
    );
    expect(Number(mean?.['favorites'])).toBeCloseTo(1, 0);
    expect(Number(mean?.['likes'])).toBeCloseTo(1, 0);
    expect(Number(mean?.['dislikes'])).toBeCloseTo(0.1, 0);
    expect(Number(mean?.['views'])).toBeGreaterThan(100);
    const { items } = await app.call('game.getTypeStats', {});
    expect(items.map(({ gameType }) => gameType)).toEqual(expect.arrayContaining(['ADV', 'RPG', 'SLG', 'ACT', null]));
  });

  test('was published in the two years before, by users who had joined, under ids that sort alike', async () => {
    const games = await db.read<{ id: Uint8Array; created_at: string; joined: string }>(
      `SELECT g.id, g.created_at, u.created_at AS joined FROM games g JOIN users u ON u.id = g.author_id ORDER BY g.id`,
    );
    const times = games.map(({ created_at }) => Date.parse(timeFromDb(created_at)));
    const end = OPTIONS.until.getTime();
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times[0]).toBeGreaterThanOrEqual(end - TWO_YEARS_MS);
    expect(times[0]).toBeLessThan(end - 0.99 * TWO_YEARS_MS);
    expect(times.at(-1)).toBeLessThan(end);
    expect(times.at(-1)).toBeGreaterThan(end - 0.01 * TWO_YEARS_MS);
    for (const [index, { id, created_at, joined }] of games.entries()) {
      expect(Number.parseInt(idFromBytes(id).replaceAll('-', '').slice(0, 12), 16)).toBe(times[index]);
      expect(joined < created_at).toBe(true);
    }
  });

  test('is found by search, as what was published through the service', async () => {
    const { items } = await app.call('game.list', { limit: 50, page: 1 });
    const game = items.find(({ title, tags }) => KANA.test(title) && tags.length > 0)!;
    const [tag] = game.tags;
    const { items: found } = await app.call('game.list', { limit: 1, page: 1, search: `${game.title} ${tag!.name}` });
    expect(found).toEqual([game]);
    const { id } = game.author;
    const { nickname } = await app.call('user.getProfile', { id });
    const { key } = await app.aUser();
    const { items: users } = await app.call('user.search', { query: nickname, limit: 50 }, key);
    expect(users.map((user) => user.id)).toContain(id);
  });

  test('shows games and posts in full', async () => {
    const { items: games } = await app.call('game.list', { limit: 20, page: 1 });
    for (const { id } of games) expect(await app.call('game.getById', { id })).toMatchObject({ id });
    const { items: posts } = await app.call('image.list', { limit: 20, page: 1 });
    for (const { id } of posts) expect(await app.call('image.getById', { id })).toMatchObject({ id });
  });
});

const refusal = (kind: string): SeedError =>
  new SeedError(`This database holds ${kind} of random seed 7: choose another --random-seed.`);

describe('seeding', () => {
  let app: TestApp;
  let db: Database;

  beforeEach(async () => {
    app = await startApp();
    ({ db } = app.context);
  });

  afterEach(() => app.stop());

  test('beside what is there keeps it, shares its tags and adds to its counts', async () => {
    const game = await app.aGame({ gameType: 'RPG', tagNames: ['ファンタジー', 'only here'] });
    await sow(db);
    await sow(db, { randomSeed: 8 });

    expect(await countRows(db)).toEqual({ users: 81, games: 801, images: 160 });
    await expectExactCounts(db);
    expect(await app.call('game.getById', { id: game.id })).toEqual({ ...game, viewer: null });
    const { total } = await app.call('game.list', { limit: 1, page: 1, tagSlugs: ['ファンタジー'] });
    expect(total).toBeGreaterThan(100);
  });

  test('the same twice is refused and changes nothing', async () => {
    await sow(db, { users: 10, games: 20, images: 5 });
    const before = await dump(db);

    await expect(sow(db, { users: 10, games: 20, images: 5 })).rejects.toEqual(refusal('users'));
    await expect(sow(db, { users: 3, games: 20, images: 0 })).rejects.toEqual(refusal('games'));
    await expect(sow(db, { users: 0, games: 0, images: 5 })).rejects.toEqual(refusal('images'));
    expect(await dump(db)).toEqual(before);
  });

  test('without new users lets those publish who are there', async () => {
    await expect(sow(db, { users: 0 })).rejects.toEqual(
      new SeedError('There are no users who could publish: seed some, too.'),
    );
    expect(await countRows(db)).toEqual({ users: 0, games: 0, images: 0 });

    const { id } = await app.aUser();
    await sow(db, { users: 0 });
    expect(await countRows(db)).toEqual({ users: 1, games: 400, images: 80 });
    expect(await app.call('user.getProfile', { id })).toMatchObject({ gameCount: 400, imagePostCount: 80 });
    await expectExactCounts(db);
  });

  test('nothing stores nothing', async () => {
    await sow(db, { users: 0, games: 0, images: 0 });
    expect(await countRows(db)).toEqual({ users: 0, games: 0, images: 0 });
  });

  test('a batch that fails leaves nothing behind', async () => {
    const { id: authorId } = await app.aUser();
    const taken = [...creations(OPTIONS, 'games')][300]!;
    const draft = { ...gameDraft({ title: 'In the way', isFree: true }), id: taken.id };
    await db.transaction((tx) => publish(tx, gameKind, authorId, [draft], taken.createdAt));

    await expect(sow(db)).rejects.toThrow(/duplicate|unique/i);
    expect(await countRows(db)).toEqual({ users: 41, games: 1, images: 0 });
    expect(await db.read('SELECT id FROM tags')).toEqual([]);
    await expectExactCounts(db);
  });

  test('while the service publishes and toggles keeps every count exact', async () => {
    const users = await Promise.all([app.aUser(), app.aUser()]);
    const game = await app.aGame({ tagNames: ['ファンタジー'] });
    const over = new AbortController();
    const busy = users.map(async (user) => {
      while (!over.signal.aborted) {
        await app.aGame({ gameType: 'RPG', tagNames: ['Fantasy', '奇幻', '판타지', 'ファンタジー'] }, user);
        await app.call('game.toggleReaction', { gameId: game.id, type: 'like' }, user.key);
      }
    });
    await sow(db, { games: 2100 });
    over.abort();
    await Promise.all(busy);

    await expectExactCounts(db);
  });

  test('by the command line says what was stored', async () => {
    const env = { DATABASE_URL: app.databaseUrl };
    const args = ['seed', '--users', '5', '--games', '20', '--images', '3', '--until', '2026-04-01'];
    const summary =
      /^Stored 5 users, 20 games and 3 image posts in \d+\.\d s \(--random-seed 1 --until 2026-04-01\)\.\n$/;

    expect(await runCli(args, { env })).toEqual({ code: 0, stdout: expect.stringMatching(summary), stderr: '' });
    expect(await countRows(db)).toEqual({ users: 5, games: 20, images: 3 });
    expect(await runCommand(args, { env })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: This database holds users of random seed 1: choose another --random-seed.\n',
    });
  });
});
