import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Database } from '../../src/db/database.ts';
import { type Bytes, idFromBytes } from '../../src/db/values.ts';
import { countRowsToCompare, type Finding, reconcile } from '../../src/reconcile/service.ts';
import { seed } from '../../src/seed/service.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { runCommand } from '../support/command.ts';
import { expectExactCounts } from '../support/counts.ts';
import { runCli } from '../support/program.ts';

let app: TestApp;
let db: Database;

beforeAll(async () => {
  app = await startApp();
  ({ db } = app.context);
  await seed(db, { users: 30, games: 120, images: 60, randomSeed: 1, until: new Date('2026-04-01') }, () => {});
});

afterAll(() => app.stop());

const write = (sql: string, parameters: (string | number | Bytes)[] = []): Promise<number> =>
  db.transaction((tx) => tx.execute(sql, parameters));

const find = (): Promise<Finding[]> => reconcile(db, { fix: false });
const mend = (): Promise<Finding[]> => reconcile(db, { fix: true });

// Each test starts from right counters, were the one before to fail halfway.
beforeEach(mend);

/** The row whose counter is highest. */
const rowWithMost = async (table: string, column: string): Promise<{ key: Bytes | number; id: string; n: number }> => {
  const [row] = await db.read<{ id: Bytes | number; n: number }>(
    `SELECT id, ${column} AS n FROM ${table} ORDER BY ${column} DESC, id LIMIT 1`,
  );
  const { id, n } = row!;
  expect(n).toBeGreaterThan(0);
  return { key: id, id: typeof id === 'number' ? String(id) : idFromBytes(id), n };
};

const one = (what: string, id: string, stored: number, actual: number): Finding[] => [
  { what, total: 1, samples: [{ what, id, stored, actual }] },
];

/** Expects this finding, and no other, until it is mended. */
const expectMended = async (finding: Finding[]): Promise<void> => {
  // Finding changes nothing, or mending would find something else.
  expect(await find()).toEqual(finding);
  expect(await mend()).toEqual(finding);
  expect(await find()).toEqual([]);
  await expectExactCounts(db);
};

test('right counters are left alone, and every row is compared', async () => {
  let compared = 0;
  expect(await reconcile(db, { fix: true, onCompared: (rows) => (compared += rows) })).toEqual([]);
  expect(compared).toBe(await countRowsToCompare(db));
  const [rows] = await db.read<{ n: number }>('SELECT COUNT(*) AS n FROM tags');
  expect(compared).toBe(30 + 120 + 60 + rows!.n);
});

const recordCounters = ['like_count', 'dislike_count', 'favorite_count'];
const ownedCounters = ['game_count', 'image_post_count'];

describe.each([
  ...['games', 'image_posts'].flatMap((table) => recordCounters.map((column) => [table, column] as const)),
  ...['tags', 'users'].flatMap((table) => ownedCounters.map((column) => [table, column] as const)),
])('%s.%s', (table, column) => {
  test('that is too high is found and mended', async () => {
    const { key, id, n } = await rowWithMost(table, column);
    await write(`UPDATE ${table} SET ${column} = ? WHERE id = ?`, [n + 3, key]);
    await expectMended(one(`${table}.${column}`, id, n + 3, n));
  });

  test('that is too low is found and mended', async () => {
    const { key, id, n } = await rowWithMost(table, column);
    await write(`UPDATE ${table} SET ${column} = 0 WHERE id = ?`, [key]);
    await expectMended(one(`${table}.${column}`, id, 0, n));
  });
});

describe('rows that went without their counter', () => {
  test.each([
    ['games.favorite_count', 'game_favorites', 'game_id'],
    ['image_posts.favorite_count', 'image_post_favorites', 'image_post_id'],
    ['tags.game_count', 'game_tags', 'tag_id'],
    ['tags.image_post_count', 'image_post_tags', 'tag_id'],
  ])('%s', async (what, links, foreignKey) => {
    const [table = '', column = ''] = what.split('.');
    const { key, id, n } = await rowWithMost(table, column);
    const gone = await write(`DELETE FROM ${links} WHERE ${foreignKey} = ?`, [key]);
    expect(gone).toBe(n);
    await expectMended(one(what, id, n, 0));
  });
});

const readCounter = async (name: string): Promise<number> => {
  const [row] = await db.read<{ n: number }>('SELECT n FROM counters WHERE name = ?', [name]);
  return row!.n;
};

describe('a counter of all records', () => {
  test.each(['games', 'image_posts', 'games:RPG', 'games:'])('%s that is wrong is mended', async (name) => {
    const n = await readCounter(name);
    expect(n).toBeGreaterThan(0);
    await write('UPDATE counters SET n = ? WHERE name = ?', [n + 5, name]);
    await expectMended(one('counters.n', name, n + 5, n));
  });

  test.each(['games', 'image_posts', 'games:RPG', 'games:'])('%s that is missing is made', async (name) => {
    const n = await readCounter(name);
    await write('DELETE FROM counters WHERE name = ?', [name]);
    await expectMended(one('counters.n', name, 0, n));
  });

  test('of a type without games is set to 0', async () => {
    await write("INSERT INTO counters (name, n) VALUES ('games:OLD', 7)");
    await expectMended(one('counters.n', 'games:OLD', 7, 0));
    await write("DELETE FROM counters WHERE name = 'games:OLD'");
  });

  test('of something else is none of its business', async () => {
    await write("INSERT INTO counters (name, n) VALUES ('visitors', 7)");
    expect(await mend()).toEqual([]);
    expect(await readCounter('visitors')).toBe(7);
    await write("DELETE FROM counters WHERE name = 'visitors'");
  });
});

