/**
 * @engines sqlite
 * @tier long
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemActor } from '../../src/auth/audit/log.ts';

import { deleteRecord } from '../../src/admin/moderation/records.ts';
import { deleteUser, suspendUser, unsuspendUser } from '../../src/admin/moderation/users.ts';
import { mergeTags } from '../../src/content/write/tag-merge.ts';
import { removeRecords } from '../../src/content/write/remove.ts';
import { Database } from '../../src/db/database.ts';
import { insertInto, insertValues } from '../../src/db/sql/write-rows.ts';
import { idFromBytes, storedIdToBytes } from '../../src/db/values.ts';
import { gameKind } from '../../src/game/kind.ts';
import { imageKind } from '../../src/image/kind.ts';
import { reconcile } from '../../src/admin/reconcile/service.ts';
import { schema, searchKinds } from '../../src/app/schema.ts';
import { Indexer } from '../../src/search/indexing/indexer.ts';
import { insertUsers } from '../../src/user/service.ts';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { killedAfter, operatorOf } from '../harness/app/operator.ts';
import { expectExactCounts } from '../harness/app/counts.ts';

// What operators do to users, records and tags beside a running service.

/** More than go in two transactions. */
const MARKS = 2100;

let app: TestApp;
/** As the command line has it: no call has to wait for what is done by this. */
let db: Database;
let indexer: Indexer;

beforeAll(async () => {
  app = await startApp();
  db = await Database.open(app.databaseUrl, schema);
  indexer = new Indexer(app.context.db, searchKinds, undefined, { run: 4, fanout: 2, graceMs: 60_000 });
});
afterAll(async () => {
  await db.close();
  await app.stop();
});

const by = systemActor();
/** Nobody publishes meanwhile. */
const settle = () => Promise.resolve();
const unsettled = { hide: true, settle };

const { cli, json: rows } = operatorOf(() => app.databaseUrl);
/** The object that a command prints. */
const json = async (...args: string[]): Promise<unknown> => (await rows(...args))[0];

const expectAllExact = async (): Promise<void> => {
  await expectExactCounts(db);
  expect(await reconcile(db, { fix: false })).toEqual([]);
};

interface Entry {
  action: string;
  before: unknown;
}

const audit = async (action: string): Promise<Entry[]> =>
  (await rows<Entry>('audit', 'list')).filter((entry) => entry.action === action);

/** Has a user mark all records. */
const mark = async ({ key }: TestUser, games: readonly { id: string }[], posts: readonly { id: string }[]) => {
  for (const { id } of games) {
    await app.call('game.toggleFavorite', { gameId: id }, key);
    await app.call('game.toggleReaction', { gameId: id, type: 'like' }, key);
  }
  for (const { id } of posts) {
    await app.call('image.toggleReaction', { imagePostId: id, type: 'dislike' }, key);
    await app.call('image.toggleFavorite', { imagePostId: id }, key);
  }
};

/** All that lists, searches, counts and profiles tell of an author. */
const seen = async (author: TestUser, word: string) => {
  const { gameCount, imagePostCount } = await app.call('user.getProfile', { id: author.id });
  const query = { limit: 100, page: 1 };
  // Those who look at records are counted at any time.
  const unviewed = <Record extends object>(records: readonly Record[]) =>
    records.map((record) => ({ ...record, viewCount: 0 }));
  const { items: games } = await app.call('game.list', query);
  const { items: posts } = await app.call('image.list', query);
  return {
    games: unviewed(games.filter((game) => game.author.id === author.id)),
    posts: unviewed(posts.filter((post) => post.author.id === author.id)),
    found: unviewed((await app.call('game.list', { ...query, search: word })).items),
    tagged: (await app.call('game.list', { ...query, tagSlugs: [word] })).total,
    types: (await app.call('game.getTypeStats', {})).total,
    gameCount,
    imagePostCount,
  };
};

