import { expect, test } from '@jest/globals';
import { warningsOf } from '../../src/warnings.ts';

test.each([
  [0, false, [expect.stringContaining('runs as root')]],
  [0, true, []],
  [1000, false, []],
  [undefined, false, []],
])('user %s, in a container: %s', (uid, inContainer, expected) => {
  for (const databaseUrl of ['mysql://me@host/db', 'sqlite::memory:', 'sqlite:no/such/file.db']) {
    const circumstances = { databaseUrl, uid, inContainer, countsApart: false };
    expect(warningsOf(circumstances).map(({ message }) => message)).toEqual(expected);
  }
});

test('workers that count rates apart', () => {
  const circumstances = { databaseUrl: 'sqlite::memory:', uid: 1000, inContainer: false, countsApart: true };
  expect(warningsOf(circumstances)).toEqual([{ message: expect.stringContaining('REDIS_URL') }]);
});