test('many faults of many kinds are mended at once, and some of each kind are named', async () => {
  await write('UPDATE games SET like_count = like_count + 1, favorite_count = favorite_count + 2');
  await write('UPDATE users SET game_count = game_count + 1');
  await write("UPDATE counters SET n = n + 1 WHERE name LIKE 'games%'");

  const findings = await find();
  expect(findings.map(({ what, total, samples }) => [what, total, samples.length])).toEqual([
    ['games.like_count', 120, 20],
    ['games.favorite_count', 120, 20],
    ['users.game_count', 30, 20],
    ['counters.n', 9, 9],
  ]);
  for (const { stored, actual } of findings[1]!.samples) expect(stored).toBe(actual + 2);
  expect(await mend()).toEqual(findings);
  expect(await find()).toEqual([]);
  await expectExactCounts(db);
});

test('a table of more rows than are read at once is compared to its end', async () => {
  const names = Array.from({ length: 2100 }, (_, index) => `tag without games ${index}`);
  await write(
    `INSERT INTO tags (slug, name, game_count) VALUES ${names.map(() => '(?, ?, 1)').join(', ')}`,
    names.flatMap((name) => [name.replaceAll(' ', '-'), name]),
  );
  const [finding, ...others] = await mend();
  expect([finding!.what, finding!.total, others]).toEqual(['tags.game_count', 2100, []]);
  expect(await find()).toEqual([]);
});

test('the counter of a type that begins with an emoji is seen', async () => {
  await app.aGame({ gameType: '🐉' });
  expect(await find()).toEqual([]);
  await write("UPDATE counters SET n = 5 WHERE name = 'games:🐉'");
  await expectMended(one('counters.n', 'games:🐉', 5, 1));
});

test('beside a running service nothing right is called wrong, and what is wrong is mended', async () => {
  const users = await Promise.all([app.aUser(), app.aUser(), app.aUser()]);
  const [author] = users;
  const { id: gameId } = await app.aGame({ title: 'busy', tagNames: ['busy'] }, author);
  const wrongly = [
    `UPDATE games SET favorite_count = favorite_count + 10, like_count = like_count + 10 WHERE title = 'busy'`,
    `UPDATE tags SET game_count = game_count + 10 WHERE name = 'busy'`,
    `UPDATE users SET game_count = game_count + 10 WHERE nickname = '${author.nickname}'`,
    `UPDATE counters SET n = n + 10 WHERE name IN ('games', 'games:BUSY')`,
  ];
  const over = new AbortController();
  const busy = users.map(async (user) => {
    while (!over.signal.aborted) {
      await app.call('game.toggleFavorite', { gameId }, user.key);
      await app.call('game.toggleReaction', { gameId, type: 'like' }, user.key);
      await app.aGame({ title: 'busy', gameType: 'BUSY', tagNames: ['busy'] }, author);
    }
  });
  try {
    for (let round = 0; round < 5; round += 1) {
      expect(await find()).toEqual([]);
      for (const sql of wrongly) await write(sql);
      expect((await mend()).map(({ what }) => what)).toContain('tags.game_count');
    }
  } finally {
    over.abort();
    await Promise.all(busy);
  }
  expect(await find()).toEqual([]);
  await expectExactCounts(db);
});

test('the command line prints what differs, and its status says whether any is left', async () => {
  const env = { DATABASE_URL: app.databaseUrl };
  const right = { code: 0, stdout: 'Every counter is right.\n', stderr: '' };
  expect(await runCommand(['reconcile'], { env })).toEqual(right);

  const { key, id, n } = await rowWithMost('games', 'like_count');
  await write('UPDATE games SET like_count = 0 WHERE id = ?', [key]);
  await write("UPDATE counters SET n = 1 WHERE name = 'image_posts'");
  const table = [
    'COUNTER           ID                                    STORED  ACTUAL',
    `games.like_count  ${id}  0       ${n}`,
    'counters.n        image_posts                           1       60',
    '',
    'games.like_count: 1 wrong, 1 shown',
    'counters.n: 1 wrong, 1 shown',
    '',
  ].join('\n');
  expect(await runCli(['reconcile'], { env })).toEqual({
    code: 1,
    stdout: table,
    stderr: 'Correct them with: npm run -s cli -- reconcile --fix\n',
  });
  expect(await runCommand(['reconcile', '--fix'], { env })).toEqual({
    code: 0,
    stdout: `${table}All corrected.\n`,
    stderr: '',
  });
  expect(await runCommand(['reconcile'], { env })).toEqual(right);
});
