import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { defaultPatience } from '../../src/admission/lane.ts';
import { Sojourn } from '../../src/admission/sojourn.ts';

const LONG = defaultPatience.shortMs + 1;

let queue: Sojourn;
beforeEach(() => {
  jest.useFakeTimers();
  queue = new Sojourn();
});
afterEach(() => {
  jest.useRealTimers();
});

/** Whether the queue stands for each of those that come out, one every ten milliseconds, after they waited for so long. */
const standsFor = (waits: readonly number[]): boolean[] =>
  waits.map((waitedMs) => {
    jest.advanceTimersByTime(10);
    return queue.note(waitedMs, defaultPatience);
  });

test('a burst is no queue that stands', () => {
  expect(standsFor(Array.from({ length: 10 }, () => LONG))).not.toContain(true);
});

test('a queue stands when all have waited for long for a while, until one has not', () => {
  const stands = standsFor(Array.from({ length: 20 }, () => LONG));
  expect(stands.indexOf(true)).toBe(defaultPatience.standingMs / 10 + 1);
  expect(stands.lastIndexOf(false)).toBe(defaultPatience.standingMs / 10);
  expect(standsFor([0, LONG, LONG])).toEqual([false, false, false]);
});

test('after a pause whoever waits does so in a burst', () => {
  standsFor(Array.from({ length: 20 }, () => LONG));
  jest.advanceTimersByTime(1000);
  expect(standsFor([LONG])).toEqual([false]);
});
