/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { warningsOf } from '../../src/app/warnings.ts';

const harmless = {
  databaseUrl: 'sqlite::memory:',
  uid: 1000,
  inContainer: false,
  countsApart: false,
  isDurable: true,
};

describe('start-up warnings', () => {
  test.each([
    [0, false, [expect.stringContaining('runs as root')]],
    [0, true, []],
    [1000, false, []],
    [undefined, false, []],
  ])('user %s, in a container: %s', (uid, inContainer, expected) => {
    for (const databaseUrl of ['mysql://me@host/db', 'sqlite::memory:', 'sqlite:no/such/file.db']) {
      const warnings = warningsOf({ ...harmless, databaseUrl, uid, inContainer });
      expect(warnings.map(({ message }) => message)).toEqual(expected);
    }
  });

  test('workers that count rates apart', () => {
    expect(warningsOf({ ...harmless, countsApart: true })).toEqual([{ message: expect.stringContaining('REDIS_URL') }]);
  });

  test('a server that answers before the disk has it', () => {
    const warnings = warningsOf({ ...harmless, databaseUrl: 'mysql://me@host/db', isDurable: false });
    expect(warnings).toEqual([{ message: expect.stringContaining('innodb_flush_log_at_trx_commit=1') }]);
  });
});
