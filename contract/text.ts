import { z } from 'zod';
import { KEY_PREFIX } from './limits.ts';

// The characters that each kind of text must not hold, written as between the brackets of a regular expression.
// Patterns are published, so that they have to mean the same in every dialect: no look-around, no `\d`, no `\s`, and
// escapes of two hex digits below U+0080 only. Above, visible characters represent themselves, and `published` escapes
// the others. U+202C repeats a character of the range before it: there it ends the override that U+202E starts, so that
// a printed pattern reads in the right order. The released `[^…]` starts a range at U+2027, before U+2028; `noneOf`
// allows U+2027 again.
const CONTROLS = '\\x00-\\x1f\\x7f-\u009f';
const CONTROLS_BUT_BREAKS = '\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\u009f';
const MARKS = '\u061c\u200e\u200f';
const DIRECTIONS = '\u202a-\u202e\u202c\u2066-\u2069\ufeff';
const HYPHENATION_POINT = '\u2027';
const SEPARATORS_AND_DIRECTIONS = `${HYPHENATION_POINT}-\u202e\u202c\u2066-\u2069\ufeff`;

/**
 * The characters that a text on one line must not hold: controls, line breaks, and the invisible characters that change
 * the direction of writing, which can make a name look like another (CWE-451, Unicode TR36). Joiners of letters and
 * emoji are allowed.
 */
const NOT_IN_LINE = CONTROLS + MARKS + SEPARATORS_AND_DIRECTIONS;
/** The same, but tabs, line breaks, and the marks of prose from right to left are allowed. */
const NOT_IN_PROSE = CONTROLS_BUT_BREAKS + DIRECTIONS;
/** The characters that a link must not hold: they end it, or the attribute or tag around it, or are read as a slash. */
export const NOT_IN_LINK = `${NOT_IN_LINE} "<>\\\\\``;

/** The pattern of a character other than these, which must include `NOT_IN_LINE`. */
export const noneOf = (characters: string): string => `([^${characters}]|${HYPHENATION_POINT})`;

/** The forms that a text can have. */
interface Form {
  /** The source of a regular expression: see above. It must refuse U+0000. */
  pattern: string;
  /** Whether a text that matches the pattern is refused all the same. */
  isRefused?: (value: string) => boolean;
  /** The fault of a text that does not match; the message continues the text's path. */
  faultOf: (value: string) => { code: string; message: string };
}

/** A form with a pattern, and the message for texts that do not match. */
export const form = (pattern: string, message: string): Form => ({
  pattern,
  faultOf: () => ({ code: 'invalid_format', message }),
});

