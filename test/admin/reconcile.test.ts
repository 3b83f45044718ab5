/**
 * @engines all
 * @tier long
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Database } from '../../src/db/database.ts';
import { type AuditEntry, listActs, systemActor } from '../../src/auth/audit/log.ts';
import { type Bytes, idFromBytes, newId, storedIdToBytes, timeToDb } from '../../src/db/values.ts';
import type { ReconcileFinding } from '../../src/admin/reconcile/finding.ts';
import { countRowsToCompare, reconcile } from '../../src/admin/reconcile/service.ts';
import { gameKind } from '../../src/game/kind.ts';
import { searchKinds } from '../../src/app/schema.ts';
import { Indexer } from '../../src/search/indexing/indexer.ts';
import { seed } from '../../src/sandbox/seed/service.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';
import { runCommand } from '../harness/app/command.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { runCli } from '../harness/app/program.ts';
import { until } from '../harness/until.ts';

let app: TestApp;
let db: Database;

describe('reconcile', () => {
  beforeAll(async () => {
    app = await startApp();
    ({ db } = app.context);
    await seed(db, { users: 30, games: 120, images: 60, randomSeed: 1, until: new Date('2026-04-01') }, () => {});
  });

  afterAll(() => app.stop());

  const write = (sql: string, parameters: (string | number | Bytes)[] = []): Promise<number> =>
    db.transaction((tx) => tx.execute(sql, parameters));

  const find = (): Promise<ReconcileFinding[]> => reconcile(db, { fix: false });
  const mend = (): Promise<ReconcileFinding[]> => reconcile(db, { fix: true });

  // Each test starts from right counters, were the one before to fail halfway.
  beforeEach(mend);

  /** The row whose counter is highest. */
  const rowWithMost = async (
    table: string,
    column: string,
  ): Promise<{ key: Bytes | number; id: string; n: number }> => {
    const [row] = await db.read<{ id: Bytes | number; n: number }>(
      `SELECT id, ${column} AS n FROM ${table} ORDER BY ${column} DESC, id LIMIT 1`,
    );
    const { id, n } = row!;
    expect(n).toBeGreaterThan(0);
    return { key: id, id: typeof id === 'number' ? String(id) : idFromBytes(id), n };
  };

  const one = (field: string, id: string, stored: number | string, actual: number | string): ReconcileFinding[] => [
    { field, total: 1, samples: [{ field, id, stored, actual }] },
  ];

  /** Expects this finding, and no other, until it is mended. */
  const expectMended = async (finding: ReconcileFinding[]): Promise<void> => {
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
    // The records twice: their own columns, and what search knows of them.
    expect(compared).toBe(2 * (30 + 120 + 60) + rows!.n);
  });

  const recordCounters = ['like_count', 'dislike_count', 'favorite_count'];
  const ownedCounters = ['game_count', 'image_post_count'];

  describe.each([
    ...['games', 'image_posts'].flatMap((table) => recordCounters.map((column) => [table, column] as const)),
    ...['tags', 'users'].flatMap((table) => ownedCounters.map((column) => [table, column] as const)),
  ])('%s.%s', (table, column) => {
    test('that is too high or too low is found and mended', async () => {
      const { key, id, n } = await rowWithMost(table, column);
      for (const wrong of [n + 3, 0]) {
        await write(`UPDATE ${table} SET ${column} = ? WHERE id = ?`, [wrong, key]);
        await expectMended(one(`${table}.${column}`, id, wrong, n));
      }
    });
  });

  describe('rows that went without their counter', () => {
    test.each([
      ['games.favorite_count', 'game_favorites', 'game_id'],
      ['image_posts.favorite_count', 'image_post_favorites', 'image_post_id'],
      ['tags.game_count', 'game_tags', 'tag_id'],
      ['tags.image_post_count', 'image_post_tags', 'tag_id'],
    ])('%s', async (field, links, foreignKey) => {
      const [table = '', column = ''] = field.split('.');
      const { key, id, n } = await rowWithMost(table, column);
      const gone = await write(`DELETE FROM ${links} WHERE ${foreignKey} = ?`, [key]);
      expect(gone).toBe(n);
      const finding = await find();
      expect(finding).toContainEqual(one(field, id, n, 0)[0]);
      // Records without their tag say otherwise, too, and so does search.
      const others = foreignKey === 'tag_id' ? [`${links.slice(0, -5)}s.tag_ids`, `search.${links.slice(0, -5)}s`] : [];
      expect(finding.filter((other) => other.field !== field).map((other) => [other.field, other.total])).toEqual(
        others.map((other) => [other, n]),
      );
      await expectMended(finding);
    });
  });

  /** A record with so many tags, and one that most have, at least. */
  const aTaggedRecord = async (table: string): Promise<{ key: Bytes; id: string; tagIds: string }> => {
    const [row] = await db.read<{ id: Bytes; tag_ids: string }>(
      `SELECT id, tag_ids FROM ${table} WHERE tag_ids LIKE '%,%' ORDER BY id LIMIT 1`,
    );
    return { key: row!.id, id: idFromBytes(row!.id), tagIds: row!.tag_ids };
  };

  /** What search finds, besides the tail, also once it is indexed. */
  const found = async (search: string): Promise<string[]> => {
    const { items } = await app.call('game.list', { page: 1, limit: 100, search });
    return items.map(({ id }) => id);
  };

  describe('what an earlier version leaves unfilled or as it was', () => {
    test.each(['games', 'image_posts'])('the ids of tags in %s', async (table) => {
      const { key, id, tagIds } = await aTaggedRecord(table);
      await write(`UPDATE ${table} SET tag_ids = '' WHERE id = ?`, [key]);
      await expectMended(one(`${table}.tag_ids`, id, '', tagIds));
      const wrong = tagIds.split(',').toReversed().join(',');
      await write(`UPDATE ${table} SET tag_ids = ? WHERE id = ?`, [wrong, key]);
      await expectMended(one(`${table}.tag_ids`, id, wrong, tagIds));
    });

    test('the type of a game beside its tags', async () => {
      const [game] = await db.read<{ id: Bytes; game_type: string }>(
        "SELECT id, game_type FROM games WHERE game_type IS NOT NULL AND tag_ids <> '' ORDER BY id LIMIT 1",
      );
      const { id, game_type: type } = game!;
      await write('UPDATE game_tags SET game_type = NULL WHERE game_id = ?', [id]);
      await expectMended(one('game_tags.game_type', idFromBytes(id), '', type));
    });

    test('the images of a post that are set apart, and their number', async () => {
      const [post] = await db.read<{ id: Bytes; images: string; image_count: number; more_images: string }>(
        'SELECT id, images, image_count, more_images FROM image_posts WHERE more_images IS NOT NULL ORDER BY id LIMIT 1',
      );
      const { id, images, image_count: count, more_images: more } = post!;
      const all = JSON.stringify([...JSON.parse(images), ...JSON.parse(more)]);
      await write('UPDATE image_posts SET images = ?, image_count = 0, more_images = NULL WHERE id = ?', [all, id]);
      const key = idFromBytes(id);
      await expectMended([
        ...one('image_posts.images', key, count, 4),
        ...one('image_posts.image_count', key, 0, count),
      ]);
      const [mended] = await db.read('SELECT images, image_count, more_images FROM image_posts WHERE id = ?', [id]);
      expect(mended).toEqual({ images, image_count: count, more_images: more });

      // It does not look at the images that are set apart either.
      await write('UPDATE image_posts SET images = ? WHERE id = ?', ['["https://a.example/1"]', id]);
      await expectMended(one('image_posts.image_count', key, count, 1));
      const [fewer] = await db.read('SELECT image_count, more_images FROM image_posts WHERE id = ?', [id]);
      expect(fewer).toEqual({ image_count: 1, more_images: null });
    });

    test('the records of a tag that was merged', async () => {
      const [from, into] = await db.read<{ id: number; game_count: number; image_post_count: number }>(
        'SELECT id, game_count, image_post_count FROM tags ORDER BY game_count DESC, id LIMIT 2',
      );
      await write('UPDATE tags SET merged_into = ? WHERE id = ?', [into!.id, from!.id]);
      const n = from!.game_count + from!.image_post_count;
      const findings = await mend();
      expect(findings).toContainEqual(one('tags.merged_into', String(from!.id), n, 0)[0]);
      expect(await find()).toEqual([]);
      const [left] = await db.read<{ n: number }>('SELECT COUNT(*) AS n FROM game_tags WHERE tag_id = ?', [from!.id]);
      expect(left!.n).toBe(0);
      await expectExactCounts(db);
    });

    test('what search knows, in a segment or not at all', async () => {
      const indexer = new Indexer(db, searchKinds);
      for (const kind of searchKinds) await indexer.reindex(kind);
      expect(await find()).toEqual([]);
      const [game] = await db.read<{ id: Bytes; search_text: string }>(
        "SELECT id, search_text FROM games WHERE tag_ids <> '' ORDER BY id LIMIT 1",
      );
      const { id: key, search_text: text } = game!;
      const id = idFromBytes(key);
      // The same characters in another order, then the same pairs of them at other places.
      const turned = [...text].toReversed().join('');
      const moved = turned.split('\n').toReversed().join('\n');
      expect(moved).not.toBe(turned);
      for (const other of [turned, moved]) {
        await write('UPDATE games SET search_text = ? WHERE id = ?', [other, key]);
        await expectMended(one('search.games', id, 'outdated', 'there'));
        const [longest = ''] = other.split(/\s/).toSorted((a, b) => b.length - a.length);
        expect(await found(longest)).toContain(id);
        await indexer.reindex(gameKind.search);
      }
      await write('UPDATE games SET search_text = ? WHERE id = ?', [text, key]);
      await expectMended(one('search.games', id, 'outdated', 'there'));

      const user = storedIdToBytes(newId(new Date()));
      const now = timeToDb(new Date());
      await write(
        `INSERT INTO users (id, nickname, social_links, search_text, created_at, updated_at)
      VALUES (?, 'Ａｄａ', '{}', 'Ada', ?, ?)`,
        [user, now, now],
      );
      await expectMended(one('search.users', idFromBytes(user), 'missing', 'there'));
      const caller = await app.aUser();
      const { items } = await app.call('user.search', { query: 'ada', limit: 50 }, caller.key);
      expect(items.map((item) => item.id)).toContain(idFromBytes(user));
      await write('DELETE FROM users WHERE id IN (?, ?)', [user, storedIdToBytes(caller.id)]);
    });

    test('is corrected with an entry in the audit', async () => {
      const entries = async (): Promise<number> => {
        const [row] = await db.read<{ n: number }>('SELECT COUNT(*) AS n FROM audit_entries');
        return row!.n;
      };
      // The indexer may still store what it read of users whom the test above removed.
      await until(async () => (await mend()).length === 0 && (await find()).length === 0);
      const before = await entries();
      await reconcile(db, { fix: true, by: systemActor() });
      expect(await entries()).toBe(before);
      const { key } = await aTaggedRecord('games');
      await write("UPDATE games SET tag_ids = '' WHERE id = ?", [key]);
      await reconcile(db, { fix: true, by: systemActor() });
      expect(await entries()).toBe(before + 1);
      const acts: AuditEntry[] = [];
      for await (const some of listActs(db)) acts.push(...some);
      expect(acts.at(-1)).toMatchObject({ action: 'reconcile --fix', after: { 'games.tag_ids': 1 } });
    });
  });

  const readCounter = async (name: string): Promise<number> => {
    const [row] = await db.read<{ n: number }>('SELECT n FROM counters WHERE name = ?', [name]);
    return row!.n;
  };

  describe('a counter of all records', () => {
    test.each(['games', 'image_posts', 'games:RPG', 'games:'])(
      '%s that is wrong or missing is mended',
      async (name) => {
        const n = await readCounter(name);
        expect(n).toBeGreaterThan(0);
        await write('UPDATE counters SET n = ? WHERE name = ?', [n + 5, name]);
        await expectMended(one('counters.n', name, n + 5, n));
        await write('DELETE FROM counters WHERE name = ?', [name]);
        await expectMended(one('counters.n', name, 0, n));
      },
    );

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
    expect(findings.map(({ field, total, samples }) => [field, total, samples.length])).toEqual([
      ['games.like_count', 120, 20],
      ['games.favorite_count', 120, 20],
      ['users.game_count', 30, 20],
      ['counters.n', 9, 9],
    ]);
    for (const { stored, actual } of findings[1]!.samples) expect(stored).toBe(Number(actual) + 2);
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
    expect([finding!.field, finding!.total, others]).toEqual(['tags.game_count', 2100, []]);
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
        expect((await mend()).map(({ field }) => field)).toContain('tags.game_count');
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
    const right = { code: 0, stdout: 'Everything is right.\n', stderr: '' };
    expect(await runCommand(['reconcile'], { env })).toEqual(right);

    const { key, id, n } = await rowWithMost('games', 'like_count');
    await write('UPDATE games SET like_count = 0 WHERE id = ?', [key]);
    await write("UPDATE counters SET n = 1 WHERE name = 'image_posts'");
    const table = [
      'WHAT              ID                                    STORED  ACTUAL',
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
});
