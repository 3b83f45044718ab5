/**
 * @engines sqlite server
 * @tier fast
 * @serverTier long
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { systemActor } from '../../src/auth/audit/log.ts';
import { gameKind } from '../../src/game/kind.ts';
import { imageKind } from '../../src/image/kind.ts';
import { readRecordState } from '../../src/admin/moderation/records.ts';
import { hideAll, hideRecord, unhideAll, UnhideError, unhideRecord } from '../../src/admin/moderation/takedown.ts';
import { suspendUser, unsuspendUser } from '../../src/admin/moderation/users.ts';
import { reconcile } from '../../src/admin/reconcile/service.ts';
import { Database } from '../../src/db/database.ts';
import { storedIdToBytes } from '../../src/db/values.ts';
import { schema } from '../../src/app/schema.ts';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { killedAfter, operatorOf } from '../harness/app/operator.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { isReplay, repeating } from '../harness/documents/repeating.ts';

// Single records that operators take down, beside two instances of a running service.

let app: TestApp;
/** Another instance on the same database. */
let other: TestApp;
/** The database as the command line has it. */
let db: Database;
let author: TestUser;
let fan: TestUser;

beforeAll(async () => {
  app = await startApp();
  other = await startApp({ databaseUrl: app.databaseUrl });
  db = await Database.open(app.databaseUrl, schema);
  [author, fan] = [await app.aUser(), await app.aUser()];
});
afterAll(async () => {
  await db.close();
  await other.stop();
  await app.stop();
});
afterEach(async () => {
  await expectExactCounts(db);
  expect(await reconcile(db, { fix: false })).toEqual([]);
});

const by = systemActor();
const hideGame = (id: string, reason = 'stolen') => hideRecord(db, gameKind, id, { reason, by });
const hidePost = (id: string, reason = 'stolen') => hideRecord(db, imageKind, id, { reason, by });
const unsettled = { hide: true, settle: () => Promise.resolve() };

const { cli, json } = operatorOf(() => app.databaseUrl);

const page = { limit: 50, page: 1 };

/** All that an instance tells of games with a word, by whichever way. */
const seenOn = async (instance: TestApp, word: string, neighbour: string) => {
  const ids = ({ items }: { items: readonly { id: string }[] }) => items.map(({ id }) => id);
  const profile = await instance.call('user.getProfile', { id: author.id });
  const types = await instance.call('game.getTypeStats', {});
  const tagged = await instance.call('game.list', { ...page, tagSlugs: [word] });
  const typed = await instance.call('game.list', { ...page, gameType: word.toUpperCase() });
  const searched = await instance.call('game.list', { ...page, search: word });
  const both = await instance.call('game.list', { ...page, tagSlugs: [word], gameType: word.toUpperCase() });
  return {
    all: (await instance.call('game.list', page)).total,
    listed: ids(await instance.call('game.list', page)).toSorted(),
    tagged: [tagged.total, ids(tagged)],
    typed: [typed.total, ids(typed)],
    searched: [searched.total, ids(searched)],
    both: [both.total, ids(both)],
    related: ids(await instance.call('game.getRelated', { gameId: neighbour })),
    types: [types.total, types.items.find(({ gameType }) => gameType === word.toUpperCase())?.count ?? 0],
    profile: [profile.gameCount, profile.imagePostCount],
  };
};

