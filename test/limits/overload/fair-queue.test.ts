/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { FairQueue } from '../../../src/limits/overload/fair-queue.ts';

interface Item {
  cost: number;
  name: string;
}

const aQueue = (...items: [caller: string, name: string, cost?: number][]) => {
  const queue = new FairQueue<Item>();
  const byName = new Map<string, Item>();
  for (const [caller, name, cost = 1] of items) {
    const item = { cost, name };
    byName.set(name, item);
    queue.push(caller, item);
  }
  const drain = (): string[] => {
    const names: string[] = [];
    for (let item = queue.shift(); item; item = queue.shift()) names.push(item.name);
    return names;
  };
  return { queue, drain, item: (name: string) => byName.get(name)! };
};

describe('a fair queue', () => {
  test('keeps the order of one caller', () => {
    expect(aQueue(['a', 'a1'], ['a', 'a2'], ['a', 'a3']).drain()).toEqual(['a1', 'a2', 'a3']);
  });

  test('lets callers take turns, however many calls each of them sends', () => {
    const { drain } = aQueue(['a', 'a1'], ['a', 'a2'], ['a', 'a3'], ['b', 'b1'], ['c', 'c1'], ['b', 'b2']);
    expect(drain()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  test('counts what costs more as several calls', () => {
    const { drain } = aQueue(['a', 'a1', 3], ['a', 'a2', 3], ['b', 'b1'], ['b', 'b2'], ['b', 'b3'], ['b', 'b4']);
    expect(drain()).toEqual(['b1', 'b2', 'a1', 'b3', 'b4', 'a2']);
  });

  test('predicts the cost until the work of a caller: at most all that waits, and at most one turn of each caller for each', () => {
    const { queue } = aQueue(...Array.from({ length: 256 }, (_, n): [string, string] => ['greedy', `g${n}`]));
    expect(queue.costUntil('greedy', 1)).toBe(257);
    expect(queue.costUntil('lone', 1)).toBe(2);
    expect(queue.costUntil('lone', 20)).toBe(40);
    expect(queue.size).toBe(256);
  });

  test('forgets what does not wait any more, and callers of whom nothing waits', () => {
    const { queue, drain, item } = aQueue(['a', 'a1'], ['b', 'b1'], ['b', 'b2']);
    expect(queue.delete('a', item('a1'))).toBe(true);
    expect(queue.delete('a', item('a1'))).toBe(false);
    expect(queue.costUntil('c', 1)).toBe(2);
    expect(drain()).toEqual(['b1', 'b2']);
    expect([queue.size, queue.costUntil('c', 5)]).toEqual([0, 5]);
  });

  test('keeps what does not fit, and its turn', () => {
    const { queue, drain } = aQueue(['a', 'a1', 5], ['b', 'b1']);
    expect(queue.shift()?.name).toBe('b1');
    expect(queue.shift(() => false)).toBeUndefined();
    expect(queue.size).toBe(1);
    expect(drain()).toEqual(['a1']);
  });

  test('serves thousands of callers in the order of their arrival', () => {
    const names = Array.from({ length: 5000 }, (_, n) => `n${n}`);
    expect(aQueue(...names.map((name): [string, string] => [name, name])).drain()).toEqual(names);
  });
});
