/**
 * @engines none
 * @tier fast
 */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { idFromBytes, idToBytes, newId, storedIdToBytes } from '../../src/db/values.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const timeOf = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

describe('record ids', () => {
  test('ids of one millisecond are in the order in which they were made, and all different', () => {
    const now = new Date('2030-01-01T00:00:00.000Z');
    const ids = Array.from({ length: 10_000 }, () => newId(now));
    expect(ids.every((id) => UUID_V7.test(id))).toBe(true);
    expect(ids.every((id, index) => index === 0 || (ids[index - 1] ?? '') < id)).toBe(true);
  });

  test('an id holds the time it was made at', () => {
    const now = new Date('2031-01-01T12:34:56.789Z');
    expect(timeOf(newId(now))).toBe(now.getTime());
  });

  test('later ids sort after earlier ones, as texts and as bytes', () => {
    const start = Date.parse('2032-01-01T00:00:00.000Z');
    const ids = Array.from({ length: 1000 }, (_, index) => newId(new Date(start + index)));
    expect(ids.toSorted()).toEqual(ids);
    expect(ids.map(storedIdToBytes).toSorted(Buffer.compare).map(idFromBytes)).toEqual(ids);
  });

  test.each([1, 5000, 86_400_000])('a clock that goes back by %d ms is believed', (ms) => {
    const before = new Date('2034-01-01T00:00:00.000Z');
    newId(before);
    const earlier = new Date(before.getTime() - ms);
    expect(timeOf(newId(earlier))).toBe(earlier.getTime());
  });

  test('bytes are 16, and go back to the same text', () => {
    const id = newId(new Date('2035-01-01T00:00:00.000Z'));
    expect(storedIdToBytes(id)).toHaveLength(16);
    expect(idFromBytes(storedIdToBytes(id))).toBe(id);
  });

  test.each(['', 'x', '1', '019A3C5E-B150-7E85-9F52-9D40CE61A205', '019a3c5eb1507e859f529d40ce61a205', "' OR 1=1 --"])(
    '%j is no id of ours',
    (text) => {
      expect(idToBytes(text)).toBeUndefined();
      expect(() => storedIdToBytes(text)).toThrow(TypeError);
    },
  );

  test('every byte is written as Node writes it', () => {
    for (let n = 0; n < 1000; n += 1) {
      const bytes = randomBytes(16);
      const id = bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
      expect(idFromBytes(new Uint8Array(bytes))).toBe(id);
      expect(idToBytes(id)).toEqual(bytes);
    }
  });
});