describe('a game that is taken down', () => {
  test('is gone at once from all that either instance tells, and comes back as it was', async () => {
    const word = 'aboveboard';
    const input = { tagNames: [word, 'shared'], gameType: word, extraInfo: { originalName: `${word} one` } };
    const game = await app.aGame({ title: `${word} two`, ...input }, author);
    const neighbour = await app.aGame({ tagNames: ['shared'] }, fan);
    await app.call('game.toggleFavorite', { gameId: game.id }, fan.key);
    await app.call('game.toggleReaction', { gameId: game.id, type: 'like' }, author.key);
    // Totals of combined filters are remembered.
    const before = await seenOn(app, word, neighbour.id);
    expect(before).toMatchObject({ tagged: [1, [game.id]], both: [1, [game.id]], types: [expect.any(Number), 1] });
    expect(await seenOn(other, word, neighbour.id)).toEqual(before);
    const whole = await app.call('game.getById', { id: game.id }, fan.key);

    expect(await json('games', 'hide', game.id, '--reason', 'ticket 1')).toEqual([
      { id: game.id, hidden: true, reason: 'ticket 1' },
    ]);
    for (const instance of [app, other]) {
      expect(await seenOn(instance, word, neighbour.id)).toEqual({
        all: before.all - 1,
        listed: before.listed.filter((id) => id !== game.id),
        tagged: [0, []],
        typed: [0, []],
        searched: [0, []],
        both: [0, []],
        related: before.related.filter((id) => id !== game.id),
        types: [before.types[0]! - 1, 0],
        profile: [before.profile[0]! - 1, before.profile[1]],
      });
      for (const key of [undefined, author.key, fan.key]) {
        expect((await instance.fail('game.getById', { id: game.id }, 404, key)).data.reason).toBe('GAME_NOT_FOUND');
      }
      await instance.fail('game.toggleFavorite', { gameId: game.id }, 404, fan.key);
      await instance.fail('game.toggleReaction', { gameId: game.id, type: 'like' }, 404, fan.key);
      await instance.fail('game.getRelated', { gameId: game.id }, 404);
    }
    await expectExactCounts(db);
    expect(await json('games', 'show', game.id)).toMatchObject([
      { isHidden: true, hiddenReason: 'ticket 1', hiddenAt: expect.any(String), authorHiddenAt: null, likes: 1 },
    ]);
    expect(await json('games', 'hidden')).toEqual([
      {
        id: game.id,
        authorId: author.id,
        title: game.title,
        hiddenAt: expect.any(String),
        hiddenReason: 'ticket 1',
        authorHiddenAt: null,
      },
    ]);

    expect(await json('games', 'unhide', game.id)).toEqual([{ id: game.id, hidden: false }]);
    for (const instance of [app, other]) expect(await seenOn(instance, word, neighbour.id)).toEqual(before);
    const back = await app.call('game.getById', { id: game.id }, fan.key);
    expect({ ...back, viewCount: 0 }).toEqual({ ...whole, viewCount: 0 });
    expect(await json('games', 'hidden')).toEqual([]);
    const entries = await json<{ action: string }>('audit', 'list');
    expect(entries.filter(({ action }) => action.startsWith('games '))).toMatchObject([
      {
        action: 'games hide',
        subject: `games ${game.id}`,
        before: { games: [{ id: game.id, title: game.title, authorId: author.id }] },
        after: { reason: 'ticket 1' },
      },
      { action: 'games unhide', before: { games: [{ id: game.id, reason: 'ticket 1' }] }, after: { isHidden: false } },
    ]);
  });

  test('is passed over by a walk that is under way', async () => {
    for (let n = 0; n < 4; n += 1) await app.aGame({ title: `walked ${n}`, tagNames: ['walked'] }, author);
    const query = { limit: 2, tagSlugs: ['walked'] };
    const first = await app.call('game.list', { ...query, page: 1 });
    // The record that the cursor names, and one that is to come.
    await hideGame(first.items[1]!.id);
    const second = await app.call('game.list', { ...query, cursor: first.nextCursor! });
    await hideGame(second.items[0]!.id);
    expect(second.items).toHaveLength(2);
    const again = await other.call('game.list', { ...query, cursor: first.nextCursor! });
    expect(again.items).toEqual([second.items[1]]);
    expect(again.total).toBe(2);
    const found = await other.call('game.list', { limit: 9, search: 'walked', page: 1 });
    expect(found.items.map(({ id }) => id)).toEqual([first.items[0]!.id, second.items[1]!.id]);
  });

  test('needs a reason, and an id that is there', async () => {
    const { id } = await app.aGame({}, author);
    expect((await cli('games', 'hide', id)).stderr).toContain("required option '--reason <text>' not specified");
    expect((await cli('games', 'hide', id, '--reason', ' ')).code).toBe(2);
    const unknown = randomUUID();
    for (const args of [
      ['hide', unknown, '--reason', 'x'],
      ['unhide', unknown],
    ]) {
      const { code, stderr } = await cli('games', ...args);
      expect([code, stderr]).toEqual([1, `error: There is no game with this id: ${unknown}\n`]);
    }
    expect(await cli('games', 'unhide', id)).toMatchObject({ code: 1, stderr: `error: ${id} is not hidden.\n` });
    await app.call('game.getById', { id });
  });
});

