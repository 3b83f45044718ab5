/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { anomaliesIn } from './checks.ts';
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
];

/** Ada publishes two games and a post, Bob likes the post; both look at everything. */
const sound = (): Record<string, Entry> => {
  time = 0;
  const quiet = 0;
  return {
    created: entry('game.create', { record: 'g1', mark: 'game 1', key: 'k1', answer: 'a', isReplayed: false }),
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
    readAgain: entry('image.getById', { record: 'i1', output: post() }),
    walk: entry('game.list', { walked: ['g1'], input: { sortBy: 'oldest' } }),
    followed: entry('event.list', { client: 8, user: '', events: feed.slice(0, 3) }),
    followedOn: entry('event.list', { client: 8, user: '', events: feed.slice(3) }),
    filtered: entry('event.list', {
      client: 9,
      user: '',
      input: { types: ['game.created'] },
      events: feed.filter(({ type }) => type === 'game.created'),
    }),
    createdLater: entry('game.create', { record: 'g2', mark: 'game 2' }),
    games: entry('game.list', { walked: ['g2', 'g1'], input: { sortBy: 'latest' }, quiet }),
    listed: entry('game.list', { record: 'g1', output: game(), quiet }),
    listedToBob: entry('game.list', {
      record: 'g1',
      user: 'bob',
      output: game({ viewer: { favorited: false, reaction: null } }),
      quiet,
    }),
    listedLater: entry('game.list', {
      record: 'g2',
      output: game({ id: 'g2', mark: 'game 2', favoriteCount: 0, viewer: { favorited: false, reaction: null } }),
      quiet,
    }),
    post: entry('image.list', { record: 'i1', output: post(), quiet }),
    postToBob: entry('image.list', {
      record: 'i1',
      user: 'bob',
      output: post({ viewer: { favorited: false, reaction: 'like' } }),
      quiet,
    }),
    profile: entry('user.getProfile', { record: 'ada', output: { gameCount: 2, imagePostCount: 1 }, quiet }),
    types: entry('game.getTypeStats', { types: { T1: 2 }, quiet }),
    feed: entry('event.list', { events: feed, quiet }),
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
  });

  test('find nothing where a call of an unknown outcome was done', () => {
    const output = post({ id: 'i2', mark: 'image 2', likeCount: 0 });
    const history = sound();
    history['post2'] = entry('image.list', { record: 'i2', output, quiet: 0 });
    history['profile']!.output = { gameCount: 2, imagePostCount: 2 };
    history['feed']!.events = [...feed, event(8, 'image.created', 'i2')];
    expect(foundIn(history)).toEqual([]);
  });

  test.each<[string, string, Change]>([
    ['creates once', 'a record that was acknowledged and is not there', changed('created', { record: 'g3' })],
    [
      'creates once',
      'a record that was refused',
      changed('createdLater', { outcome: 'refused', reason: 'OVERLOADED' }),
    ],
    ['creates once', 'a record that is there twice', changed('listedLater', { output: game({ favoriteCount: 0 }) })],
    ['creates once', 'a record that was not created', without('createdLater')],
    ['repeats answer alike', 'another answer', changed('repeated', { answer: 'b' })],
    ['repeats answer alike', 'an answer that was made anew', changed('repeated', { isReplayed: false })],
    ['repeats answer alike', 'another input that was done', changed('other', { outcome: 'ok', reason: 'ok' })],
    ['repeats answer alike', 'an answer of another call', changed('created', { isReplayed: true })],
    [
      'counters equal rows',
      'a favorite that no user has',
      changed('listedLater', { output: game({ mark: 'game 2', viewer: null }) }),
    ],
    ['counters equal rows', 'a like too few', changed('post', { output: post({ likeCount: 0 }) })],
    ['counters equal rows', 'a game too many', changed('profile', { output: { gameCount: 3, imagePostCount: 1 } })],
    ['counters equal rows', 'a type too few', changed('types', { types: { T1: 1 } })],
    ['walks are whole', 'a record that is skipped', changed('games', { walked: ['g1'] })],
    ['walks are whole', 'a record that is repeated', changed('games', { walked: ['g2', 'g1', 'g1'] })],
    ['walks are whole', 'another order', changed('walk', { walked: ['g2', 'g1'] })],
    ['reads own writes', 'an own change that is not seen', changed('read', { output: post({ updatedAt: '1' }) })],
    ['reads own writes', 'a record that is not found', changed('read', { outcome: 'refused', reason: 'X_NOT_FOUND' })],
    ['reads are monotonic', 'an older state', changed('readAgain', { output: post({ updatedAt: '1' }) })],
    ['feed is whole', 'a gap', changed('feed', { events: feed.filter(({ position }) => position !== 5) })],
    ['feed is whole', 'an event twice', changed('feed', { events: [...feed, { ...feed[6]!, position: 8 }] })],
    ['feed is whole', 'an event of no record', changed('feed', { events: [...feed, event(8, 'game.created', 'g9')] })],
    [
      'feed is whole',
      'an event for no change',
      changed('feed', { events: [...feed, event(8, 'image.updated', 'i1')] }),
    ],
    [
      'feed is whole',
      'a change without an event',
      changed('createdLater', { operation: 'image.update', record: 'i1' }),
    ],
    ['feed is whole', 'a page that is skipped', without('followed')],
    ['feed is whole', 'an event that a filter skips', changed('filtered', { events: feed.slice(6) })],
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
});
