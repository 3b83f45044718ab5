/**
 * @engines sqlite
 * @tier fault
 * @needs go
 */
import { describe, expect, test } from '@jest/globals';
import type { Entry } from './history.ts';
import { searchOrders } from './linearizable.ts';

// The program that searches an order, on histories of a few operations.

type Step = [at: readonly [number, number], operation: Entry['operation'], more: Partial<Entry>];

const historyOf = (steps: readonly Step[]): Entry[] =>
  steps.map(([[call, end], operation, more], client) => ({
    client,
    operation,
    user: 'ada',
    record: 'r1',
    input: {},
    call,
    return: end,
    attempts: 1,
    outcome: 'ok',
    reason: 'ok',
    ...more,
  }));

const toggled = (favorited: boolean, favoriteCount: number) => ({ output: { favorited, favoriteCount } });
const seen = (favorited: boolean, favoriteCount: number) => ({
  output: { favoriteCount, likeCount: 0, dislikeCount: 0, viewer: { favorited, reaction: null } },
});
const reacted = (
  type: 'like' | 'dislike',
  reaction: 'like' | 'dislike' | null,
  [likeCount, dislikeCount]: number[],
) => ({
  input: { type },
  output: { reaction, likeCount: likeCount!, dislikeCount: dislikeCount! },
});
/** Reads of which each begins and ends within the one before. */
const crowd = Array.from({ length: 80 }, (_, n): Step => [[n + 1, 299 - n], 'game.getById', seen(false, n % 2)]);
const titled = (title: string) => ({ input: { title }, output: { title } });
const notFound = { outcome: 'refused', reason: 'GAME_NOT_FOUND' } as const;
const gameRead: Step = [[20, 30], 'game.getById', seen(false, 0)];
const read = (title: string) => ({ output: { title, favoriteCount: 0, likeCount: 0, dislikeCount: 0 } });