describe('games that filters select', () => {
  const idsOf = (rows: unknown[]): string[] => (rows as { id: string }[]).map(({ id }) => id);
  const spam = async (owner: TestUser, word: string, n: number): Promise<string[]> => {
    const games = Array.from({ length: n }, (_, index) => ({ title: `${word} ${index}`, tagNames: [word] }));
    return idsOf((await app.call('game.batchCreate', { games }, owner.key)).items);
  };

  test('are taken down in parts of a hundred, also after an interruption, and all come back', async () => {
    const hacked = await app.aUser({ nickname: 'hacked' });
    const [own, others] = [await app.aGame({ title: 'Own' }, hacked), await app.aGame({ title: 'Bargain' }, fan)];
    const ids = [...(await spam(hacked, 'Bargain', 100)), ...(await spam(hacked, 'Bargain', 3))];
    await app.call('game.toggleFavorite', { gameId: ids[0]! }, fan.key);
    const before = await app.call('user.getProfile', { id: hacked.id });
    const filters = ['--author', 'hacked', '--since', '1h', '--search', 'BARGAIN'];
    const hiding = ['games', 'hide', ...filters, '--reason', 'ticket 7'];
    const listed = (await json('games', 'list', ...filters)) as object[];
    expect(idsOf(listed)).toEqual(ids);
    expect(Object.keys(listed[0]!)).toEqual(['id', 'createdAt', 'authorId', 'title']);
    expect(await json('games', 'list', ...filters, '--until', '1h')).toEqual([]);

    expect(await json(...hiding)).toEqual(listed.map((one) => ({ ...one, hidden: false })));
    expect((await cli(...hiding)).stderr).toBe('103 games would be hidden: add --yes to do it.\n');
    expect(await app.call('user.getProfile', { id: hacked.id })).toEqual(before);
    // One part, and then the command was killed.
    const part = ids.slice(0, 100).map(storedIdToBytes);
    expect(await hideAll(db, gameKind, part, { reason: 'ticket 7', by })).toBe(100);
    expect((await cli(...hiding, '--yes')).stderr).toBe('3 games are hidden.\n');
    await expectExactCounts(db);
    for (const { id } of [own, others]) await app.call('game.getById', { id });
    for (const id of ids.slice(-4)) await other.fail('game.getById', { id }, 404);
    expect(idsOf(await json('games', 'hidden', ...filters))).toEqual(ids);
    expect(await json('games', 'hidden', '--reason', 'ticket')).toEqual([]);
    expect(await json('audit', 'list', '--action', 'games hide', '--subject', ids[0]!)).toMatchObject([
      { subject: 'games (100)', after: { reason: 'ticket 7' } },
    ]);

    const showing = ['games', 'unhide', '--author', hacked.id, '--reason', 'ticket 7'];
    expect((await json(...showing)).length).toBe(103);
    // Half of a part: its records are there again without what they had.
    expect(await killedAfter(db, 1, () => unhideAll(db, gameKind, part, by))).toBe(false);
    expect((await cli(...showing, '--yes')).stderr).toBe('103 games are shown.\n');
    expect(await app.call('user.getProfile', { id: hacked.id })).toEqual(before);
    expect((await app.call('game.getById', { id: ids[0]! })).favoriteCount).toBe(1);
    expect((await cli(...showing, '--yes')).stderr).toBe('0 games are shown.\n');
  });

  test('keep a reason of their own, and stay hidden by themselves when their author is back', async () => {
    const hacked = await app.aUser();
    const [first, second, third] = (await spam(hacked, 'Offer', 3)) as [string, string, string];
    await hideGame(first, 'an older ticket');
    await suspendUser(db, hacked.id, by, unsettled);
    const filters = ['--author', hacked.id, '--search', 'offer'];
    const hiding = ['games', 'hide', ...filters, '--until', '2999-01-01', '--reason', 'ticket 8', '--yes'];
    expect(idsOf(await json(...hiding))).toEqual([second, third]);
    await unsuspendUser(db, hacked.id, by);
    const reasons = await json<{ hiddenReason: string }>('games', 'hidden', ...filters);
    expect(reasons.map(({ hiddenReason }) => hiddenReason)).toEqual(['an older ticket', 'ticket 8', 'ticket 8']);
    // While their author is hidden, they are no more than that.
    await suspendUser(db, hacked.id, by, unsettled);
    expect((await cli('games', 'unhide', ...filters, '--yes')).stderr).toBe('0 games are shown.\n');
    expect(await unsuspendUser(db, hacked.id, by)).toBe(3);
  });

  test('go to another user, hidden ones included, and not before --yes', async () => {
    const [from, to] = [await app.aUser({ nickname: 'moves out' }), await app.aUser({ nickname: 'moves in' })];
    const ids = await spam(from, 'Mover', 2);
    await hideGame(ids[1]!);
    const moving = ['games', 'move', '--from', 'moves out', '--to', to.id];
    expect(await json(...moving)).toMatchObject(ids.map((id) => ({ id, authorId: from.id, moved: false })));
    expect((await app.call('game.getById', { id: ids[0]! })).author.id).toBe(from.id);
    expect((await cli(...moving, '--yes')).stderr).toBe('2 games are moved.\n');
    for (const instance of [app, other]) {
      const { items } = await instance.call('game.list', { ...page, search: 'mover' });
      expect(items.map(({ id, author: { nickname } }) => [id, nickname])).toEqual([[ids[0], 'moves in']]);
    }
    expect(idsOf(await json('games', 'hidden', '--author', 'moves in'))).toEqual([ids[1]]);
    expect(await json('audit', 'list', '--action', 'games move')).toMatchObject(
      ids.map((id) => ({ subject: `user ${from.id}`, before: { games: [id] }, after: { authorId: to.id } })),
    );
    expect((await cli(...moving, '--yes')).stderr).toBe('0 games are moved.\n');
    expect((await cli('games', 'move', '--from', to.id, '--to', 'moves in')).stderr).toBe(
      'error: They are the same user.\n',
    );
  });
});

