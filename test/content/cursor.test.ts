/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { type CursorValue, decodeCursor, encodeCursor } from '../../src/content/read/list/cursor.ts';
import { AppError } from '../../src/base/errors.ts';
import { anyCharacter, assertProperty } from '../harness/documents/property.ts';

const filters = ['games', 'views', 'all', undefined, ['伝説'], []];
const values: CursorValue[] = [42, '2026-04-01 09:30:00.000', '019a3c5e-b150-7e85-9f52-9d40ce61a205'];
const isNumber = (value: unknown) => typeof value === 'number';
const isText = (value: unknown) => typeof value === 'string';
const accepts = [isNumber, isText, isText];

const invalid = expect.objectContaining({ reason: 'CURSOR_INVALID' });

describe('cursors', () => {
  test('a cursor gives its values back', () => {
    expect(decodeCursor(encodeCursor(filters, values), filters, accepts)).toEqual(values);
  });

  test('a cursor fits in a URL and in the 1000 characters of the contract', () => {
    expect(encodeCursor(filters, values)).toMatch(/^[A-Za-z0-9_-]{1,1000}$/);
  });

  test('a cursor says nothing of the filters', () => {
    expect(Buffer.from(encodeCursor(filters, values), 'base64url').toString()).not.toContain('伝説');
  });

  test.each([
    ['another table', ['image_posts', ...filters.slice(1)]],
    ['another sort mode', ['games', 'likes', ...filters.slice(2)]],
    ['another search', [...filters.slice(0, 4), ['伝']]],
    ['a type in place of none', ['games', 'views', 'all', 'RPG', ['伝説'], []]],
    ['tags', [...filters.slice(0, 5), ['rpg']]],
  ])('a cursor is refused with %s', (_, other) => {
    expect(() => decodeCursor(encodeCursor(filters, values), other, accepts)).toThrow(invalid);
  });

  test('a cursor with values of other kinds is refused', () => {
    expect(() => decodeCursor(encodeCursor(filters, ['42', ...values.slice(1)]), filters, accepts)).toThrow(invalid);
    expect(() => decodeCursor(encodeCursor(filters, values.slice(1)), filters, accepts)).toThrow(invalid);
    expect(() => decodeCursor(encodeCursor(filters, [...values, 1]), filters, accepts)).toThrow(invalid);
  });

  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

  test.each([
    '',
    'x',
    '%%%',
    '伝説',
    'AAAA',
    encoded(null),
    encoded(1),
    encoded({ length: 4 }),
    encoded([]),
    encoded([null, ...values]),
    encoded(['', ...values]),
    encodeCursor(filters, values).slice(0, -4),
    encodeCursor(filters, values).toUpperCase(),
  ])('the text %j is refused', (cursor) => {
    expect(() => decodeCursor(cursor, filters, accepts)).toThrow(invalid);
  });

  describe('whatever it is made of', () => {
    const anyText = fc.string({ unit: anyCharacter });
    const anyValue = fc.oneof(fc.maxSafeNat(), anyText);
    const isAny = () => true;

    test('a cursor gives its values back', () => {
      assertProperty(
        fc.property(fc.jsonValue(), fc.array(anyValue, { maxLength: 5 }), (someFilters, some) => {
          const cursor = encodeCursor(someFilters, some);
          expect(
            decodeCursor(
              cursor,
              someFilters,
              some.map(() => isAny),
            ),
          ).toEqual(some);
        }),
      );
    });

    test('a text is a cursor of ours, or refused as none', () => {
      const good = encodeCursor(filters, values);
      const [fingerprint] = JSON.parse(Buffer.from(good, 'base64url').toString()) as string[];
      const texts = fc.oneof(
        anyText,
        fc.base64String(),
        fc.jsonValue().map(encoded),
        // Of these filters, as nobody but us can tell.
        fc.array(fc.jsonValue(), { maxLength: 4 }).map((some) => encoded([fingerprint, ...some])),
        // Changed in one place.
        fc
          .tuple(fc.nat(good.length), anyText)
          .map(([at, wrong]) => good.slice(0, at) + wrong + good.slice(at + wrong.length)),
      );
      assertProperty(
        fc.property(texts, (text) => {
          try {
            const decoded = decodeCursor(text, filters, accepts);
            return decoded.length === accepts.length && decoded.every((value, index) => accepts[index]?.(value));
          } catch (error) {
            return error instanceof AppError && error.reason === 'CURSOR_INVALID';
          }
        }),
        1000,
      );
    });
  });
});
