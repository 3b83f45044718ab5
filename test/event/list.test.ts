/**
 * @engines all
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { listActs, systemActor } from '../../src/auth/audit/log.ts';
import { mergeTags } from '../../src/content/write/tag-merge.ts';
import { renameTag } from '../../src/content/write/tag-names.ts';
import { slugOf } from '../../src/content/tag/slug.ts';
import { removeRecords } from '../../src/content/write/remove.ts';

import { MoveError, moveRecords } from '../../src/admin/moderation/move.ts';
import { hideRecord, unhideRecord } from '../../src/admin/moderation/takedown.ts';
import { deleteUser, suspendUser, unsuspendUser } from '../../src/admin/moderation/users.ts';
import { idToBytes } from '../../src/db/values.ts';
import { gameKind } from '../../src/game/kind.ts';
import { imageKind } from '../../src/image/kind.ts';
import { closeFeed, sweepOldEvents } from '../../src/event/outbox/feed.ts';
import { renameUser } from '../../src/user/service.ts';
import { type Input, type Output, startApp, type TestApp } from '../harness/app/app.ts';
import { expectExactCounts } from '../harness/app/counts.ts';

type EventPage = Output<'event.list'>;
type EventItem = EventPage['items'][number];

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

const settle = (): Promise<unknown> => Promise.resolve();
const move = (): Promise<number> => app.context.lifecycle.relay.moveNow();
const list = (input: Input<'event.list'> = {}): Promise<EventPage> => app.call('event.list', input);
const latest = async (): Promise<string> => {
  await move();
  return (await list({ start: 'latest' })).nextCursor;
};

/** The events that `change` brings about. */
const eventsOf = async (change: () => Promise<unknown>, input: Input<'event.list'> = {}): Promise<EventItem[]> => {
  const after = await latest();
  await change();
  await move();
  const { items, hasMore } = await list({ after, ...input });
  expect(hasMore).toBe(false);
  return items;
};

const brief = ({ type, record, actorId }: EventItem) => [type, record.id, actorId];

