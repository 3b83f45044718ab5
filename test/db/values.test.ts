/**
 * @engines none
 * @tier fast
 */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { limitsIn } from '../../src/db/mysql/session.ts';
import { chunksOf, inList, partsOf } from '../../src/db/sql/in-list.ts';
import { idFromBytes, idToBytes, newId, storedIdToBytes, timeFromDb, timeToDb } from '../../src/db/values.ts';

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

const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');
const times = [0, 999, 1000, 951_782_400_000, LAST_INSTANT - 999, LAST_INSTANT].map((time) => new Date(time));
for (let n = 0; n < 1000; n += 1) times.push(new Date(Math.floor(Math.random() * LAST_INSTANT)));

describe('times in the database', () => {
  test('a stored instant goes back to what Date says', () => {
    for (const time of times) expect(timeFromDb(timeToDb(time))).toBe(time.toISOString());
  });

  test('the milliseconds of a whole second may be left out', () => {
    for (const time of times) {
      time.setUTCMilliseconds(0);
      expect(timeFromDb(timeToDb(time).replace('.000', ''))).toBe(time.toISOString());
    }
  });
});

describe('inList', () => {
  test('a list is padded with its last value to a power of two', () => {
    expect(inList([7])).toEqual({ sql: '?', parameters: [7] });
    expect(inList([7, 8])).toEqual({ sql: '?, ?', parameters: [7, 8] });
    expect(inList(['a', 'b', 'c'])).toEqual({ sql: '?, ?, ?, ?', parameters: ['a', 'b', 'c', 'c'] });
    const lengths = Array.from({ length: 1000 }, (_, index) => inList(Array(index + 1).fill(0)).parameters.length);
    expect([...new Set(lengths)]).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
  });

  test('chunks hold all rows in their order, in few different lengths', () => {
    const lengths = new Set<number>();
    for (let n = 0; n <= 1000; n += 1) {
      const rows = Array.from({ length: n }, (_, index) => index);
      const chunks = chunksOf(rows);
      // Cheaper than to compare a thousand times as many values one by one.
      expect(chunks.flat().join()).toBe(rows.join());
      expect(chunks.length).toBeLessThanOrEqual(Math.floor(n / 256) + 5);
      for (const chunk of chunks) lengths.add(chunk.length);
    }
    expect(lengths).toEqual(new Set([...Array.from({ length: 16 }, (_, index) => index + 1), 32, 64, 128, 256]));
  });

  test('parts hold all values in their order', () => {
    for (const n of [0, 1, 256, 257, 1000]) {
      const values = Array.from({ length: n }, (_, index) => index);
      const parts = partsOf(values);
      expect(parts.flat()).toEqual(values);
      expect(parts.map(({ length }) => length).filter((length) => length > 256)).toEqual([]);
      expect(parts).toHaveLength(Math.ceil(n / 256));
    }
  });
});

describe('bound LIMIT', () => {
  test.each([
    ['SELECT id FROM games', []],
    ['SELECT id FROM games WHERE id = ? AND title = ?', []],
    ['SELECT id FROM games WHERE id > ? ORDER BY id LIMIT ?', [1]],
    ['SELECT id FROM games LIMIT ? OFFSET ?', [0, 1]],
    [
      'SELECT 1 FROM (SELECT id FROM a WHERE b = ? ORDER BY b\n      LIMIT ?\n OFFSET ?) p WHERE p.n = ? limit ?',
      [1, 2, 4],
    ],
    ['SELECT id FROM games LIMIT 20', []],
    ['SELECT a_limit ?, my_offset ?', []],
  ])('the limits among the parameters of %j', (sql, places) => {
    expect(limitsIn(sql)).toEqual(places);
  });
});