describe('an image post that is taken down', () => {
  test('is not found by its author either, who cannot change it', async () => {
    const post = await app.anImagePost({ title: 'plain sight', tagNames: ['sight'] }, author);
    const before = await app.call('user.getProfile', { id: author.id });
    expect(await json('images', 'hide', post.id, '--reason', 'r')).toMatchObject([{ hidden: true }]);
    for (const instance of [app, other]) {
      const update = { id: post.id, title: 'changed' };
      expect((await instance.fail('image.update', update, 404, author.key)).data.reason).toBe('IMAGE_POST_NOT_FOUND');
      await instance.fail('image.getById', { id: post.id }, 404, author.key);
      await instance.fail('image.toggleFavorite', { imagePostId: post.id }, 404, author.key);
      expect((await instance.call('image.list', { ...page, search: 'sight' })).total).toBe(0);
      expect((await instance.call('user.getProfile', { id: author.id })).imagePostCount).toBe(
        before.imagePostCount - 1,
      );
    }
    expect(await json('images', 'hidden')).toMatchObject([{ id: post.id, hiddenReason: 'r' }]);
    await json('images', 'unhide', post.id);
    expect(await app.call('image.update', { id: post.id, title: 'changed' }, author.key)).toMatchObject({
      title: 'changed',
      tags: post.tags,
    });
  });
});

