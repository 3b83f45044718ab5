import { expect, test } from '@jest/globals';
import { type CursorValue, decodeCursor, encodeCursor } from '../../src/content/list/cursor.ts';

const filters = ['games', 'views', 'all', undefined, ['伝説'], []];
const values: CursorValue[] = [42, '2026-04-01 09:30:00.000', '019a3c5e-b150-7e85-9f52-9d40ce61a205'];
const isNumber = (value: unknown) => typeof value === 'number';
const isText = (value: unknown) => typeof value === 'string';
const accepts = [isNumber, isText, isText];

const invalid = expect.objectContaining({ reason: 'CURSOR_INVALID' });

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