const nameOf = (character: string): string =>
  `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Any number of characters of one kind, by its pattern. */
const only = (character: string, message: string): Form => {
  const wanted = new RegExp(`^${character}$`);
  return {
    pattern: `^${character}*$`,
    faultOf: (value) => ({
      code: 'control_character',
      message: `${message}: it holds ${nameOf(Array.from(value).find((one) => one.length === 1 && !wanted.test(one)) ?? '')}`,
    }),
  };
};

// Characters that make a text look empty if it holds no others, as far as a line may hold them: Unicode's White_Space,
// the Default_Ignorable_Code_Points, such as joiners, variation selectors and the fillers of Hangul, and Braille's
// blank.
const WIDE_BLANKS =
  '\u00a0\u00ad\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200d\u202f\u205f-\u2065\u206a-\u206f\u2800\u3000' +
  '\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8';
const BLANKS = ` ${WIDE_BLANKS}`;
// A pattern for all dialects cannot name a character beyond U+FFFF: JavaScript takes each for two characters without
// the flag `u`. The service still refuses texts that hold only such characters.
const BLANK = new RegExp(`^[${BLANKS}\\p{Default_Ignorable_Code_Point}]+$`, 'u');

/** A form restricted to texts with at least one visible character, by their pattern. */
const seen = ({ pattern: any, faultOf }: Form, pattern: string): Form => {
  const expression = new RegExp(any);
  return {
    pattern,
    isRefused: (value) => BLANK.test(value),
    faultOf: (value) =>
      expression.test(value) ? { code: 'blank', message: 'must hold more than white space' } : faultOf(value),
  };
};

const anything = form('^[^\\x00]*$', 'must not hold the character U+0000');
const oneLine = only(
  noneOf(NOT_IN_LINE),
  'must be one line without characters that control a display or turn its direction',
);
const manyLines = only(
  `[^${NOT_IN_PROSE}]`,
  'must hold no characters that control a display or turn its direction, tabs and line breaks aside',
);

const letter = noneOf(` ${NOT_IN_LINE}`);
const seenLetter = noneOf(NOT_IN_LINE + BLANKS);

/** Words of one line, with one space between two, and at least one visible character. */
export const words = seen(
  form(
    `^${letter}+( ${letter}+)*$`,
    'must be words with one space between them, without characters that control a display or turn its direction',
  ),
  `^([${WIDE_BLANKS}]+ )*[${WIDE_BLANKS}]*${seenLetter}${letter}*( ${letter}+)*$`,
);

/** `\u202e` of U+202E. */
export const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A pattern for documents: ECMA-262 escapes replace characters that are invisible or join the one before. */
const published = (pattern: string): string =>
  pattern.replaceAll(/[\p{C}\p{M}\p{Default_Ignorable_Code_Point}\u2800]|[^\S ]/gu, escapeOf);

/** The number of Unicode code points of a well-formed string. */
const codePoints = (value: string): number => {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
};

/** The fault in the characters of a text of any form. */
const characterFault = (value: string) => {
  if (!value.isWellFormed()) {
    return { code: 'lone_surrogate', message: 'must be well-formed Unicode: it holds a lone surrogate' };
  }
  return value.includes('\0') ? { code: 'null_character', message: 'must not hold the character U+0000' } : undefined;
};

/**
 * A text of `min` to `max` Unicode code points, as JSON Schema and MySQL's `VARCHAR(n)` count them; zod's own `.max()`
 * counts UTF-16 units. It refuses lone surrogates, which UTF-8 cannot hold, and U+0000, which many databases and their
 * drivers take for the end of a text. A text without a form may hold anything else: it is only looked up.
 */
export const text = (min: number, max: number, { pattern, isRefused, faultOf }: Form = anything) => {
  // JSON Schema, too, reads it by code points.
  const expression = new RegExp(pattern, 'u');
  return z
    .string()
    .check((ctx) => {
      const { value } = ctx;
      const fault = characterFault(value);
      if (fault) {
        ctx.issues.push({ code: 'custom', input: value, message: fault.message, params: { code: fault.code } });
        return;
      }
      // A text has at least half as many code points as UTF-16 units, and at most as many.
      const surelyFits = value.length >= 2 * min && value.length <= max;
      const count = surelyFits ? value.length : codePoints(value);
      if (count < min) {
        ctx.issues.push({
          code: 'too_small',
          origin: 'string',
          minimum: min,
          inclusive: true,
          input: value,
          message: `must have at least ${min} character${min === 1 ? '' : 's'}, has ${count}`,
        });
      } else if (count > max) {
        ctx.issues.push({
          code: 'too_big',
          origin: 'string',
          maximum: max,
          inclusive: true,
          input: value,
          message: `must have at most ${max} characters, has ${count}`,
        });
      } else if (!expression.test(value) || isRefused?.(value)) {
        const { code, message } = faultOf(value);
        ctx.issues.push({ code: 'custom', input: value, message, params: { code } });
      }
    })
    .meta({ minLength: min, maxLength: max, pattern: published(pattern) });
};

/** Restricts a schema to texts without an API key: for names, which are shown and logged. */
export const keyless = <S extends z.ZodString>(schema: S): S =>
  schema.check((ctx) => {
    if (!holdsKey(ctx.value)) return;
    const message = 'must not hold an API key';
    ctx.issues.push({ code: 'custom', input: ctx.value, message, params: { code: 'holds_key' } });
  });

/** A text on one line. */
export const line = (min: number, max: number) => text(min, max, oneLine);

// The first visible character ends the blanks, so that matching takes time by a text's length, not by its square.
const seenPattern = `[${BLANKS}]*${seenLetter}${noneOf(NOT_IN_LINE)}*`;
const seenLine = seen(oneLine, `^${seenPattern}$`);
const seenOrEmpty = seen(oneLine, `^(${seenPattern})?$`);

/** A title or a name: a line with at least one visible character. */
export const label = (max: number) => text(1, max, seenLine);

/** A title or a name that may be empty, but not blank. */
export const labelOrNone = (max: number) => text(0, max, seenOrEmpty);

/** A text of any number of lines. */
export const prose = (min: number, max: number) => text(min, max, manyLines);

const UNSEEN = new RegExp(`[\\x7f-\u009f${MARKS}\u2028\u2029${DIRECTIONS}]`, 'g');

/** A text, such as JSON, with its invisible characters escaped; the control characters below U+0020 stay. */
export const escapeUnseen = (value: string): string => value.replaceAll(UNSEEN, escapeOf);

/** A character itself, or percent-encoded any number of times. */
const encoded = (plain: string, digits: string): string => `(?:${plain}|%(?:25)*${digits})`;

const digitsOf = (character: string): string =>
  `(?:${character.charCodeAt(0).toString(16)}|${character.toUpperCase().charCodeAt(0).toString(16)})`;

/** The start of an API key, in any case and encoding, and all characters that may belong to it. */
const KEYS = new RegExp(
  `${Array.from(KEY_PREFIX, (character) => encoded(character, digitsOf(character))).join('')}${encoded('[0-9a-z]', '(?:3[0-9]|[46][1-9a-f]|[57][0-9a])')}+`,
  'gi',
);

/** Whether a text holds an API key or a recognizable part of one. */
export const holdsKey = (content: string): boolean => content.search(KEYS) !== -1;

/** A text with its API keys masked. All stored or logged texts pass through here. */
export const withoutKeys = (content: string): string => content.replaceAll(KEYS, `${KEY_PREFIX}…`);

/** A number and its noun: `1 need`, `2 needs`. */
export const counted = (n: number, one: string, several = `${one}s`): string => `${n} ${n === 1 ? one : several}`;
