/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { limitsIn } from '../../../src/db/mysql/session.ts';

describe('bound LIMIT', () => {
  test.each([
    ['SELECT id FROM games', []],
    ['SELECT id FROM games WHERE id = ? AND title = ?', []],
    ['SELECT id FROM games WHERE id > ? ORDER BY id LIMIT ?', [1]],
    ['SELECT id FROM games LIMIT ? OFFSET ?', [0, 1]],
    [
      'SELECT 1 FROM (SELECT id FROM a WHERE b = ? ORDER BY b\n      LIMIT ?\n OFFSET ?) p WHERE p.n = ? limit ?',
      [1, 2, 4],
    ],
    ['SELECT id FROM games LIMIT 20', []],
    ['SELECT a_limit ?, my_offset ?', []],
  ])('the limits among the parameters of %j', (sql, places) => {
    expect(limitsIn(sql)).toEqual(places);
  });
});