describe('a suspended user', () => {
  let author: TestUser;
  let fan: TestUser;
  let before: Awaited<ReturnType<typeof seen>>;
  let gameId: string;

  beforeAll(async () => {
    [author, fan] = [await app.aUser({ nickname: 'hidden author' }), await app.aUser()];
    const extraInfo = { originalAuthor: 'somebody', downloads: [{ name: 'a', url: 'https://example.com/a' }] };
    const games = [
      await app.aGame({ title: 'veiled one', tagNames: ['veiled', 'other'], gameType: 'RPG', extraInfo }, author),
      await app.aGame({ title: 'veiled two', tagNames: ['veiled'], description: 'long' }, author),
    ];
    const images = Array.from({ length: 6 }, (_, n) => `https://images.example.com/${n}.webp`);
    const post = await app.anImagePost({ title: 'veiled post', tagNames: ['veiled'], images }, author);
    const updated = await app.call('image.update', { id: post.id, description: 'changed later' }, author.key);
    await indexer.work();
    await mark(fan, games, [updated]);
    await mark(author, games, [updated]);
    gameId = games[0]!.id;
    before = await seen(author, 'veiled');
  });

  test('is refused soon, on public operations, too, and hears why', async () => {
    expect((await app.call('user.me', {}, author.key)).id).toBe(author.id);
    await cli('users', 'suspend', author.id);
    let reason = '';
    while (reason !== 'USER_SUSPENDED') {
      const { body } = await app.send('user.me', {}, author.key);
      reason = body.error?.json.data.reason ?? '';
      await sleep(20);
    }
    expect((await app.fail('game.list', { limit: 1, page: 1 }, 401, author.key)).data.reason).toBe('USER_SUSPENDED');
    // What the user published stays, unless it is to be hidden.
    expect(await seen(author, 'veiled')).toEqual(before);
    expect(await json('users', 'show', author.id)).toMatchObject({ games: 2, suspendedAt: expect.any(String) });
  });

  test('has no records while they are hidden, and all of them after, just as they were', async () => {
    const whole = await app.call('game.getById', { id: gameId });
    expect(await json('users', 'suspend', author.id, '--hide-content')).toEqual({
      id: author.id,
      suspended: true,
      hidden: 3,
    });
    expect(await seen(author, 'veiled')).toMatchObject({
      games: [],
      posts: [],
      found: [],
      tagged: 0,
      gameCount: 0,
      imagePostCount: 0,
      types: before.types - 2,
    });
    await expectAllExact();
    expect((await app.fail('game.getById', { id: gameId }, 404)).data.reason).toBe('GAME_NOT_FOUND');
    expect(await json('users', 'show', author.id)).toMatchObject({ hiddenGames: 2, hiddenImagePosts: 1, games: 0 });
    expect(await json('games', 'show', gameId)).toMatchObject({ isHidden: true, title: 'veiled one', likes: 2 });
    await indexer.work();

    expect(await json('users', 'unsuspend', author.id)).toEqual({ id: author.id, suspended: false, shown: 3 });
    await expectAllExact();
    expect(await seen(author, 'veiled')).toEqual(before);
    await indexer.work();
    expect(await seen(author, 'veiled')).toEqual(before);
    expect(await app.call('game.getById', { id: gameId })).toEqual({ ...whole, viewCount: expect.any(Number) });
    await sleep(600);
    expect((await app.call('user.me', {}, author.key)).id).toBe(author.id);
    const marked = await app.call('game.getById', { id: gameId }, fan.key);
    expect(marked.viewer).toEqual({ favorited: true, reaction: 'like' });
  });

  test('leaves entries that tell who did it, and what it was before', async () => {
    const [first, second] = await audit('users suspend');
    const subject = `user ${author.id}`;
    expect(first).toMatchObject({
      actor: systemActor().name,
      subject,
      before: { suspendedAt: null, hiddenAt: null },
      after: { suspendedAt: expect.any(String), hiddenAt: null },
    });
    expect(second).toMatchObject({ subject, before: { hiddenAt: null }, after: { hiddenAt: expect.any(String) } });
    const hidden = (await audit('users suspend --hide-content')).map((entry) => Object.values(entry.before as object));
    expect(hidden.flat(2)).toHaveLength(3);
    expect((await audit('users unsuspend')).length).toBeGreaterThanOrEqual(3);
  });

  test('goes on being hidden, or shown, where that was interrupted', async () => {
    for (const transactions of [1, 2, 3]) {
      await killedAfter(db, transactions, () => suspendUser(db, author.id, by, unsettled));
      await expectAllExact();
    }
    await suspendUser(db, author.id, by, unsettled);
    expect((await seen(author, 'veiled')).games).toEqual([]);
    for (const transactions of [1, 2, 3, 4, 5]) {
      await killedAfter(db, transactions, () => unsuspendUser(db, author.id, by));
      // What is half shown is found, and nothing else is wrong.
      await expectExactCounts(db);
      for (const { field } of await reconcile(db, { fix: false })) expect(field).toBe('hidden_records');
    }
    // What is half shown can be hidden again.
    await killedAfter(db, 2, () => unsuspendUser(db, author.id, by));
    await suspendUser(db, author.id, by, unsettled);
    await unsuspendUser(db, author.id, by);
    await expectAllExact();
    expect(await seen(author, 'veiled')).toEqual(before);
  });
});

