import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Deadline } from '../../src/deadline.ts';
import { SharedReads } from '../../src/call/shared-reads.ts';

const forever = new Deadline();

/** Reads of a value that changes: each sees what it is when it begins, and ends when it is told to. */
const aStore = () => {
  let value = 0;
  const running: (() => void)[] = [];
  return {
    write: () => (value += 1),
    read: async () => {
      const seen = value;
      await new Promise<void>((resolve) => running.push(resolve));
      return seen;
    },
    finishOne: async () => {
      running.shift()?.();
      await turn();
    },
    running,
  };
};

test('equal reads that wait are answered by one run, which begins after the last of them came', async () => {
  const store = aStore();
  const shared = new SharedReads<number>();
  const first = shared.answer('list', forever, store.read);
  store.write();
  const second = shared.answer('list', forever, store.read);
  store.write();
  const third = shared.answer('list', forever, store.read);
  expect(store.running).toHaveLength(1);

  await store.finishOne();
  store.write();
  const fourth = shared.answer('list', forever, store.read);
  await store.finishOne();
  await store.finishOne();
  expect(await Promise.all([first, second, third, fourth])).toEqual([0, 2, 2, 3]);
});

test('four different reads run at once, the others in the order in which they came', async () => {
  const store = aStore();
  const shared = new SharedReads<number>();
  const answered: string[] = [];
  const names = Array.from({ length: 12 }, (_, index) => `list ${index}`);
  const all = names.map((name) => shared.answer(name, forever, store.read).then(() => answered.push(name)));
  expect(store.running).toHaveLength(4);
  await store.finishOne();
  expect(store.running).toHaveLength(4);
  for (const _ of names) await store.finishOne();
  await Promise.all(all);
  expect(answered).toEqual(names);
});

test('a read that fails fails for all who waited for it, and for nobody else', async () => {
  const shared = new SharedReads<number>();
  const first = shared.answer('list', forever, async () => turn(1));
  const failing = ['second', 'third'].map(() => shared.answer('list', forever, () => Promise.reject(new Error('no'))));
  expect(await first).toBe(1);
  expect(await Promise.allSettled(failing)).toMatchObject([{ reason: new Error('no') }, { reason: new Error('no') }]);
  expect(await shared.answer('list', forever, async () => 2)).toBe(2);
});
