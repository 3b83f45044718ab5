/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { InvalidArgumentError } from 'commander';
import { text } from '../../contract/text.ts';
import { lengthOf, listOf, parseDuration, parseExpiry, textOf } from '../../src/admin/commands/shared/arguments.ts';

const NOW = new Date('2026-04-01T09:30:00.000Z');

const refused = (message: string) => new InvalidArgumentError(message);

describe('a duration', () => {
  test.each([
    ['90d', 7_776_000_000],
    ['24h', 86_400_000],
    ['45m', 2_700_000],
    ['30s', 30_000],
    ['0s', 0],
    ['007d', 604_800_000],
    ['36500d', 3_153_600_000_000],
  ])('%s', (given, ms) => {
    expect(parseDuration(given)).toBe(ms);
  });

  test.each(['', 'd', '90', '90 d', ' 90d', '-1d', '+1d', '1.5h', '1e3d', '1w', '1D', '1d12h', '٣d', 'never'])(
    '"%s" is none',
    (given) => {
      expect(() => parseDuration(given)).toThrow(refused('It must be a duration: 90d, 12h, 45m or 30s.'));
    },
  );

  test.each(['36501d', '876001h', '99999999999999999999s'])('%s is too long', (given) => {
    expect(() => parseDuration(given)).toThrow(refused('It must be at most 36500d ahead.'));
  });
});

describe('an expiry', () => {
  test.each([
    ['never', null],
    ['90d', '2026-06-30T09:30:00.000Z'],
    ['30s', '2026-04-01T09:30:30.000Z'],
    ['2099-12-31', '2099-12-31T00:00:00.000Z'],
    ['2096-02-29', '2096-02-29T00:00:00.000Z'],
    ['2099-12-31T18:00:00Z', '2099-12-31T18:00:00.000Z'],
    ['2099-12-31T18:00:00.250+09:00', '2099-12-31T09:00:00.250Z'],
  ])('%s', (given, end) => {
    expect(parseExpiry(given)(NOW)?.toISOString() ?? null).toBe(end);
  });

  test.each([
    '',
    'Never',
    'soon',
    '90',
    '1w',
    '-1d',
    '2099-02-29',
    '2099-1-1',
    '2099-12-31T18:00:00',
    '20991231',
    '2099',
  ])('"%s" is none', (given) => {
    expect(() => parseExpiry(given)).toThrow(
      refused('It must be a duration (90d, 12h, 45m, 30s), a date (2030-12-31, 2030-12-31T18:00:00Z) or never.'),
    );
  });

  test.each(['0d', '2020-01-01', '2020-01-01T00:00:00+09:00'])('%s has passed', (given) => {
    expect(() => parseExpiry(given)).toThrow(refused('It must lie in the future.'));
  });

  test.each(['36501d', '9999-12-31', '9999-12-31T23:59:59-12:00'])('%s is too far ahead', (given) => {
    expect(() => parseExpiry(given)).toThrow(refused('It must be at most 36500d ahead.'));
  });
});

describe('a text', () => {
  const parse = textOf(text(1, 5));

  test('is what the schema takes', () => {
    expect(parse('🐉🐉🐉🐉🐉')).toBe('🐉🐉🐉🐉🐉');
  });

  test('has its length in words', () => {
    expect(lengthOf(text(1, 5))).toBe('1 to 5 characters');
  });

  test('is refused in the words of the schema', () => {
    expect(() => parse('')).toThrow(refused('It must have at least 1 character, has 0.'));
    expect(() => parse('123456')).toThrow(refused('It must have at most 5 characters, has 6.'));
  });
});

describe('a list', () => {
  const parse = listOf(['read', 'write']);

  test('is separated by commas, with or without spaces', () => {
    expect(parse('read')).toEqual(['read']);
    expect(parse('write, read')).toEqual(['write', 'read']);
  });

  test.each([
    ['', ''],
    ['read,', ''],
    ['read write', 'read write'],
    ['read,admin', 'admin'],
    ['READ', 'READ'],
  ])('"%s" holds a word that is unknown', (given, word) => {
    expect(() => parse(given)).toThrow(refused(`"${word}" is none of read, write.`));
  });
});