describe('the search for an order', () => {
  test.each<[string, Step[]]>([
    [
      'operations that overlap and could have come in another order than their answers',
      [
        [[0, 30], 'game.toggleFavorite', toggled(false, 0)],
        [[10, 20], 'game.toggleFavorite', toggled(true, 1)],
        [[11, 19], 'game.getById', seen(false, 0)],
      ],
    ],
    [
      'an unknown outcome that happened later',
      [
        [[0, 10], 'game.toggleFavorite', { outcome: 'unknown' }],
        [[20, 30], 'game.getById', seen(false, 0)],
        [[40, 50], 'game.getById', seen(true, 1)],
      ],
    ],
    [
      'an unknown outcome that never happened',
      [
        [[0, 10], 'game.toggleFavorite', { outcome: 'unknown' }],
        [[20, 30], 'game.toggleFavorite', toggled(true, 1)],
        [[40, 50], 'game.toggleFavorite', toggled(false, 0)],
      ],
    ],
    [
      'reactions of two users',
      [
        [[0, 10], 'image.toggleReaction', reacted('like', 'like', [1, 0])],
        [[20, 30], 'image.toggleReaction', { ...reacted('dislike', 'dislike', [1, 1]), user: 'bob' }],
        [[40, 50], 'image.toggleReaction', reacted('dislike', 'dislike', [0, 2])],
        [[60, 70], 'image.toggleReaction', reacted('dislike', null, [0, 1])],
      ],
    ],
    [
      'titles',
      [
        [[0, 10], 'image.create', titled('one')],
        [[20, 50], 'image.update', titled('two')],
        [[30, 40], 'image.getById', read('one')],
        [[60, 70], 'image.getById', read('two')],
      ],
    ],
    [
      'tags, avatars, and a change of the title alone',
      [
        [
          [0, 10],
          'image.create',
          { input: { title: 'one', tagNames: ['rain'] }, output: { title: 'one', tags: 'rain' } },
        ],
        [[20, 30], 'image.update', { input: { title: 'two' }, output: { title: 'two', tags: 'rain' } }],
        [[40, 50], 'image.list', { items: [{ id: 'r1', tags: 'rain', ...read('two').output }] }],
        [[60, 70], 'user.updateAvatar', { input: { avatar: '/a' }, output: { avatar: '/a', nickname: 'Ada' } }],
        [[80, 90], 'user.search', { items: [{ id: 'r1', avatar: '/a', nickname: 'Ada' }] }],
      ],
    ],
    [
      'an erasure',
      [
        [[0, 10], 'game.toggleFavorite', { ...toggled(true, 1), user: 'eve' }],
        [[20, 60], 'erasure', { user: 'eve' }],
        [[30, 40], 'game.getById', seen(false, 1)],
        [[31, 41], 'game.toggleFavorite', toggled(true, 1)],
      ],
    ],
    [
      'a deletion beside reads, of which the last do not find it',
      [
        [[0, 50], 'game.delete', { key: 'k1' }],
        [[10, 30], 'game.getById', notFound],
        [[20, 40], 'game.toggleFavorite', toggled(true, 1)],
        [[60, 70], 'game.delete', notFound],
      ],
    ],
    [
      'a deletion of an unknown outcome that happened later',
      [
        [[0, 10], 'game.delete', { outcome: 'unknown' }],
        [[20, 30], 'game.getById', seen(false, 0)],
        [[40, 50], 'game.getById', notFound],
      ],
    ],
    [
      'a hidden record that its author deletes',
      [
        [[0, 10], 'hiding', {}],
        [[20, 30], 'game.getById', notFound],
        [[40, 50], 'game.delete', {}],
        [[60, 70], 'game.delete', notFound],
      ],
    ],
    [
      'a record that goes with its author',
      [
        [[0, 10], 'game.create', { ...titled('one'), mark: 'one' }],
        [[20, 60], 'erasure', {}],
        [[30, 40], 'game.getById', read('one')],
        [[70, 80], 'game.getById', notFound],
      ],
    ],
    ['a crowd that reads at once', [[[0, 300], 'game.toggleFavorite', toggled(true, 1)], ...crowd]],
  ])('finds one for %s', async (_, steps) => {
    expect(await searchOrders(historyOf(steps))).toMatchObject({ unexplained: 0, undecided: 0, words: '' });
  });

  test.each<[string, string, Step[]]>([
    [
      'a favorite that was set twice',
      'favorite of r1 by user ada',
      [
        [[0, 10], 'game.toggleFavorite', toggled(true, 1)],
        [[20, 30], 'game.toggleFavorite', toggled(true, 1)],
      ],
    ],
    [
      'a count that forgot a user',
      'favorites of r1',
      [
        [[0, 10], 'game.toggleFavorite', toggled(true, 1)],
        [[20, 30], 'game.toggleFavorite', { ...toggled(true, 1), user: 'bob' }],
      ],
    ],
    [
      'a read of what was before',
      'favorites of r1',
      [
        [[0, 10], 'game.toggleFavorite', toggled(true, 1)],
        [[20, 30], 'game.getById', seen(false, 0)],
      ],
    ],
    [
      'a like that stays beside a dislike',
      'reactions of r1',
      [
        [[0, 10], 'image.toggleReaction', reacted('like', 'like', [1, 0])],
        [[20, 30], 'image.toggleReaction', reacted('dislike', 'dislike', [1, 1])],
      ],
    ],
    [
      'a title that was refused',
      'title of r1',
      [
        [[0, 10], 'image.create', titled('one')],
        [[20, 30], 'image.update', { ...titled('two'), outcome: 'refused' }],
        [[40, 50], 'image.getById', read('two')],
      ],
    ],
    [
      'a title that came back',
      'title of r1',
      [
        [[0, 10], 'image.create', titled('one')],
        [[20, 30], 'image.update', titled('two')],
        [[40, 50], 'image.getById', read('two')],
        [[60, 70], 'image.getById', read('one')],
      ],
    ],
    [
      'a list that shows an old state',
      'favorites of r1',
      [
        [[0, 10], 'game.toggleFavorite', toggled(true, 1)],
        [[20, 30], 'game.list', { items: [{ id: 'r1', ...seen(true, 0).output }] }],
      ],
    ],
    [
      'tags that were not changed',
      'tags of r1',
      [
        [
          [0, 10],
          'image.batchCreate',
          {
            input: { posts: [{ title: 'one', tagNames: ['rain'] }] },
            items: [{ id: 'r1', tags: 'rain', title: 'one' }],
          },
        ],
        [[20, 30], 'image.getById', { output: { ...read('one').output, tags: 'snow' } }],
      ],
    ],
    [
      'a like that outlives its user',
      'reactions of r1',
      [
        [[0, 10], 'image.toggleReaction', { ...reacted('like', 'like', [1, 0]), user: 'eve' }],
        [[20, 30], 'erasure', { user: 'eve' }],
        [[40, 50], 'image.toggleReaction', reacted('like', 'like', [2, 0])],
      ],
    ],
    [
      'a record that is found after its deletion',
      'life of r1',
      [
        [[0, 10], 'image.delete', {}],
        [[20, 30], 'image.getById', read('one')],
      ],
    ],
    [
      'a list that shows a record after its deletion',
      'life of r1',
      [
        [[0, 10], 'game.delete', {}],
        [[20, 30], 'game.list', { items: [{ id: 'r1', ...seen(false, 0).output }] }],
      ],
    ],
    [
      'a favorite after a deletion of an unknown outcome that was seen',
      'life of r1',
      [
        [[0, 10], 'game.delete', { outcome: 'unknown' }],
        [[20, 30], 'game.getById', notFound],
        [[40, 50], 'game.toggleFavorite', toggled(true, 1)],
      ],
    ],
    [
      'a record that is deleted twice',
      'life of r1',
      [
        [[0, 10], 'game.delete', {}],
        [[20, 30], 'game.delete', { user: 'bob' }],
      ],
    ],
    [
      'a hidden record that its author cannot delete',
      'life of r1',
      [
        [[0, 10], 'hiding', {}],
        [[20, 30], 'game.delete', notFound],
      ],
    ],
    ['a record that is gone for no reason', 'life of r1', [[[0, 10], 'game.getById', notFound], gameRead]],
    [
      'a game whose update is lost',
      'title of r1',
      [
        [[0, 10], 'game.create', titled('one')],
        [[20, 30], 'game.update', titled('two')],
        [[40, 50], 'game.getById', read('one')],
      ],
    ],
    [
      'a crowd of which one looks back',
      'favorites of r1',
      [[[0, 300], 'game.toggleFavorite', toggled(true, 1)], ...crowd, [[310, 320], 'game.getById', seen(false, 0)]],
    ],
  ])('finds none for %s', async (_, name, steps) => {
    const verdict = await searchOrders(historyOf(steps));
    expect(verdict.unexplained).toBeGreaterThan(0);
    expect(verdict.words).toContain(`${name}: no order explains`);
  });
});
