import { describe, expect, test } from '@jest/globals';
import { text } from '../../contract/common.ts';

const issuesOf = (schema: ReturnType<typeof text>, value: unknown) => schema.safeParse(value).error?.issues ?? [];

describe('lengths are counted in code points', () => {
  test.each([
    ['a'.repeat(5), true],
    ['a'.repeat(6), false],
    ['🐉'.repeat(5), true],
    ['🐉'.repeat(6), false],
    ['🐉🐉aaa', true],
    ['aa', true],
    ['a', false],
    ['🐉', false],
    ['', false],
    // One character to the eye, but four code points.
    ['👩\u200D👧\u200D', true],
    ['e\u0301', true],
  ])('%j has 2 to 5: %j', (value, fits) => {
    expect(text(2, 5).safeParse(value).success).toBe(fits);
  });

  test('a fault says how many there are', () => {
    expect(issuesOf(text(1, 5), '🐉'.repeat(6))).toEqual([
      expect.objectContaining({ code: 'too_big', maximum: 5, message: 'must have at most 5 characters, has 6' }),
    ]);
    expect(issuesOf(text(3, 5), '🐉')).toEqual([
      expect.objectContaining({ code: 'too_small', minimum: 3, message: 'must have at least 3 characters, has 1' }),
    ]);
    expect(issuesOf(text(1, 5), '')).toEqual([
      expect.objectContaining({ code: 'too_small', message: 'must have at least 1 character, has 0' }),
    ]);
  });
});

test.each(['\uD83D', '\uDC09', 'a\uD83Da', '\uDC09\uD83D', '🐉\uD83D'])(
  'the lone surrogate of %j is refused',
  (value) => {
    expect(issuesOf(text(1, 10), value)).toEqual([
      expect.objectContaining({ code: 'custom', params: { code: 'lone_surrogate' } }),
    ]);
  },
);

test.each(['\0', 'a\0b'])('the U+0000 of %j is refused', (value) => {
  expect(issuesOf(text(0, 10), value)).toEqual([
    expect.objectContaining({ code: 'custom', params: { code: 'null_character' } }),
  ]);
});

test('other control characters and unassigned code points are texts', () => {
  expect(text(1, 10).parse('a\u0001\n\u200B\u{10FFFF}')).toBe('a\u0001\n\u200B\u{10FFFF}');
});

test('nothing is trimmed or composed', () => {
  expect(text(1, 10).parse(' e\u0301 ')).toBe(' e\u0301 ');
});

describe('a pattern', () => {
  const version = text(1, 10, /^Ver[0-9]+$/, 'must be Ver and a number');

  test('is checked after the length', () => {
    expect(version.safeParse('Ver1').success).toBe(true);
    expect(issuesOf(version, 'v1')).toEqual([
      expect.objectContaining({ code: 'invalid_format', message: 'must be Ver and a number' }),
    ]);
    expect(issuesOf(version, 'x'.repeat(11))).toEqual([expect.objectContaining({ code: 'too_big' })]);
  });

  test('is published with the lengths', () => {
    expect(version.meta()).toEqual({ minLength: 1, maxLength: 10, pattern: '^Ver[0-9]+$' });
  });
});

test.each([1, null, true, {}, [], undefined])('%j is no text', (value) => {
  expect(issuesOf(text(0, 10), value)).toEqual([expect.objectContaining({ code: 'invalid_type' })]);
});
