import { expect, test } from '@jest/globals';
import { warningsOf } from '../../src/warnings.ts';

test.each([
  [0, false, [expect.stringContaining('runs as root')]],
  [0, true, []],
  [1000, false, []],
  [undefined, false, []],
])('user %s, in a container: %s', (uid, inContainer, expected) => {
  for (const databaseUrl of ['mysql://me@host/db', 'sqlite::memory:', 'sqlite:no/such/file.db']) {
    expect(warningsOf({ databaseUrl, uid, inContainer, isDurable: true }).map(({ message }) => message)).toEqual(
      expected,
    );
  }
});

test('a server that answers before the disk has it', () => {
  const of = (isDurable: boolean) =>
    warningsOf({ databaseUrl: 'mysql://me@host/db', uid: 1000, inContainer: false, isDurable });
  expect(of(true)).toEqual([]);
  expect(of(false)).toEqual([{ message: expect.stringContaining('innodb_flush_log_at_trx_commit=1') }]);
});