describe('a change of a game or an image post', () => {
  test('is told of with its author', async () => {
    const before = Date.now();
    const author = await app.aUser();
    const ids: string[] = [];
    const events = await eventsOf(async () => {
      const first = await app.aGame({}, author);
      const { items } = await app.call('game.batchCreate', { games: [{ title: 'a' }, { title: 'b' }] }, author.key);
      const post = await app.anImagePost({}, author);
      await app.call('image.update', { id: post.id, title: 'another' }, author.key);
      ids.push(first.id, ...items.map(({ id }) => id), post.id);
    });
    expect(events.map(brief)).toEqual([
      ...ids.slice(0, 3).map((id) => ['game.created', id, author.id]),
      ['image.created', ids[3], author.id],
      ['image.updated', ids[3], author.id],
    ]);
    expect(events.map(({ record }) => record.kind)).toEqual(['game', 'game', 'game', 'image', 'image']);
    expect(Object.keys(events[0]!).toSorted()).toEqual(['actorId', 'at', 'id', 'position', 'record', 'type']);
    const at = Date.parse(events[0]!.at);
    expect([before <= at, at <= Date.now()]).toEqual([true, true]);
    expect(events.map(({ position }) => position - events[0]!.position)).toEqual([0, 1, 2, 3, 4]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(5);
  });

  test('that changes nothing, or is refused, is not', async () => {
    const [author, other] = [await app.aUser(), await app.aUser()];
    const post = await app.anImagePost({}, author);
    const events = await eventsOf(async () => {
      await app.call('image.update', { id: post.id }, author.key);
      await app.call('image.update', { id: post.id, title: post.title, tagNames: [] }, author.key);
      await app.call('user.updateProfile', { bio: null }, author.key);
      await app.fail('image.update', { id: post.id, title: 'x' }, 403, other.key);
      await app.fail('game.create', { title: '' }, 400, author.key);
      await app.call('game.getById', { id: (await app.aGame({}, author)).id });
    });
    expect(events.map(({ type }) => type)).toEqual(['game.created']);
  });

  test('by reactions and favorites is told of once for each record', async () => {
    const [author, other] = [await app.aUser(), await app.aUser()];
    const [game, post] = [await app.aGame({}, author), await app.anImagePost({}, author)];
    const events = await eventsOf(async () => {
      for (const { key } of [author, other]) {
        await app.call('game.toggleReaction', { gameId: game.id, type: 'like' }, key);
        await app.call('game.toggleFavorite', { gameId: game.id }, key);
        await app.call('image.toggleReaction', { imagePostId: post.id, type: 'dislike' }, key);
      }
    });
    expect(new Set(events.map((event) => brief(event).join(' ')))).toEqual(
      new Set([`game.reactionsChanged ${game.id} `, `image.reactionsChanged ${post.id} `]),
    );
    expect(events).toHaveLength(2);
  });

  test('by the operator is told of without a name: hidden is deleted, shown again is created', async () => {
    const author = await app.aUser();
    const { db } = app.context;
    const game = await app.aGame({}, author);
    const post = await app.anImagePost({}, author);
    const by = systemActor();
    await app.call('game.toggleReaction', { gameId: game.id, type: 'like' }, author.key);
    const events = await eventsOf(async () => {
      await app.call('game.toggleFavorite', { gameId: game.id }, author.key);
      await hideRecord(db, gameKind, game.id, { reason: 'a complaint', by });
      await unhideRecord(db, gameKind, game.id, by);
      await removeRecords(db, imageKind, [idToBytes(post.id)!]);
    });
    expect(events.map(brief)).toEqual([
      ['game.deleted', game.id, null],
      ['game.created', game.id, null],
      ['image.deleted', post.id, null],
      // With the reactions that it had.
      ['game.reactionsChanged', game.id, null],
    ]);
  });

  test('by the author who deletes it leaves the author in the feed, and both acts on a hidden one in the audit', async () => {
    const author = await app.aUser();
    const { db } = app.context;
    const [game, hidden] = [await app.aGame({}, author), await app.aGame({}, author)];
    const events = await eventsOf(async () => {
      await hideRecord(db, gameKind, hidden.id, { reason: 'a complaint', by: systemActor() });
      for (const { id } of [game, hidden]) await app.call('game.delete', { id }, author.key);
    });
    expect(events.map(brief)).toEqual([
      ['game.deleted', hidden.id, null],
      ['game.deleted', game.id, author.id],
    ]);
    const actsOn = async (subject: string): Promise<unknown[]> => {
      const acts = [];
      for await (const batch of listActs(db, undefined, { subject })) acts.push(...batch);
      return acts.map(({ actor, action, before }) => ({ actor, action, before }));
    };
    const deleted = {
      actor: expect.stringMatching(`^user ${author.id} by key `),
      action: 'games delete',
      before: { authorId: author.id },
    };
    expect(await actsOn(game.id)).toEqual([deleted]);
    const hiding = { actor: systemActor().name, action: 'games hide', before: expect.anything() };
    expect(await actsOn(hidden.id)).toEqual([hiding, deleted]);
  });
});

describe('records that change hands', () => {
  test('are in the feed as changed; their new owner may change them, and both owners’ counts follow', async () => {
    const { db } = app.context;
    const [from, to] = [await app.aUser(), await app.aUser()];
    const [post, kept, hidden] = [
      await app.anImagePost({}, from),
      await app.anImagePost({}, to),
      await app.anImagePost({}, from),
    ];
    const by = systemActor();
    await hideRecord(db, imageKind, hidden.id, { reason: 'a complaint', by });
    const ids = [post, kept, hidden].map(({ id }) => idToBytes(id)!);
    const owners = { from: from.id, to: to.id };
    const events = await eventsOf(async () => {
      expect(await moveRecords(db, imageKind, ids, owners, by)).toBe(2);
      expect(await moveRecords(db, imageKind, ids, owners, by)).toBe(0);
    });
    expect(events.map(brief)).toEqual([['image.updated', post.id, null]]);
    const { author, updatedAt } = await app.call('image.getById', { id: post.id });
    expect([author.id, updatedAt > post.updatedAt]).toEqual([to.id, true]);
    expect((await app.fail('image.update', { id: post.id, title: 'x' }, 403, from.key)).data.reason).toBe('NOT_OWNER');
    await app.call('image.update', { id: post.id, title: 'x' }, to.key);
    expect(await unhideRecord(db, imageKind, hidden.id, by)).toBe(true);
    expect((await app.call('image.getById', { id: hidden.id })).author.id).toBe(to.id);
    const counts = [from, to].map(async ({ id }) => (await app.call('user.getProfile', { id })).imagePostCount);
    expect(await Promise.all(counts)).toEqual([0, 3]);
    await expectExactCounts(db);
  });

  test('stay where they are while those of one of both users are hidden', async () => {
    const { db } = app.context;
    const [from, to] = [await app.aUser(), await app.aUser()];
    const { id } = await app.aGame({}, from);
    const by = systemActor();
    await suspendUser(db, to.id, by, { hide: true, settle });
    const moving = moveRecords(db, gameKind, [idToBytes(id)!], { from: from.id, to: to.id }, by);
    await expect(moving).rejects.toThrow(MoveError);
    expect((await app.call('game.getById', { id })).author.id).toBe(from.id);
  });
});

describe('a change of a user', () => {
  test('is told of', async () => {
    const { db } = app.context;
    const user = await app.aUser();
    const events = await eventsOf(async () => {
      await app.call('user.updateProfile', { bio: 'a few words' }, user.key);
      await app.call('user.updateProfile', {}, user.key);
      await app.call('user.updateAvatar', { avatar: '/a.png' }, user.key);
      await renameUser(db, user.id, 'somebody else', systemActor());
    });
    expect(events.map(brief)).toEqual([
      ['user.updated', user.id, user.id],
      ['user.updated', user.id, user.id],
      ['user.updated', user.id, null],
    ]);
  });

  test('takes the records along that are hidden and shown with the user', async () => {
    const { db } = app.context;
    const user = await app.aUser();
    const game = await app.aGame({}, user);
    const by = systemActor();
    const events = await eventsOf(async () => {
      await suspendUser(db, user.id, by, { hide: true, settle });
      await unsuspendUser(db, user.id, by);
      await deleteUser(db, user.id, by);
      await app.aUser();
    });
    expect(events.slice(0, 4).map(brief)).toEqual([
      ['game.deleted', game.id, null],
      ['game.created', game.id, null],
      ['game.deleted', game.id, null],
      ['user.deleted', user.id, null],
    ]);
    expect(events.at(-1)?.type).toBe('user.created');
  });
});

describe('a change of a tag', () => {
  test('is told of by its slug; a merged one changes its records', async () => {
    const { db } = app.context;
    const [from, into] = [await app.aGame({ tagNames: ['Feed From'] }), await app.aGame({ tagNames: ['Feed Into'] })];
    const events = await eventsOf(async () => {
      await renameTag(db, [gameKind, imageKind], { slug: 'feed-into', name: 'FEED INTO' }, settle, systemActor());
      await mergeTags(db, [gameKind, imageKind], { from: 'feed-from', into: 'feed-into' }, systemActor(), settle);
    });
    expect(events.map(brief)).toEqual([
      ['tag.updated', 'feed-into', null],
      ['tag.merged', 'feed-from', null],
      ['game.updated', from.id, null],
    ]);
    const { items } = await list({ types: ['tag.updated', 'tag.merged'], include: 'record' });
    const tag = { name: 'FEED INTO', slug: 'feed-into' };
    expect(items.slice(-2).map((item) => item.tag)).toEqual([tag, tag]);
    const { items: own } = await list({ recordId: 'feed-from' });
    expect(own.map(brief)).toEqual([['tag.merged', 'feed-from', null]]);
    expect(into.tags).toHaveLength(1);
  });
});

describe('a tag that gets another slug', () => {
  const rename = (from: string, name: string) =>
    mergeTags(app.context.db, [gameKind, imageKind], { from, into: slugOf(name), name }, systemActor(), settle);
  const slugs = async (id: string) => (await app.call('game.getById', { id })).tags.map(({ slug }) => slug);

  test('is another tag with all its records, to which the old one leads, and gets the old slug back', async () => {
    const { id } = await app.aGame({ tagNames: ['one', 'Old Slug'] });
    const events = await eventsOf(() => rename('old-slug', 'New Slug'));
    expect(events.map(brief)).toEqual([
      ['tag.merged', 'old-slug', null],
      ['game.updated', id, null],
    ]);
    expect(await eventsOf(() => rename('old-slug', 'New Slug'))).toEqual([]);
    expect(await slugs(id)).toEqual(['one', 'new-slug']);
    expect((await app.aGame({ tagNames: ['old slug'] })).tags).toEqual([{ name: 'New Slug', slug: 'new-slug' }]);
    const query = { limit: 9, page: 1 };
    expect((await app.call('game.list', { ...query, tagSlugs: ['old-slug'] })).total).toBe(2);
    expect((await app.call('game.list', { ...query, search: 'new slug' })).total).toBe(2);
    expect((await rename('new-slug', 'OLD slug')).moved).toBe(2);
    expect(await slugs(id)).toEqual(['one', 'old-slug']);
    expect((await app.aGame({ tagNames: ['new slug'] })).tags).toEqual([{ name: 'OLD slug', slug: 'old-slug' }]);
    await expectExactCounts(app.context.db);
  });

  test('gets none that another one has', async () => {
    await app.aGame({ tagNames: ['lone', 'other'] });
    await expect(rename('lone', 'Other')).rejects.toThrow('tags merge lone other');
    await expect(rename('nowhere', 'somewhere')).rejects.toThrow('There is no tag with the slug "nowhere".');
    await expect(rename('old-slug', 'Third')).resolves.toMatchObject({ from: { name: 'OLD slug' } });
  });
});

describe('event.list', () => {
  test('goes page by page, and from there on', async () => {
    const author = await app.aUser();
    const after = await latest();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push((await app.aGame({}, author)).id);
    await move();
    const seen: string[] = [];
    let cursor = after;
    for (const expected of [2, 2, 1, 0]) {
      const page = await list({ after: cursor, limit: 2 });
      expect([page.items.length, page.hasMore]).toEqual([expected, seen.length + expected < 5]);
      seen.push(...page.items.map(({ record }) => record.id));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(ids);
    const sixth = await app.aGame({}, author);
    await move();
    expect((await list({ after: cursor })).items.map(({ record }) => record.id)).toEqual([sixth.id]);
  });

  test('goes on past events that a filter leaves out', async () => {
    const author = await app.aUser();
    const after = await latest();
    const post = await app.anImagePost({}, author);
    await app.aGame({}, author);
    await move();
    const games = await list({ after, types: ['image.created', 'image.updated'] });
    expect(games.items.map(brief)).toEqual([['image.created', post.id, author.id]]);
    expect(games.nextCursor).toBe(await latest());
    const none = await list({ after, types: ['tag.merged'] });
    expect([none.items, none.nextCursor]).toEqual([[], games.nextCursor]);
  });

  test('goes page by page through the events that a filter lets through', async () => {
    const author = await app.aUser();
    const after = await latest();
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      ids.push((await app.aGame({}, author)).id);
      await app.anImagePost({}, author);
    }
    await move();
    const first = await list({ after, types: ['game.created'], limit: 2 });
    const second = await list({ after: first.nextCursor, types: ['game.created'], limit: 2 });
    expect([first, second].map(({ items, hasMore }) => [items.map(({ record }) => record.id), hasMore])).toEqual([
      [ids.slice(0, 2), true],
      [ids.slice(2), false],
    ]);
  });

  test('tells of one record', async () => {
    const author = await app.aUser();
    const post = await app.anImagePost({}, author);
    await app.anImagePost({}, author);
    await app.call('image.update', { id: post.id, title: 'new' }, author.key);
    await move();
    expect((await list({ recordId: post.id })).items.map(({ type }) => type)).toEqual([
      'image.created',
      'image.updated',
    ]);
    expect((await list({ recordId: post.id, types: ['image.updated'] })).items).toHaveLength(1);
    expect((await list({ recordId: 'no such id' })).items).toEqual([]);
  });

  test('includes records as they are now, null for those that are gone', async () => {
    const [author, reader] = [await app.aUser(), await app.aUser()];
    const [kept, gone] = [await app.aGame({ tagNames: ['included'] }, author), await app.aGame({}, author)];
    const post = await app.anImagePost({}, author);
    await removeRecords(app.context.db, gameKind, [idToBytes(gone.id)!]);
    await move();
    const of = async (recordId: string): Promise<EventItem[]> => (await list({ recordId, include: 'record' })).items;
    const { description: _, extraInfo: __, ...summary } = kept;
    expect((await of(kept.id))[0]?.game).toEqual({ ...summary, viewer: null });
    expect((await of(gone.id)).map(({ game }) => game)).toEqual([null, null]);
    expect((await of(post.id))[0]?.imagePost).toMatchObject({ id: post.id, imageCount: 1 });
    expect((await of(author.id))[0]?.user).toEqual({ id: author.id, nickname: author.nickname, avatar: null });
    expect((await of(kept.id))[0]).not.toHaveProperty('user');
    // The same for all.
    const { items } = await app.call('event.list', { recordId: kept.id, include: 'record' }, reader.key);
    expect(items[0]?.game?.viewer).toBeNull();
  });

  test('begins at the oldest event, two minutes back, or after the last one', async () => {
    const game = await app.aGame();
    await move();
    const first = await list({ limit: 1 });
    expect(first.items[0]?.position).toBe(1);
    const [recent, last] = [await list({ start: 'recent' }), await list({ start: 'latest' })];
    expect([recent.items, recent.hasMore, last.items, last.hasMore]).toEqual([[], false, [], false]);
    expect((await list({ after: last.nextCursor })).items).toEqual([]);
    // All is younger than two minutes here.
    expect((await list({ after: recent.nextCursor, limit: 1 })).items[0]?.position).toBe(1);
    await app.context.db.transaction((tx) =>
      tx.execute("UPDATE events SET happened_at = '2020-01-01 00:00:00.000' WHERE position = 1"),
    );
    const back = await list({ after: (await list({ start: 'recent' })).nextCursor, limit: 1 });
    expect(back.items[0]?.position).toBeGreaterThanOrEqual(1);
    expect(game.id).toBeDefined();
  });

  test('answers callers who ask at once for the same page, and for others', async () => {
    const user = await app.aUser();
    const after = await latest();
    const game = await app.aGame({}, user);
    await move();
    const pages = await Promise.all(
      Array.from({ length: 16 }, (_, n) => app.call('event.list', n % 4 === 3 ? { limit: 1 } : { after }, user.key)),
    );
    expect(pages.map(({ items }) => items[0]?.record.id === game.id)).toEqual(pages.map((_, n) => n % 4 !== 3));
  });

  test('refuses cursors that nobody made', async () => {
    const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const id = '019a3c5e-e480-7181-8285-d072f394d508';
    for (const after of [
      'x',
      encoded([1]),
      encoded([1.5, id]),
      encoded([-1, id]),
      encoded([1, 'x']),
      encoded({ a: 1 }),
    ]) {
      const { data } = await app.fail('event.list', { after }, 404);
      expect([data.reason, data.hint]).toEqual(['CURSOR_INVALID', expect.stringMatching(/^Pass as `after`/)]);
      expect(data.hint).not.toMatch(/search|sortBy|timeRange/);
    }
    // Of another deployment, or from before a backup was restored.
    for (const after of [encoded([1, id]), encoded([1e9, id])]) {
      expect((await app.fail('event.list', { after }, 404)).data.reason).toBe('EVENTS_GONE');
    }
    await app.fail('event.list', { types: [] }, 400);
    await app.fail('event.list', { types: ['game.viewed'] }, 400);
    await app.fail('event.list', { limit: 101 }, 400);
  });
});

describe('old events', () => {
  test('are removed, and a cursor before them says so', async () => {
    const { db } = app.context;
    await app.aGame();
    await move();
    const [start, second] = [await list({ limit: 1 }), await list({ limit: 2 })];
    await db.transaction((tx) =>
      tx.execute("UPDATE events SET happened_at = '2020-01-01 00:00:00.000' WHERE position <= 2"),
    );
    // As of a clock that was wrong.
    await db.transaction((tx) =>
      tx.execute("UPDATE events SET happened_at = '2036-01-01 00:00:00.000' WHERE position = 1"),
    );
    expect(await sweepOldEvents(db, new Date(), 30)).toBe(false);
    expect(await sweepOldEvents(db, new Date(), 30)).toBe(false);
    expect((await list({ limit: 1 })).items[0]?.position).toBe(3);
    const { data } = await app.fail('event.list', { after: start.nextCursor }, 404);
    expect([data.reason, data.hint]).toEqual(['EVENTS_GONE', expect.stringContaining('`start` `recent`')]);
    expect((await list({ after: second.nextCursor, limit: 1 })).items[0]?.position).toBe(3);
  });
});

describe('without events', () => {
  test('nothing is recorded, and a cursor from before leads nowhere', async () => {
    const cursor = await latest();
    const off = await startApp({ databaseUrl: app.databaseUrl, settings: { EVENTS: 'off' } });
    try {
      await closeFeed(off.context.db, new Date());
      await off.aGame();
      expect((await off.fail('event.list', {}, 404)).data.reason).toBe('EVENTS_OFF');
    } finally {
      await off.stop();
    }
    expect(await move()).toBe(0);
    expect((await app.fail('event.list', { after: cursor }, 404)).data.reason).toBe('EVENTS_GONE');
    expect((await list()).items).toEqual([]);
    const game = await app.aGame();
    await move();
    expect((await list()).items.at(-1)?.record.id).toBe(game.id);
  });
});
