/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { anomaliesIn } from './checks.ts';
import { replicasShowWhatWas } from './replicas.ts';
import type { Entry, Seen, SeenEvent } from './history.ts';

// Each check finds its anomaly in a small history that is sound but for one change.

let time = 0;
const entry = (operation: Entry['operation'], more: Partial<Entry> = {}): Entry => ({
  client: 0,
  operation,
  user: 'ada',
  input: {},
  call: (time += 10),
  return: time + 5,
  attempts: 1,
  outcome: 'ok',
  reason: 'ok',
  ...more,
});

const event = (position: number, type: string, record: string, actorId: string | null = 'ada'): SeenEvent => ({
  id: `event ${position}`,
  position,
  type,
  record,
  actorId,
});

const game = (more: Seen = {}): Seen => ({
  id: 'g1',
  mark: 'game 1',
  gameType: 'T1',
  authorId: 'ada',
  favoriteCount: 1,
  likeCount: 0,
  dislikeCount: 0,
  updatedAt: '1',
  viewer: { favorited: true, reaction: null },
  ...more,
});

const post = (more: Seen = {}): Seen => ({
  id: 'i1',
  mark: 'image 1',
  authorId: 'ada',
  favoriteCount: 0,
  likeCount: 1,
  dislikeCount: 0,
  updatedAt: '2',
  viewCount: 0,
  viewer: { favorited: false, reaction: null },
  ...more,
});

const feed = [
  event(1, 'user.created', 'ada', null),
  event(2, 'game.created', 'g1'),
  event(3, 'image.created', 'i1'),
  event(4, 'image.updated', 'i1'),
  event(5, 'game.reactionsChanged', 'g1', null),
  event(6, 'image.reactionsChanged', 'i1', null),
  event(7, 'game.created', 'g2'),
  event(8, 'game.created', 'g3'),
  event(9, 'game.created', 'g4'),
];
const types = ['game.created'];
const chosen = feed.filter(({ type }) => type === 'game.created');
const message = (one: SeenEvent, more: Partial<Entry> = {}): Entry =>
  entry('message', {
    input: { types },
    events: [one],
    messageId: `message ${one.position}`,
    isSigned: true,
    ...more,
  });

const unread = { favorited: false, reaction: null };
const gameOf = (id: string, more: Seen = {}): Seen =>
  game({ id, mark: `game ${id.slice(1)}`, favoriteCount: 0, viewer: unread, ...more });
const batch = [gameOf('g3', { tags: 'rpg' }), gameOf('g4')];
const batchInput = { games: [{ title: 'game 3', tagNames: ['rpg'] }, { title: 'game 4' }] };
const copyOf = (output: Seen): Entry => entry('copy', { record: output.id!, output, quiet: 0 });

