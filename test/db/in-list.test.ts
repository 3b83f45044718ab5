/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { chunksOf, inList, partsOf } from '../../src/db/sql/in-list.ts';

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