describe('deletion', () => {
  test('of records is a dry run first, and takes them out of every count', async () => {
    const [author, fan] = [await app.aUser(), await app.aUser()];
    const game = await app.aGame({ title: 'doomed', tagNames: ['doomed'], gameType: 'DOOM' }, author);
    const post = await app.anImagePost({ title: 'doomed', tagNames: ['doomed'] }, author);
    await mark(fan, [game], [post]);
    expect(await json('games', 'delete', game.id)).toMatchObject({ id: game.id, likes: 1, deleted: false });
    expect((await app.call('game.getById', { id: game.id })).likeCount).toBe(1);
    const { code, stderr } = await cli('games', 'delete', game.id, '019a3c5e-b150-7e85-9f52-9d40ce61a205', '--yes');
    expect([code, stderr]).toEqual([1, 'error: There is no game with this id: 019a3c5e-b150-7e85-9f52-9d40ce61a205\n']);

    expect(await json('games', 'delete', game.id, '--yes')).toMatchObject({ id: game.id, deleted: true });
    expect(await json('images', 'delete', post.id, '--yes')).toMatchObject({ id: post.id, deleted: true });
    await expectAllExact();
    await app.fail('game.getById', { id: game.id }, 404);
    expect((await app.call('game.list', { limit: 1, page: 1, search: 'doomed' })).total).toBe(0);
    expect((await app.call('game.list', { limit: 1, page: 1, gameType: 'DOOM' })).total).toBe(0);
    expect(await audit('games delete')).toMatchObject([
      { subject: `games ${game.id}`, before: { games: [{ id: game.id, title: 'doomed', authorId: author.id }] } },
    ]);
  });

  test('of a record with very many marks takes several transactions, also to hide it and to show it', async () => {
    const author = await app.aUser();
    const game = await app.aGame({ title: 'beloved' }, author);
    const key = storedIdToBytes(game.id);
    await db.transaction(async (tx) => {
      const tail = (n: number): Buffer => Buffer.from(n.toString(16).padStart(16, '0'), 'hex');
      const ids = Array.from({ length: MARKS }, (_, n) =>
        Buffer.concat([Buffer.from('019a3c5eb1507e85', 'hex'), tail(n)]),
      );
      const users = ids.map((id) => ({ id: idFromBytes(id), nickname: 'x' }));
      await insertUsers(tx, users, new Date('2026-01-01'));
      await insertValues(
        tx,
        insertInto('game_favorites', ['user_id', 'game_id']),
        ids.map((id) => [id, key]),
      );
      await insertValues(
        tx,
        insertInto('game_reactions', ['user_id', 'game_id', 'type']),
        ids.map((id) => [id, key, 'dislike']),
      );
      await tx.execute('UPDATE games SET favorite_count = ?, dislike_count = ? WHERE id = ?', [MARKS, MARKS, key]);
    });
    const changes: number[] = [];
    const original = db.transaction;
    db.transaction = (work, ...rest) =>
      original.call(
        db,
        async (tx) => {
          let n = 0;
          const execute: typeof tx.execute = async (sql, parameters) => {
            const changed = await tx.execute(sql, parameters);
            n += changed;
            return changed;
          };
          const result = await work({ ...tx, execute });
          changes.push(n);
          return result;
        },
        ...rest,
      ) as never;
    try {
      expect(await suspendUser(db, author.id, by, unsettled)).toBe(1);
      await expectAllExact();
      await unsuspendUser(db, author.id, by);
      await expectAllExact();
      expect(await app.call('game.getById', { id: game.id })).toMatchObject({
        favoriteCount: MARKS,
        dislikeCount: MARKS,
      });
      expect(await deleteRecord(db, gameKind, game.id, by)).toBe(true);
    } finally {
      db.transaction = original;
    }
    await expectAllExact();
    expect(Math.max(...changes)).toBeLessThan(2500);
    await db.transaction((tx) => tx.execute("DELETE FROM users WHERE nickname = 'x'"));
  });

  test('of a user takes all with them, and nothing of others', async () => {
    const [doomed, other] = [await app.aUser({ nickname: 'gone soon' }), await app.aUser()];
    const own = [await app.aGame({ tagNames: ['left'] }, doomed), await app.aGame({ tagNames: ['left'] }, doomed)];
    const ownPost = await app.anImagePost({}, doomed);
    const kept = await app.aGame({ tagNames: ['left'] }, other);
    const keptPost = await app.anImagePost({}, other);
    await mark(doomed, [...own, kept], [keptPost]);
    await mark(other, [...own, kept], [ownPost, keptPost]);
    await suspendUser(db, doomed.id, by, unsettled);
    await unsuspendUser(db, doomed.id, by);

    expect(await json('users', 'delete', doomed.id)).toEqual({
      id: doomed.id,
      nickname: 'gone soon',
      games: 2,
      imagePosts: 1,
      hiddenGames: 0,
      hiddenImagePosts: 0,
      engagement: 8,
      keys: 1,
      deleted: false,
    });
    expect((await app.call('user.getProfile', { id: doomed.id })).gameCount).toBe(2);
    expect(await json('users', 'delete', doomed.id, '--yes')).toMatchObject({ deleted: true });
    await expectAllExact();
    await app.fail('user.getProfile', { id: doomed.id }, 404);
    expect((await app.call('user.search', { query: 'gone soon', limit: 10 }, other.key)).items).toEqual([]);
    expect(await app.call('game.getById', { id: kept.id })).toMatchObject({ likeCount: 1, favoriteCount: 1 });
    expect((await app.call('game.list', { limit: 9, page: 1, tagSlugs: ['left'] })).total).toBe(1);
    await sleep(600);
    expect((await app.fail('user.me', {}, 401, doomed.key)).data.reason).toBe('KEY_UNKNOWN');
    const entries = await audit('users delete');
    expect(entries.at(-1)).toMatchObject({
      subject: `user ${doomed.id}`,
      before: { nickname: 'gone soon' },
      after: null,
    });
    // Hidden records go, too.
    const hidden = await app.aUser();
    await app.aGame({}, hidden);
    await suspendUser(db, hidden.id, by, unsettled);
    await deleteUser(db, hidden.id, by);
    expect(await db.read('SELECT * FROM hidden_records')).toEqual([]);
    expect(await db.read('SELECT * FROM hidden_marks')).toEqual([]);
  });

  test('is exact while others publish, mark and delete the same', async () => {
    const [doomed, other, third] = [await app.aUser(), await app.aUser(), await app.aUser()];
    const games: { id: string }[] = [];
    for (let n = 0; n < 12; n += 1) {
      games.push(await app.aGame({ tagNames: ['crowd', `crowd ${n % 3}`], gameType: 'CROWD' }, n % 2 ? doomed : other));
    }
    let busy = true;
    const failures = new Set<string>();
    const write = async (id: Parameters<TestApp['send']>[0], input: unknown, key: string): Promise<void> => {
      const { status, body } = await app.send(id, input, key);
      if (status !== 200) failures.add(body.error.json.data.reason);
    };
    const writer = async ({ key }: TestUser): Promise<void> => {
      for (let n = 0; busy; n += 1) {
        const { id } = games[n % games.length]!;
        await write('game.toggleFavorite', { gameId: id }, key);
        await write('game.toggleReaction', { gameId: id, type: n % 2 ? 'like' : 'dislike' }, key);
        await write('game.create', { title: 'more', tagNames: ['crowd'], gameType: 'CROWD' }, key);
      }
    };
    const writers = [writer(doomed), writer(other), writer(third)];
    await Promise.all([
      deleteUser(db, doomed.id, by),
      removeRecords(
        db,
        gameKind,
        games.filter((_, n) => n % 4 === 0).map(({ id }) => storedIdToBytes(id)),
      ),
      suspendUser(db, third.id, by, { hide: true, settle: () => sleep(50) }),
    ]);
    await unsuspendUser(db, third.id, by);
    busy = false;
    await Promise.all(writers);
    await expectAllExact();
    for (const reason of failures) {
      expect(['GAME_NOT_FOUND', 'USER_SUSPENDED', 'KEY_UNKNOWN', 'OVERLOADED']).toContain(reason);
    }
  });
});