describe('a repetition with an Idempotency-Key', () => {
  const images = ['https://images.example.com/1.webp'];

  test.each([
    ['game.create', { title: 'once' }, 422, 'IDEMPOTENCY_GONE'],
    ['game.batchCreate', { games: [{ title: 'a' }, { title: 'b' }] }, 422, 'IDEMPOTENCY_GONE'],
    ['image.create', { title: 'once', images }, 422, 'IDEMPOTENCY_GONE'],
    ['image.batchCreate', { posts: [{ title: 'a', images }] }, 422, 'IDEMPOTENCY_GONE'],
  ] as const)('of %s shows nothing of a record that was taken down', async (id, input, status, reason) => {
    const headers = repeating(randomUUID());
    const first = await app.send(id, input, author.key, headers);
    expect(first.status).toBe(200);
    const output = first.body.result.data.json as { id: string } | { items: { id: string }[] };
    const hidden = 'items' in output ? output.items.at(-1)!.id : output.id;
    const removable = id.startsWith('game') ? gameKind : imageKind;
    await hideRecord(db, removable, hidden, { reason: 'r', by });
    for (const instance of [app, other]) {
      const again = await instance.send(id, input, author.key, headers);
      expect([again.status, again.body.error?.json.data.reason]).toEqual([status, reason]);
      expect(again.headers['x-should-retry']).toBe('false');
      expect(JSON.stringify(again.body)).not.toContain(hidden);
    }
    await unhideRecord(db, removable, hidden, by);
    const shown = await other.send(id, input, author.key, headers);
    expect([shown.status, isReplay(shown), shown.body]).toEqual([200, true, first.body]);
  });

  test('of a change or a toggle gets the ordinary 404', async () => {
    const post = await app.anImagePost({}, author);
    const game = await app.aGame({}, author);
    const calls = [
      ['image.update', { id: post.id, description: 'x' }],
      ['image.toggleFavorite', { imagePostId: post.id }],
      ['image.toggleReaction', { imagePostId: post.id, type: 'like' }],
      ['game.toggleFavorite', { gameId: game.id }],
      ['game.toggleReaction', { gameId: game.id, type: 'dislike' }],
    ] as const;
    const headers = repeating(randomUUID());
    for (const [id, input] of calls) expect((await app.send(id, input, author.key, headers)).status).toBe(200);
    await hidePost(post.id);
    await hideGame(game.id);
    for (const [id, input] of calls) {
      const again = await other.send(id, input, author.key, headers);
      const notFound = id.startsWith('game') ? 'GAME_NOT_FOUND' : 'IMAGE_POST_NOT_FOUND';
      expect([id, again.status, again.body.error?.json.data.reason]).toEqual([id, 404, notFound]);
    }
  });
});