/** Ada publishes four games and a post, Bob likes the post; both look at everything. */
const sound = (): Record<string, Entry> => {
  time = 0;
  const quiet = 0;
  return {
    created: entry('game.create', {
      record: 'g1',
      output: gameOf('g1'),
      mark: 'game 1',
      key: 'k1',
      answer: 'a',
      isReplayed: false,
    }),
    repeated: entry('game.create', { mark: 'game 1', key: 'k1', answer: 'a', isReplayed: true, repeats: 'same input' }),
    other: entry('game.create', {
      key: 'k1',
      repeats: 'other input',
      outcome: 'refused',
      reason: 'IDEMPOTENCY_MISMATCH',
    }),
    published: entry('image.create', { record: 'i1', mark: 'image 1' }),
    unanswered: entry('image.create', { mark: 'image 2', outcome: 'unknown', reason: 'broken ECONNRESET' }),
    refused: entry('image.create', { mark: 'image 3', outcome: 'refused', reason: 'OVERLOADED' }),
    favorite: entry('game.toggleFavorite', { record: 'g1' }),
    like: entry('image.toggleReaction', { record: 'i1', user: 'bob', client: 1 }),
    updated: entry('image.update', { record: 'i1', output: post() }),
    read: entry('image.getById', { record: 'i1', output: post() }),
    readAgain: entry('image.getById', { record: 'i1', output: post({ viewCount: 1 }) }),
    walk: entry('game.list', { walked: ['g1'], input: { sortBy: 'oldest' } }),
    followed: entry('event.list', { client: 8, user: '', events: feed.slice(0, 3) }),
    followedOn: entry('event.list', { client: 8, user: '', events: feed.slice(3) }),
    filtered: entry('event.list', { client: 9, user: '', input: { types }, events: chosen }),
    createdLater: entry('game.create', { record: 'g2', mark: 'game 2' }),
    batch: entry('game.batchCreate', { input: batchInput, items: batch }),
    message: message(chosen[0]!),
    messageAgain: message(chosen[0]!),
    messageLater: message(chosen[1]!),
    messages3: message(chosen[2]!),
    messages4: message(chosen[3]!),
    page: entry('game.list', { input: { sortBy: 'favorites', tagSlugs: [] }, items: [game(), gameOf('g2')] }),
    users: entry('user.search', { input: { query: 'user' }, items: [{ id: 'ada' }, { id: 'bob' }] }),
    related: entry('game.getRelated', { input: { gameId: 'g1', limit: 2 }, items: [gameOf('g2'), gameOf('g3')] }),
    games: entry('game.list', { walked: ['g4', 'g3', 'g2', 'g1'], input: { sortBy: 'latest' }, quiet }),
    listed: entry('game.list', { record: 'g1', output: game(), quiet }),
    listedToBob: entry('game.list', { record: 'g1', user: 'bob', output: game({ viewer: unread }), quiet }),
    listedLater: entry('game.list', { record: 'g2', output: gameOf('g2'), quiet }),
    listedBatch: entry('game.list', { record: 'g3', output: batch[0]!, quiet }),
    listedBatchLater: entry('game.list', { record: 'g4', output: batch[1]!, quiet }),
    tagged: entry('game.list', { input: { tagSlugs: ['rpg'] }, items: [batch[0]!], total: 1, quiet }),
    post: entry('image.list', { record: 'i1', output: post({ viewCount: 2 }), quiet, isCalm: true }),
    postToBob: entry('image.list', {
      record: 'i1',
      user: 'bob',
      output: post({ viewer: { favorited: false, reaction: 'like' }, viewCount: 2 }),
      quiet,
    }),
    views: entry('image.list', { walked: ['i1'], input: { sortBy: 'views' }, quiet }),
    profile: entry('user.getProfile', { record: 'ada', output: { gameCount: 4, imagePostCount: 1 }, quiet }),
    types: entry('game.getTypeStats', { types: { T1: 4 }, quiet }),
    feed: entry('event.list', { events: feed, quiet }),
    copy: copyOf(game({ viewer: null })),
    copy2: copyOf(gameOf('g2')),
    copy3: copyOf(batch[0]!),
    copy4: copyOf(batch[1]!),
    copyOfPost: copyOf(post({ viewer: null })),
  };
};

