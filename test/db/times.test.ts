/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { timeFromDb, timeToDb } from '../../src/db/values.ts';

const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');
const times = [0, 999, 1000, 951_782_400_000, LAST_INSTANT - 999, LAST_INSTANT].map((time) => new Date(time));
for (let n = 0; n < 1000; n += 1) times.push(new Date(Math.floor(Math.random() * LAST_INSTANT)));

describe('times in the database', () => {
  test('a stored instant goes back to what Date says', () => {
    for (const time of times) expect(timeFromDb(timeToDb(time))).toBe(time.toISOString());
  });

  test('the milliseconds of a whole second may be left out', () => {
    for (const time of times) {
      time.setUTCMilliseconds(0);
      expect(timeFromDb(timeToDb(time).replace('.000', ''))).toBe(time.toISOString());
    }
  });
});