describe('a record that is hidden both by itself and with its author', () => {
  const isShown = async (id: string): Promise<boolean> =>
    (await app.send('game.getById', { id }, fan.key)).status === 200;

  test('is shown when neither hides it any more, in whichever order', async () => {
    const owner = await app.aUser();
    const [one, two] = [await app.aGame({}, owner), await app.aGame({}, owner)];
    await app.call('game.toggleFavorite', { gameId: one.id }, fan.key);

    // By itself first.
    await hideGame(one.id, 'first');
    expect(await suspendUser(db, owner.id, by, unsettled)).toBe(1);
    expect(await unsuspendUser(db, owner.id, by)).toBe(1);
    expect([await isShown(one.id), await isShown(two.id)]).toEqual([false, true]);
    expect(await readRecordState(db, gameKind, one.id)).toMatchObject({ hiddenReason: 'first' });
    expect(await unhideRecord(db, gameKind, one.id, by)).toBe(true);
    expect(await isShown(one.id)).toBe(true);

    // With its author first.
    await suspendUser(db, owner.id, by, unsettled);
    await hideGame(one.id, 'second');
    const { authorHiddenAt, hiddenAt, hiddenReason } = await readRecordState(db, gameKind, one.id);
    expect([authorHiddenAt, hiddenAt, hiddenReason]).toEqual([expect.any(String), expect.any(String), 'second']);
    await unsuspendUser(db, owner.id, by);
    expect([await isShown(one.id), await isShown(two.id)]).toEqual([false, true]);

    // Only its author hides it after that.
    await suspendUser(db, owner.id, by, unsettled);
    expect(await unhideRecord(db, gameKind, one.id, by)).toBe(false);
    expect(await isShown(one.id)).toBe(false);
    await expect(unhideRecord(db, gameKind, one.id, by)).rejects.toThrow(UnhideError);
    expect(await unsuspendUser(db, owner.id, by)).toBe(2);
    expect(await app.call('game.getById', { id: one.id }, fan.key)).toMatchObject({
      favoriteCount: 1,
      viewer: { favorited: true },
    });
  });

  test('gets another reason, and keeps the time', async () => {
    const { id } = await app.aGame({}, author);
    await hideGame(id, 'one');
    const { hiddenAt } = await readRecordState(db, gameKind, id);
    await hideGame(id, 'two');
    expect(await readRecordState(db, gameKind, id)).toMatchObject({ hiddenAt, hiddenReason: 'two' });
  });

  test('goes with its author when the author is deleted', async () => {
    const owner = await app.aUser();
    const { id } = await app.aGame({}, owner);
    await hideGame(id);
    expect(await json('users', 'delete', owner.id, '--yes')).toMatchObject([{ hiddenGames: 1, deleted: true }]);
    await expect(readRecordState(db, gameKind, id)).rejects.toMatchObject({ reason: 'GAME_NOT_FOUND' });
  });
});

describe('reconcile', () => {
  const rightAgain = async (finding: { field: string; ids: string[] }): Promise<void> => {
    const found = [{ field: finding.field, total: finding.ids.length, samples: expect.any(Array) }];
    expect(await reconcile(db, { fix: false })).toEqual(found);
    expect(await reconcile(db, { fix: true })).toEqual(found);
    expect(await reconcile(db, { fix: false })).toEqual([]);
  };

  test('shows a record with all that it had if showing it was interrupted', async () => {
    const { id } = await app.aGame({}, author);
    await app.call('game.toggleFavorite', { gameId: id }, fan.key);
    await hideGame(id);
    expect(await killedAfter(db, 1, () => unhideRecord(db, gameKind, id, by))).toBe(false);
    expect((await app.call('game.getById', { id }, fan.key)).favoriteCount).toBe(0);
    await rightAgain({ field: 'hidden_records', ids: [id] });
    const { favoriteCount, viewer } = await app.call('game.getById', { id }, fan.key);
    expect([favoriteCount, viewer?.favorited]).toEqual([1, true]);
  });

  test('gives a favorite back that was set aside for hiding its record, which did not happen', async () => {
    const { id } = await app.aGame({}, author);
    const gone = randomUUID();
    for (const record of [id, gone]) {
      await db.transaction((tx) =>
        tx.execute("INSERT INTO hidden_marks (record_id, user_id, mark) VALUES (?, ?, 'favorite')", [
          storedIdToBytes(record),
          storedIdToBytes(fan.id),
        ]),
      );
    }
    await rightAgain({ field: 'hidden_marks', ids: [id, gone] });
    expect((await app.call('game.getById', { id }, fan.key)).viewer).toEqual({ favorited: true, reaction: null });
  });
});