describe('tags merge', () => {
  test('gives all records the other tag, and so whatever is published with the old name', async () => {
    const author = await app.aUser();
    const one = await app.aGame({ title: 'a', tagNames: ['x0', 'Role Playing', 'rpg'], gameType: 'ADV' }, author);
    const two = await app.aGame({ title: 'b', tagNames: ['Role Playing', 'x0'] }, author);
    const post = await app.anImagePost({ title: 'c', tagNames: ['Role Playing'] }, author);
    await indexer.work();
    expect(await json('tags', 'merge', 'role-playing', 'rpg')).toMatchObject({ records: 3, merged: false });
    expect(await json('tags', 'merge', 'role-playing', 'rpg', '--yes')).toMatchObject({ records: 3, merged: true });
    await expectAllExact();
    const slugs = async (id: string): Promise<string[]> =>
      (await app.call('game.getById', { id })).tags.map(({ slug }) => slug);
    expect([await slugs(one.id), await slugs(two.id)]).toEqual([
      ['x0', 'rpg'],
      ['rpg', 'x0'],
    ]);
    const query = { limit: 10, page: 1 };
    expect((await app.call('game.list', { ...query, tagSlugs: ['rpg'], gameType: 'ADV' })).total).toBe(1);
    expect((await app.call('image.list', { ...query, search: 'rpg' })).items[0]?.id).toBe(post.id);
    expect((await app.call('game.list', { ...query, search: 'role playing' })).total).toBe(0);

    const more = await app.aGame({ tagNames: ['role playing', 'RPG', 'x0', 'new one'] }, author);
    expect(more.tags.map(({ slug }) => slug)).toEqual(['rpg', 'x0', 'new-one']);
    const changed = await app.call('image.update', { id: post.id, tagNames: ['ROLE PLAYING', 'x0'] }, author.key);
    expect(changed.tags.map(({ slug }) => slug)).toEqual(['rpg', 'x0']);
    await expectAllExact();
    // By the old slug.
    expect((await app.call('game.list', { ...query, tagSlugs: ['role-playing'] })).total).toBe(3);
    expect((await cli('tags', 'list', '--search', 'role')).stdout.trim().split('\n')).toHaveLength(1);
    expect(await audit('tags merge')).toHaveLength(1);
  });

  test.each([
    ['itself', ['rpg', 'rpg'], 'A tag cannot be merged into itself.'],
    ['no tag', ['rpg', 'rpgs'], 'There is no tag with the slug "rpgs".'],
    ['a merged one', ['x0', 'role-playing'], '"role-playing" was itself merged into another tag.'],
  ])('refuses to merge into %s', async (_, slugs, fault) => {
    expect(await cli('tags', 'merge', ...slugs, '--yes')).toEqual({ code: 1, stdout: '', stderr: `error: ${fault}\n` });
  });

  test('follows tags that were merged before, and moves what was published meanwhile', async () => {
    const author = await app.aUser();
    for (const tag of ['m1', 'm2', 'm3']) await app.aGame({ tagNames: [tag] }, author);
    await mergeTags(db, [gameKind, imageKind], { from: 'm1', into: 'm2' }, by, settle);
    const late = await app.aGame({ tagNames: ['late'] }, author);
    await mergeTags(db, [gameKind, imageKind], { from: 'm2', into: 'm3' }, by, async () => {
      // As one that had read the tags before.
      await db.transaction(async (tx) => {
        const [tag] = await tx.read<{ id: number }>("SELECT id FROM tags WHERE slug = 'm2'");
        const key = storedIdToBytes(late.id);
        await tx.execute('INSERT INTO game_tags (game_id, tag_id, position) VALUES (?, ?, 1)', [key, tag!.id]);
        await tx.execute("UPDATE games SET tag_ids = CONCAT(tag_ids, ',', ?) WHERE id = ?", [String(tag!.id), key]);
        await tx.execute('UPDATE tags SET game_count = game_count + 1 WHERE id = ?', [tag!.id]);
      });
    });
    await expectAllExact();
    expect((await app.aGame({ tagNames: ['m1'] }, author)).tags.map(({ slug }) => slug)).toEqual(['m3']);
    expect((await app.call('game.list', { limit: 10, page: 1, tagSlugs: ['m3'] })).total).toBe(5);
  });
});
