/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { AdaptiveLimit } from '../../../src/limits/overload/adaptive-limit.ts';

interface Shape {
  parallel: number;
  ms: number;
  distanceMs?: number;
}

/**
 * A service that does `parallel` pieces of work at once, each in `ms`, and is `distanceMs` away: with so many under way, how
 * long each takes and how many end in a millisecond.
 */
const service = ({ parallel, ms, distanceMs = 0 }: Shape) => {
  const alone = ms + distanceMs;
  const most = parallel / ms;
  return (running: number) => {
    const rate = Math.min(running / alone, most);
    return { ms: running / rate, rate };
  };
};

/** What the limit comes to while callers always ask for more. */
const settle = (work: ReturnType<typeof service>, limit = new AdaptiveLimit(4), samples = 200) => {
  const limits: number[] = [];
  for (let count = 0; count < samples; count += 1) {
    limit.note({ ...work(limit.value), isLimited: true });
    limits.push(limit.value);
  }
  const rates = limits.slice(-64).map((running) => work(running).rate);
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  const last = limits.at(-1)!;
  return { limit, last, ms: work(last).ms, throughput: mean / work(1024).rate };
};

describe('the limit', () => {
  test.each<[string, Shape]>([
    ['a small machine', { parallel: 2, ms: 4 }],
    ['sixteen cores', { parallel: 16, ms: 4 }],
    ['sixty-four cores', { parallel: 64, ms: 10 }],
    ['work of a millisecond', { parallel: 2, ms: 0.5 }],
    ['a database 5 ms away', { parallel: 2, ms: 2, distanceMs: 5 }],
    ['a database 20 ms away', { parallel: 2, ms: 2, distanceMs: 20 }],
    ['a database with sixteen cores, 20 ms away', { parallel: 16, ms: 2, distanceMs: 20 }],
  ])('uses all that %s can do, and makes work wait little behind it', (_, shape) => {
    const { ms, throughput } = settle(service(shape));
    expect(throughput).toBeGreaterThan(0.97);
    expect(ms).toBeLessThan(1.5 * (shape.ms + (shape.distanceMs ?? 0)) + 30);
  });

  test('falls when the work gets slower by what runs beside it, and rises again', () => {
    const { limit, last } = settle(service({ parallel: 16, ms: 4 }));
    const { last: busy } = settle(service({ parallel: 2, ms: 4 }), limit);
    const { last: free } = settle(service({ parallel: 16, ms: 4 }), limit);
    expect(busy).toBeLessThan(last / 2);
    expect(free).toBeGreaterThan(last * 0.8);
  });

  test('finds its way when the database moves away', () => {
    const { limit } = settle(service({ parallel: 2, ms: 1 }));
    const { throughput } = settle(service({ parallel: 2, ms: 1, distanceMs: 20 }), limit, 400);
    expect(throughput).toBeGreaterThan(0.95);
  });

  test.each([4, 64])('is measured with half of what always may run, %i, and is known meanwhile', (least) => {
    const limit = new AdaptiveLimit(least);
    const work = service({ parallel: 16, ms: 4 });
    const seen: number[] = [];
    for (let sample = 0; sample < 100; sample += 1) {
      limit.note({ ...work(limit.value), isLimited: true });
      seen.push(limit.value);
      expect(limit.usual).toBeGreaterThanOrEqual(least);
    }
    expect(seen.filter((value) => value === least / 2)).toHaveLength(1);
  });

  test('stays while nothing waits', () => {
    const { limit, last } = settle(service({ parallel: 16, ms: 4 }));
    for (let count = 0; count < 100; count += 1) limit.note({ ms: 4, rate: 0.001, isLimited: false });
    expect(limit.value).toBe(last);
  });

  test('stays within bounds whatever is measured', () => {
    for (const ms of [0, 1e-9, 1e9]) {
      const limit = new AdaptiveLimit(4);
      for (let count = 0; count < 300; count += 1) limit.note({ ms, rate: 1 / Math.max(ms, 1e-9), isLimited: true });
      expect(limit.value).toBeGreaterThanOrEqual(2);
      expect(limit.value).toBeLessThanOrEqual(1024);
    }
  });
});