/** Eve publishes a game and likes that of Ada, and is erased. */
const erased = (): Record<string, Entry> => {
  time = 0;
  const eve = 'eve';
  const created = [event(1, 'game.created', 'g1'), event(2, 'game.created', 'g5', eve)];
  const ofEve = gameOf('g5', { authorId: eve });
  return {
    ada: entry('game.create', { record: 'g1', mark: 'game 1' }),
    eve: entry('game.create', { record: 'g5', mark: 'game 5', user: eve }),
    like: entry('game.toggleReaction', { record: 'g1', user: eve }),
    followed: entry('event.list', { client: 8, user: '', events: created }),
    message: message(created[1]!, { isTraced: true }),
    before: entry('game.list', { record: 'g1', output: gameOf('g1', { likeCount: 1 }), quiet: 0 }),
    beforeToEve: entry('game.list', {
      record: 'g1',
      user: eve,
      quiet: 0,
      output: gameOf('g1', { likeCount: 1, viewer: { favorited: false, reaction: 'like' } }),
    }),
    beforeOfEve: entry('game.list', { record: 'g5', output: ofEve, isTraced: true, quiet: 0 }),
    favorite: entry('game.toggleReaction', { record: 'g5', key: 'k1', answer: 'a' }),
    erasure: entry('erasure', { user: eve, record: eve }),
    read: entry('game.getById', { record: 'g5', outcome: 'refused', reason: 'GAME_NOT_FOUND' }),
    key: entry('user.me', { user: eve, outcome: 'refused', reason: 'UNAUTHENTICATED' }),
    repeated: entry('game.toggleReaction', {
      record: 'g5',
      key: 'k1',
      repeats: 'same input',
      outcome: 'refused',
      reason: 'GAME_NOT_FOUND',
    }),
    messageAgain: message({ ...created[1]!, actorId: null }),
    after: entry('game.list', { record: 'g1', output: gameOf('g1'), quiet: 1 }),
    walk: entry('game.list', { walked: ['g1'], total: 1, quiet: 1 }),
    feed: entry('event.list', {
      events: [
        created[0]!,
        { ...created[1]!, actorId: null },
        event(3, 'game.reactionsChanged', 'g1', null),
        event(4, 'game.reactionsChanged', 'g5', null),
        event(5, 'game.deleted', 'g5', null),
        event(6, 'game.reactionsChanged', 'g1', null),
        event(7, 'user.deleted', eve, null),
      ],
      quiet: 1,
    }),
    copy: entry('copy', { record: 'g1', output: gameOf('g1'), quiet: 1 }),
    messageOfAda: message(created[0]!),
  };
};

const notFound = { outcome: 'refused', reason: 'GAME_NOT_FOUND' } as const;

/** Ada deletes one of her games, which Bob likes, and one that an operator hid. */
const ended = (): Record<string, Entry> => {
  time = 0;
  const events = [
    event(1, 'game.created', 'g1'),
    event(2, 'game.created', 'g2'),
    event(3, 'game.created', 'g3'),
    event(4, 'game.updated', 'g2'),
    event(5, 'game.reactionsChanged', 'g2', null),
    event(6, 'game.deleted', 'g2'),
    event(7, 'game.deleted', 'g3', null),
  ];
  const kept = { key: 'k1', answer: 'a' };
  return {
    created: entry('game.create', { record: 'g1', mark: 'game 1' }),
    createdToo: entry('game.create', { record: 'g2', mark: 'game 2' }),
    createdLast: entry('game.create', { record: 'g3', mark: 'game 3' }),
    like: entry('game.toggleReaction', { record: 'g2', user: 'bob', client: 1, ...kept }),
    updated: entry('game.update', { record: 'g2', output: gameOf('g2', { updatedAt: '2' }) }),
    before: entry('game.list', { walked: ['g3', 'g2', 'g1'], input: { sortBy: 'latest' } }),
    deleted: entry('game.delete', { record: 'g2', output: { id: 'g2' }, ...kept, attempts: 2, isReplayed: true }),
    repeated: entry('game.delete', { record: 'g2', ...kept, isReplayed: true, repeats: 'same input' }),
    likedAgain: entry('game.toggleReaction', {
      record: 'g2',
      user: 'bob',
      client: 1,
      ...kept,
      repeats: 'same input',
      ...notFound,
    }),
    deletedAgain: entry('game.delete', { record: 'g2', ...notFound }),
    read: entry('game.getById', { record: 'g2', ...notFound }),
    hidden: entry('hiding', { record: 'g3', user: '' }),
    deletedHidden: entry('game.delete', { record: 'g3', output: { id: 'g3' } }),
    related: entry('game.getRelated', { input: { gameId: 'g1', limit: 2 }, items: [] }),
    own: entry('game.list', { input: { authorId: 'ada' }, items: [gameOf('g1')], total: 1, quiet: 0 }),
    ofBob: entry('game.list', { input: { authorId: 'bob' }, items: [], total: 0, quiet: 0 }),
    games: entry('game.list', { walked: ['g1'], total: 1, input: { sortBy: 'latest' }, quiet: 0 }),
    listed: entry('game.list', { record: 'g1', output: gameOf('g1'), quiet: 0 }),
    profile: entry('user.getProfile', { record: 'ada', output: { gameCount: 1, imagePostCount: 0 }, quiet: 0 }),
    feed: entry('event.list', { events, quiet: 0 }),
    copy: copyOf(gameOf('g1', { viewer: null })),
  };
};

