/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { judge } from './judge.ts';
import { shrink } from './shrink.ts';
import { openBeginning } from './simulation.ts';

const SEEDS = 5;

describe('simulations', () => {
  test('keep all promises, and are the same for the same seed', async () => {
    const { found, words } = await judge(await openBeginning(), { first: 1, seeds: SEEDS });
    expect(words).toBe('');
    expect(found).toEqual([]);
  });

  test('are shrunk to what a failure needs', async () => {
    const items = Array.from({ length: 50 }, (_, n) => n);
    const tried: number[][] = [];
    const fails = async (some: readonly number[]): Promise<boolean> => {
      tried.push([...some]);
      return some.includes(17) && some.includes(42);
    };
    expect(await shrink(items, fails)).toEqual([17, 42]);
    expect(tried.length).toBeLessThan(items.length);
    expect(await shrink(items, async () => true)).toEqual([]);
  });
});
