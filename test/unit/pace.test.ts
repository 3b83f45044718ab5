import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Pace, refusalCost } from '../../src/admission/pace.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

test('whoever is refused for the first time hears of it at once, however many there are', () => {
  const pace = new Pace();
  let refused = 0;
  for (let count = 0; count < 1000; count += 1) pace.refuse({}, refusalCost.early, () => (refused += 1));
  expect(refused).toBe(1000);
});

test('a crowd that asks again at once is refused at a steady pace, in turn', async () => {
  const pace = new Pace();
  const order: number[] = [];
  const callers = Array.from({ length: 1000 }, () => ({}));
  for (const caller of callers) pace.refuse(caller, refusalCost.early, () => undefined);
  for (const [index, caller] of callers.entries()) pace.refuse(caller, refusalCost.early, () => order.push(index));
  expect(order).toEqual([]);
  await jest.advanceTimersByTimeAsync(100);
  expect(order.length).toBeGreaterThan(100);
  expect(order.length).toBeLessThan(500);
  await jest.advanceTimersByTimeAsync(1000);
  expect(order).toEqual(callers.map((_, index) => index));
});

test('a dear refusal takes the place of several', async () => {
  const gone = async (cost: number): Promise<number> => {
    const pace = new Pace();
    let count = 0;
    const callers = Array.from({ length: 1000 }, () => ({}));
    for (const caller of callers) pace.refuse(caller, cost, () => undefined);
    for (const caller of callers) pace.refuse(caller, cost, () => (count += 1));
    await jest.advanceTimersByTimeAsync(200);
    return count;
  };
  const [early, late] = [await gone(refusalCost.early), await gone(refusalCost.late)];
  expect(early / late).toBeCloseTo(refusalCost.late / refusalCost.early, 0);
});

test('whoever stays away as told is refused at once the next time', async () => {
  const pace = new Pace();
  const caller = {};
  await pace.turn(caller, refusalCost.late);
  expect(pace.isEarly(caller)).toBe(true);
  await jest.advanceTimersByTimeAsync(1000);
  expect(pace.isEarly(caller)).toBe(false);
  await pace.turn(caller, refusalCost.late);
});
