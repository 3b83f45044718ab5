/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { counted, escapeUnseen, form, line, prose, text } from '../../contract/text.ts';

const issuesOf = (schema: ReturnType<typeof text>, value: unknown) => schema.safeParse(value).error?.issues ?? [];

describe('text schemas', () => {
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

  test('other control characters and unassigned code points are texts to look up', () => {
    expect(text(1, 10).parse('a\u0001\n\u200B\u{10FFFF}')).toBe('a\u0001\n\u200B\u{10FFFF}');
  });

  const everyCharacter = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code)).filter((one) =>
    one.isWellFormed(),
  );
  /** Characters from the one to the other. */
  const from = (first: number, last = first): string[] =>
    Array.from({ length: last - first + 1 }, (_, n) => String.fromCharCode(first + n));
  const DIRECTIONS = [...from(0x202a, 0x202e), ...from(0x2066, 0x2069), '\uFEFF'];

  describe.each([
    [
      'a line',
      line,
      [...from(0, 0x1f), ...from(0x7f, 0x9f), '\u061C', ...from(0x200e, 0x200f), '\u2028', '\u2029', ...DIRECTIONS],
    ],
    ['prose', prose, [...from(0, 8), ...from(0xb, 0xc), ...from(0xe, 0x1f), ...from(0x7f, 0x9f), ...DIRECTIONS]],
  ])('%s', (_, kind, unwanted) => {
    const schema = kind(1, 20);

    test('holds any character but those that control a display or turn its direction, as its pattern says', () => {
      const refused = everyCharacter.filter((character) => !schema.safeParse(`a${character}b`).success);
      expect(refused.map(escapeUnseen)).toEqual(unwanted.toSorted().map(escapeUnseen));
      const pattern = new RegExp(String(schema.meta()?.['pattern']), 'u');
      expect(everyCharacter.filter((character) => !pattern.test(`a${character}b`))).toEqual(refused);
    });

    test('may hold what joins letters and emoji, and breaks words of scripts without spaces', () => {
      for (const joined of [
        '👩\u200D🚀',
        'क\u094D\u200Dष',
        'می\u200Cخواهم',
        'ក\u200Bខ',
        '❤\uFE0F',
        '🏴\u{E0067}\u{E007F}',
      ]) {
        expect(schema.parse(joined)).toBe(joined);
      }
    });

    test('names the character', () => {
      expect(issuesOf(schema, 'ab\u202Ec')).toEqual([
        expect.objectContaining({ params: { code: 'control_character' }, message: expect.stringMatching(/ U\+202E$/) }),
      ]);
      expect(issuesOf(schema, 'ab\u001B[2J')).toEqual([
        expect.objectContaining({ params: { code: 'control_character' }, message: expect.stringMatching(/ U\+001B$/) }),
      ]);
    });
  });

  test('what is unseen can be shown', () => {
    expect(escapeUnseen('["a\u202Eb\u009F\uFEFF",\n "伝説👩\u200D🚀"]')).toBe(
      String.raw`["a\u202eb\u009f\ufeff",` + '\n "伝説👩\u200D🚀"]',
    );
  });

  test('nothing is trimmed or composed', () => {
    expect(text(1, 10).parse(' e\u0301 ')).toBe(' e\u0301 ');
  });

  describe('a pattern', () => {
    const version = text(1, 10, form('^Ver[0-9]+$', 'must be Ver and a number'));

    test('is checked after the length', () => {
      expect(version.safeParse('Ver1').success).toBe(true);
      expect(issuesOf(version, 'v1')).toEqual([
        expect.objectContaining({ params: { code: 'invalid_format' }, message: 'must be Ver and a number' }),
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
});

test('a number agrees with its noun', () => {
  expect([0, 1, 2].map((n) => counted(n, 'need'))).toEqual(['0 needs', '1 need', '2 needs']);
  expect([1, 2].map((n) => counted(n, 'reply is', 'replies are'))).toEqual(['1 reply is', '2 replies are']);
});
