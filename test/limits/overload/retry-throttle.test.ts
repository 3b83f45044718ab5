/**
 * @engines none
 * @tier fast
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { refusalCost, RetryThrottle } from '../../../src/limits/overload/retry-throttle.ts';
import { VirtualWorld } from '../../harness/virtual-world.ts';

describe('retry throttle', () => {
  let world: VirtualWorld;
  beforeEach(() => {
    world = new VirtualWorld();
  });
  afterEach(() => world.end());

  test('the first refusal of a connection is sent at once, however many connections there are', () => {
    const throttle = new RetryThrottle();
    let refused = 0;
    for (let count = 0; count < 1000; count += 1) throttle.refuse({}, refusalCost.early, () => (refused += 1));
    expect(refused).toBe(1000);
  });

  test('callers that ask again at once are refused at a steady pace, in their order', async () => {
    const throttle = new RetryThrottle();
    const order: number[] = [];
    const callers = Array.from({ length: 1000 }, () => ({}));
    for (const caller of callers) throttle.refuse(caller, refusalCost.early, () => undefined);
    for (const [index, caller] of callers.entries())
      throttle.refuse(caller, refusalCost.early, () => order.push(index));
    expect(order).toEqual([]);
    await world.pass(500);
    expect(order.length).toBeGreaterThan(250);
    expect(order.length).toBeLessThan(750);
    await world.pass(2000);
    expect(order).toEqual(callers.map((_, index) => index));
  });

  test('a late refusal takes the time of several early ones', async () => {
    const refusedBy = async (cost: number): Promise<number> => {
      const throttle = new RetryThrottle();
      let count = 0;
      const callers = Array.from({ length: 1000 }, () => ({}));
      for (const caller of callers) throttle.refuse(caller, cost, () => undefined);
      for (const caller of callers) throttle.refuse(caller, cost, () => (count += 1));
      await world.pass(200);
      return count;
    };
    const [early, late] = [await refusedBy(refusalCost.early), await refusedBy(refusalCost.late)];
    expect(early / late).toBeCloseTo(refusalCost.late / refusalCost.early, 0);
  });

  test('a caller that stays away as told is refused at once the next time', async () => {
    const throttle = new RetryThrottle();
    const caller = {};
    await throttle.turn(caller, refusalCost.late);
    let isRefused = false;
    throttle.refuse(caller, refusalCost.late, () => (isRefused = true));
    expect(isRefused).toBe(false);
    await world.pass(1100);
    expect(isRefused).toBe(true);
    await world.pass(1000);
    isRefused = false;
    throttle.refuse(caller, refusalCost.late, () => (isRefused = true));
    expect(isRefused).toBe(true);
  });
});
