import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Deadline } from '../../src/deadline.ts';
import { defaultPatience, Lane, STANDING_MS } from '../../src/admission/lane.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const { usualMs: PATIENCE_MS, shortMs: SHORT_PATIENCE_MS } = defaultPatience;
const OVERLOADED = { status: 'rejected', reason: { reason: 'OVERLOADED' } };

/** Work that is done when it is told to. */
const aWorkshop = () => {
  const begun: string[] = [];
  const running: (() => void)[] = [];
  return {
    begun,
    work: (name: string) => async () => {
      begun.push(name);
      await new Promise<void>((resolve) => running.push(resolve));
      return name;
    },
    finishOne: async () => {
      running.shift()?.();
      await jest.advanceTimersByTimeAsync(0);
    },
  };
};

/** When each of some promises settled, and as what. */
const watch = (promises: readonly Promise<unknown>[]) => {
  const began = performance.now();
  return Promise.all(
    promises.map(async (promise) => {
      const [result] = await Promise.allSettled([promise]);
      return { after: performance.now() - began, ...result };
    }),
  );
};

test('work begins at once where there is room, else in turn', async () => {
  const { begun, work, finishOne } = aWorkshop();
  const lane = new Lane({ running: 2, waiting: 10 });
  const all = ['a', 'b', 'c', 'd'].map((name) => lane.run(1, undefined, work(name)));
  expect(begun).toEqual(['a', 'b']);
  await finishOne();
  expect(begun).toEqual(['a', 'b', 'c']);
  for (const _ of all) await finishOne();
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
});

test('dear work takes more room, is not overtaken, and has the lane for itself where it costs more than there is', async () => {
  const { begun, work, finishOne } = aWorkshop();
  const lane = new Lane({ running: 4, waiting: 10 });
  const all = [3, 9, 1].map((cost) => lane.run(cost, undefined, work(`${cost}`)));
  expect(begun).toEqual(['3']);
  await finishOne();
  expect(begun).toEqual(['3', '9']);
  await finishOne();
  expect(begun).toEqual(['3', '9', '1']);
  await finishOne();
  await Promise.all(all);
});

test('whoever finds no room in time is refused, within 50 ms', async () => {
  const { work } = aWorkshop();
  const lane = new Lane({ running: 1, waiting: 10 });
  void lane.run(1, undefined, work('endless'));
  const refused = watch([lane.run(1, undefined, work('late')), lane.run(1, undefined, work('late'))]);
  await jest.advanceTimersByTimeAsync(PATIENCE_MS);
  expect(await refused).toMatchObject([1, 2].map(() => ({ after: PATIENCE_MS, ...OVERLOADED })));
  expect(PATIENCE_MS).toBeLessThan(50);
});

test('when as many wait as may, the next is refused at once', async () => {
  const { work } = aWorkshop();
  const lane = new Lane({ running: 1, waiting: 2 });
  for (const name of ['a', 'b', 'c']) lane.run(1, undefined, work(name)).catch(() => undefined);
  expect(lane.isFull).toBe(true);
  await expect(lane.run(1, undefined, work('d'))).rejects.toMatchObject({ reason: 'OVERLOADED' });
  await jest.advanceTimersByTimeAsync(PATIENCE_MS);
});

test('a queue that stands is cut: nobody waits long in it, and what runs still goes on', async () => {
  const { begun, work, finishOne } = aWorkshop();
  const lane = new Lane({ running: 1, waiting: 100 });
  void lane.run(1, undefined, work('first'));
  const results: { after: number; refused: boolean }[] = [];
  const arrive = (): void => {
    const came = performance.now();
    const note = (refused: boolean) => () => void results.push({ after: performance.now() - came, refused });
    lane.run(1, undefined, work('crowd')).then(note(false), note(true));
  };
  // Five come each 5 ms, and one is done each 10.
  for (let ms = 0; ms < 1000; ms += 5) {
    for (let count = 0; count < 5; count += 1) arrive();
    await jest.advanceTimersByTimeAsync(5);
    if (ms % 10 === 0) await finishOne();
  }
  expect(lane.isStanding).toBe(true);
  const refused = results.filter(({ refused: was }) => was);
  expect(Math.max(...refused.map(({ after }) => after))).toBeLessThanOrEqual(PATIENCE_MS + 5);
  // All that could be done was done.
  expect(begun.length).toBeGreaterThanOrEqual(100);
  const lateRefusals = refused.slice(-100).map(({ after }) => after);
  expect(Math.max(...lateRefusals)).toBeLessThanOrEqual(SHORT_PATIENCE_MS + 5);
});

test('a queue that empties now and then does not stand', async () => {
  const { work, finishOne } = aWorkshop();
  const lane = new Lane({ running: 1, waiting: 100 });
  const results = [];
  for (let round = 0; round < 20; round += 1) {
    for (const name of ['a', 'b', 'c']) results.push(lane.run(1, undefined, work(name)));
    for (let count = 0; count < 3; count += 1) {
      await jest.advanceTimersByTimeAsync((PATIENCE_MS - 4) / 2);
      await finishOne();
    }
    expect(lane.isStanding).toBe(false);
  }
  expect(20 * PATIENCE_MS).toBeGreaterThan(STANDING_MS);
  await Promise.all(results);
});

test('whoever leaves while it waits is not served, and no longer in the way', async () => {
  const { begun, work, finishOne } = aWorkshop();
  const lane = new Lane({ running: 2, waiting: 10 });
  const [kept, gone] = [new Deadline(), new Deadline()];
  const first = lane.run(1, kept, work('first'));
  const left = watch([lane.run(2, gone, work('gone'))]);
  const next = lane.run(1, kept, work('next'));
  expect(begun).toEqual(['first']);
  gone.end();
  expect(begun).toEqual(['first', 'next']);
  expect(await left).toMatchObject([{ status: 'rejected', reason: { reason: 'TIMEOUT' } }]);
  await finishOne();
  await finishOne();
  expect(await Promise.all([first, next])).toEqual(['first', 'next']);
  await expect(lane.run(1, gone, work('never'))).rejects.toMatchObject({ reason: 'TIMEOUT' });
  expect(begun).toEqual(['first', 'next']);
});

test('what fails leaves its place', async () => {
  const lane = new Lane({ running: 1, waiting: 10 });
  await expect(lane.run(1, undefined, () => Promise.reject(new Error('fault')))).rejects.toThrow('fault');
  expect(lane.isBusy).toBe(false);
  expect(await lane.run(1, undefined, async () => 'fine')).toBe('fine');
});