const foundIn = (history: Record<string, Entry>): string[] => [
  ...new Set(anomaliesIn(Object.values(history)).map(({ check }) => check)),
];

type Change = (history: ReturnType<typeof sound>) => void;

const without = (name: string): Change => {
  return (history) => void Reflect.deleteProperty(history, name);
};
const changed = (name: string, change: Partial<Entry>): Change => {
  return (history) => void Object.assign(history[name]!, change);
};

describe('the checks of a history', () => {
  test('find nothing in a sound one', () => {
    expect(anomaliesIn(Object.values(sound()))).toEqual([]);
    expect(anomaliesIn(Object.values(erased()))).toEqual([]);
    expect(anomaliesIn(Object.values(ended()))).toEqual([]);
  });

  test('find nothing where a creation of an unknown outcome was erased', () => {
    const history = erased();
    history['lost'] = entry('game.create', { mark: 'game 6', user: 'eve', outcome: 'unknown', call: 1, return: 2 });
    const { events = [] } = history['feed']!;
    const lost = ['game.created', 'game.deleted'].map((type, index) => event(8 + index, type, 'g6', null));
    history['feed']!.events = [...events, ...lost];
    history['messageOfLost'] = message(lost[0]!);
    expect(foundIn(history)).toEqual([]);
  });

  test('find nothing where a deletion of an unknown outcome was done, or was not', () => {
    const history = ended();
    Object.assign(history['deleted']!, { outcome: 'unknown', reason: 'broken ECONNRESET', output: undefined });
    expect(foundIn(history)).toEqual([]);
    for (const name of ['likedAgain', 'deletedAgain', 'read']) Reflect.deleteProperty(history, name);
    history['listedToo'] = entry('game.list', { record: 'g2', output: gameOf('g2', { viewer: null }), quiet: 0 });
    history['copyToo'] = copyOf(gameOf('g2', { viewer: null }));
    history['like']!.outcome = 'unknown';
    history['profile']!.output = { gameCount: 2, imagePostCount: 0 };
    Object.assign(history['games']!, { walked: ['g2', 'g1'], total: 2 });
    history['own']!.total = 2;
    const { events = [] } = history['feed']!;
    const left = events.filter(({ position }) => position !== 6);
    history['feed']!.events = left.map((one, index) => ({ ...one, position: index + 1 }));
    expect(foundIn(history)).toEqual([]);
  });

  test('find nothing where a call of an unknown outcome was done', () => {
    const output = post({ id: 'i2', mark: 'image 2', likeCount: 0 });
    const history = sound();
    history['post2'] = entry('image.list', { record: 'i2', output, quiet: 0 });
    history['copy5'] = copyOf(output);
    history['profile']!.output = { gameCount: 4, imagePostCount: 2 };
    history['feed']!.events = [...feed, event(10, 'image.created', 'i2')];
    expect(foundIn(history)).toEqual([]);
  });

  test('find nothing where a reaction goes with its record before it has an event', () => {
    const history = erased();
    const { events = [] } = history['feed']!;
    const left = events.filter(({ type, record }) => type !== 'game.reactionsChanged' || record !== 'g5');
    history['feed']!.events = left.map((one, index) => ({ ...one, position: index + 1 }));
    expect(foundIn(history)).toEqual([]);
    // All have come by a quiet moment.
    Object.assign(history['favorite']!, { call: 1, return: 2 });
    expect(foundIn(history)).toEqual(['feed is whole']);
  });

  test('find a title on a replica that was never written, and let one be old', () => {
    const created = entry('image.create', { record: 'i1', input: { title: 'old' }, mark: 'i1' });
    const update = entry('image.update', { record: 'i1', input: { id: 'i1', title: 'new' } });
    const read = (title: string) => entry('image.getById', { user: '', record: 'i1', output: post({ title }) });
    const [old, other] = [read('old'), read('other')];
    const later = entry('image.update', { record: 'i1', input: { id: 'i1', title: 'later' } });
    const early = { ...read('later'), call: 1, return: 2 };
    expect(replicasShowWhatWas([created, update, old, other, later, early]).map(({ entries: [one] }) => one)).toEqual([
      other,
      early,
    ]);
  });

  test.each<[string, string, Change]>([
    ['creates once', 'a record that was acknowledged and is not there', changed('created', { record: 'g3' })],
    [
      'creates once',
      'a record that was refused',
      changed('createdLater', { outcome: 'refused', reason: 'OVERLOADED' }),
    ],
    [
      'creates once',
      'a record that is there twice',
      changed('listedLater', { output: gameOf('g2', { mark: 'game 1' }) }),
    ],
    ['creates once', 'a record that was not created', without('createdLater')],
    ['creates once', 'a batch that is there in part', without('listedBatchLater')],
    ['creates once', 'a batch that is answered in another order', changed('batch', { items: batch.toReversed() })],
    ['repeats answer alike', 'another answer', changed('repeated', { answer: 'b' })],
    ['repeats answer alike', 'an answer that was made anew', changed('repeated', { isReplayed: false })],
    ['repeats answer alike', 'another input that was done', changed('other', { outcome: 'ok', reason: 'ok' })],
    ['repeats answer alike', 'a kept answer to a new call', changed('created', { isReplayed: true })],
    ['repeats answer alike', 'an answer of another call', changed('created', { output: gameOf('g2') })],
    [
      'counters equal rows',
      'a favorite that no user has',
      changed('listedLater', { output: gameOf('g2', { favoriteCount: 1, viewer: null }) }),
    ],
    ['counters equal rows', 'a like too few', changed('post', { output: post({ likeCount: 0 }) })],
    ['counters equal rows', 'a game too many', changed('profile', { output: { gameCount: 5, imagePostCount: 1 } })],
    ['counters equal rows', 'a type too few', changed('types', { types: { T1: 1 } })],
    ['counters equal rows', 'a tag too many', changed('tagged', { total: 2 })],
    ['counters equal rows', 'a total too few', changed('games', { total: 3 })],
    ['walks are whole', 'a record that is skipped', changed('games', { walked: ['g1'] })],
    ['walks are whole', 'a record that is repeated', changed('games', { walked: ['g4', 'g3', 'g2', 'g1', 'g1'] })],
    ['walks are whole', 'another order', changed('walk', { walked: ['g2', 'g1'] })],
    ['reads own writes', 'an own change that is not seen', changed('read', { output: post({ updatedAt: '1' }) })],
    ['reads own writes', 'a record that is not found', changed('read', { outcome: 'refused', reason: 'X_NOT_FOUND' })],
    ['reads are monotonic', 'an older state', changed('readAgain', { output: post({ updatedAt: '1' }) })],
    ['answers fit', 'another record', changed('read', { output: post({ id: 'i2' }) })],
    ['answers fit', 'a list in another order', changed('page', { items: [gameOf('g2'), game()] })],
    ['answers fit', 'a record without the tag', changed('tagged', { items: [gameOf('g2')] })],
    ['answers fit', 'a record twice', changed('related', { items: [gameOf('g2'), gameOf('g2')] })],
    ['answers fit', 'a user who is not found', changed('users', { items: [{ id: 'ada' }] })],
    ['answers fit', 'a game that is related to itself', changed('related', { items: [game(), gameOf('g2')] })],
    ['answers fit', 'too few related games', changed('related', { items: [gameOf('g2')] })],
    ['views are counted', 'a view that was not made', changed('readAgain', { output: post({ viewCount: 3 }) })],
    ['views are counted', 'a view that is gone', changed('postToBob', { output: post({ viewCount: 1 }) })],
    [
      'views are counted',
      'a view that was not counted',
      changed('post', { output: post({ viewCount: 1 }), isCalm: true }),
    ],
    [
      'views are counted',
      'an order that is not that of views',
      (history) => {
        history['post']!.record = 'i0';
        history['views']!.walked = ['i1', 'i0'];
        history['postToBob']!.output = post({ viewCount: 1 });
      },
    ],
    ['failures are known', 'a fault of the service', changed('other', { reason: 'INTERNAL' })],
    ['messages are whole', 'an event that did not come', without('messageLater')],
    ['messages are whole', 'an event under two ids', changed('messageAgain', { messageId: 'message 0' })],
    ['messages are whole', 'an id of two events', changed('messageLater', { messageId: 'message 2' })],
    [
      'messages are whole',
      'another event than that of the feed',
      changed('messageLater', { events: [event(7, 'game.created', 'g1')] }),
    ],
    ['messages are whole', 'a message without a signature', changed('message', { isSigned: false })],
    [
      'messages are whole',
      'a later event that came first',
      (history) => {
        history['feed']!.events = feed.map((one) => (one.position === 7 ? { ...one, record: 'g1' } : one));
        history['message']!.events = [event(7, 'game.created', 'g1')];
        history['messageLater']!.events = [chosen[0]!];
      },
    ],
    ['a copy equals the lists', 'a record that is not copied', without('copy2')],
    [
      'a copy equals the lists',
      'a record that is copied as it was',
      changed('copyOfPost', { output: post({ likeCount: 0 }) }),
    ],
    ['a copy equals the lists', 'a record that is gone', changed('copy2', { record: 'g9' })],
    ['feed is whole', 'a gap', changed('feed', { events: feed.filter(({ position }) => position !== 5) })],
    ['feed is whole', 'an event twice', changed('feed', { events: [...feed, { ...feed[6]!, position: 10 }] })],
    ['feed is whole', 'an event of no record', changed('feed', { events: [...feed, event(10, 'game.created', 'g9')] })],
    [
      'feed is whole',
      'an event for no change',
      changed('feed', { events: [...feed, event(10, 'image.updated', 'i1')] }),
    ],
    [
      'feed is whole',
      'a change without an event',
      changed('createdLater', { operation: 'image.update', record: 'i1' }),
    ],
    ['feed is whole', 'a page that is skipped', without('followed')],
    ['feed is whole', 'an event that a filter skips', changed('filtered', { events: chosen.slice(1) })],
    [
      'feed is whole',
      'a change before the creation',
      changed('feed', {
        events: [
          ...feed.slice(0, 2),
          event(3, 'image.updated', 'i1'),
          event(4, 'image.created', 'i1'),
          ...feed.slice(4),
        ],
      }),
    ],
  ])('"%s" finds %s', (check, _, change) => {
    const history = sound();
    change(history);
    expect(foundIn(history)).toContain(check);
  });

  test.each<[string, string, Change]>([
    ['an erasure is whole', 'a record that is shown', changed('after', { output: gameOf('g1', { authorId: 'eve' }) })],
    ['an erasure is whole', 'a record that is read', changed('read', { outcome: 'ok', output: gameOf('g5') })],
    ['an erasure is whole', 'a key that works', changed('key', { outcome: 'ok' })],
    [
      'an erasure is whole',
      'an actor who is named in the feed',
      changed('feed', { events: [event(1, 'game.created', 'g1', 'eve')] }),
    ],
    [
      'an erasure is whole',
      'an actor who is named in a message',
      changed('messageAgain', { events: [event(2, 'game.created', 'g5', 'eve')] }),
    ],
    ['an erasure is whole', 'a text', changed('walk', { isTraced: true })],
    ['an erasure is whole', 'a record that a copy keeps', changed('copy', { record: 'g5' })],
    ['counters equal rows', 'a like that stays', changed('after', { output: gameOf('g1', { likeCount: 1 }) })],
    ['counters equal rows', 'a record in a total', changed('walk', { total: 2 })],
    [
      'feed is whole',
      'no deletion',
      changed('feed', { events: [event(1, 'game.created', 'g1'), event(2, 'game.created', 'g5', null)] }),
    ],
  ])('"%s" finds %s after an erasure', (check, _, change) => {
    const history = erased();
    change(history);
    expect(foundIn(history)).toContain(check);
  });

  /** The events of the feed, changed, at positions without gaps. */
  const withEvents =
    (change: (events: SeenEvent[]) => SeenEvent[]): Change =>
    (history) =>
      void (history['feed']!.events = change([...history['feed']!.events!]).map((one, index) => ({
        ...one,
        position: index + 1,
      })));

  test.each<[string, string, Change]>([
    ['ends are final', 'a record that is read', changed('read', { outcome: 'ok', output: gameOf('g2') })],
    ['ends are final', 'a record that is walked', changed('games', { walked: ['g2', 'g1'] })],
    ['ends are final', 'a record that is listed', changed('own', { items: [gameOf('g2')] })],
    ['ends are final', 'a hidden record that is related', changed('related', { items: [gameOf('g3')] })],
    ['ends are final', 'a second deletion', changed('deletedAgain', { outcome: 'ok', reason: 'ok' })],
    [
      'ends are final',
      'a favorite of what is gone',
      (history) => {
        const counted = { favorited: true, favoriteCount: 1 };
        history['favorite'] = entry('game.toggleFavorite', { record: 'g2', output: counted });
      },
    ],
    ['reads own writes', 'a record that is gone before', changed('updated', notFound)],
    ['reads own writes', 'a record that is gone for no reason', changed('deleted', { outcome: 'refused' })],
    [
      'repeats answer alike',
      'an answer that shows what is gone',
      changed('likedAgain', { outcome: 'ok', reason: 'ok', answer: 'a', isReplayed: true }),
    ],
    ['repeats answer alike', 'a deletion that is not repeated', changed('repeated', notFound)],
    ['walks are whole', 'a record that is not there yet', changed('before', { walked: ['g3', 'g1'] })],
    [
      'counters equal rows',
      'a game of the author too many',
      changed('profile', { output: { gameCount: 2, imagePostCount: 0 } }),
    ],
    ['counters equal rows', 'a record of the author in a total', changed('ofBob', { total: 1 })],
    ['answers fit', 'a record of another author', changed('own', { items: [gameOf('g1', { authorId: 'bob' })] })],
    [
      'a copy equals the lists',
      'a record that a copy keeps',
      (history) => void (history['kept'] = copyOf(gameOf('g2', { viewer: null }))),
    ],
    ['feed is whole', 'no deletion', withEvents((events) => events.toSpliced(5, 1))],
    ['feed is whole', 'no deletion of a hidden record', withEvents((events) => events.slice(0, -1))],
    ['feed is whole', 'a deletion twice', withEvents((events) => [...events, event(8, 'game.deleted', 'g2')])],
    [
      'feed is whole',
      'a deletion for no reason',
      (history) => {
        without('hidden')(history);
        without('deletedHidden')(history);
      },
    ],
    [
      'feed is whole',
      'an event after a deletion',
      withEvents((events) => [...events.slice(0, 4), events[5]!, events[4]!, ...events.slice(6)]),
    ],
    ['feed is whole', 'no update', withEvents((events) => events.toSpliced(3, 1))],
    [
      'feed is whole',
      'another actor of a deletion',
      withEvents((events) => events.with(5, event(6, 'game.deleted', 'g2', 'bob'))),
    ],
    [
      'feed is whole',
      'no actor of a deletion',
      withEvents((events) => events.with(5, event(6, 'game.deleted', 'g2', null))),
    ],
  ])('"%s" finds %s, where records end', (check, _, change) => {
    const history = ended();
    change(history);
    expect(foundIn(history)).toContain(check);
  });
});
