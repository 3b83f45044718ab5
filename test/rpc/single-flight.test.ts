/**
 * @engines none
 * @tier fast
 */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Deadline } from '../../src/base/deadline.ts';
import { SingleFlight } from '../../src/rpc/single-flight.ts';

const forever = { caller: 'a', deadline: new Deadline() };

/** Lets everything run at once. */
const enter = (work: () => Promise<void>): Promise<void> => work();

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

describe('single flight', () => {
  test('equal reads that wait are answered by one run, which begins after the last of them came', async () => {
    const store = aStore();
    const shared = new SingleFlight<number>();
    const first = shared.answer('list', forever, enter, store.read);
    store.write();
    const second = shared.answer('list', forever, enter, store.read);
    store.write();
    const third = shared.answer('list', forever, enter, store.read);
    expect(store.running).toHaveLength(1);

    await store.finishOne();
    store.write();
    const fourth = shared.answer('list', forever, enter, store.read);
    await store.finishOne();
    await store.finishOne();
    expect(await Promise.all([first, second, third, fourth])).toEqual([0, 2, 2, 3]);
  });

  test('a group takes members until there is room for its run', async () => {
    const store = aStore();
    const shared = new SingleFlight<number>();
    let admit!: () => void;
    const room = new Promise<void>((resolve) => (admit = resolve));
    const waitForRoom = (work: () => Promise<void>): Promise<void> => room.then(work);
    const first = shared.answer('list', forever, waitForRoom, store.read);
    store.write();
    const second = shared.answer('list', forever, waitForRoom, store.read);
    admit();
    await turn();
    store.write();
    const third = shared.answer('list', forever, enter, store.read);
    await store.finishOne();
    await store.finishOne();
    expect(await Promise.all([first, second, third])).toEqual([1, 1, 2]);
  });

  test('who is refused is refused with all that joined, and the next ask anew', async () => {
    const shared = new SingleFlight<number>();
    let refuse!: (error: Error) => void;
    const refusal = new Promise<never>((_, reject) => (refuse = reject));
    const refused = [1, 2].map(() =>
      shared.answer(
        'list',
        forever,
        () => refusal,
        async () => 1,
      ),
    );
    refuse(new Error('no room'));
    const results = await Promise.allSettled(refused);
    expect(results).toMatchObject([{ reason: new Error('no room') }, { reason: new Error('no room') }]);
    expect(await shared.answer('list', forever, enter, async () => 2)).toBe(2);
  });

  test('what nobody waits for any more is not read', async () => {
    const shared = new SingleFlight<number>();
    let admit!: () => void;
    const room = new Promise<void>((resolve) => (admit = resolve));
    const deadlines = [new Deadline(), new Deadline()];
    let runs = 0;
    const answers = deadlines.map((deadline) =>
      shared.answer(
        'list',
        { caller: 'a', deadline },
        (work) => room.then(work),
        async () => (runs += 1),
      ),
    );
    for (const deadline of deadlines) deadline.end();
    admit();
    const results = await Promise.allSettled(answers);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(runs).toBe(0);
  });

  test('a read that fails fails for all who waited for it, and for nobody else', async () => {
    const shared = new SingleFlight<number>();
    const first = shared.answer('list', forever, enter, async () => turn(1));
    const failing = ['second', 'third'].map(() =>
      shared.answer('list', forever, enter, () => Promise.reject(new Error('no'))),
    );
    expect(await first).toBe(1);
    expect(await Promise.allSettled(failing)).toMatchObject([{ reason: new Error('no') }, { reason: new Error('no') }]);
    expect(await shared.answer('list', forever, enter, async () => 2)).toBe(2);
  });

  test('a caller that joins keeps its own place in the queue', async () => {
    const store = aStore();
    const shared = new SingleFlight<number>();
    const places = new Map<string, () => void>();
    const enterAs = (name: string) => (work: () => Promise<void>) =>
      new Promise<void>((resolve) => places.set(name, resolve)).then(work);
    const ask = (caller: string) =>
      shared.answer('list', { caller, deadline: forever.deadline }, enterAs(caller), store.read);
    const answers = [ask('greedy'), ask('lone'), ask('lone')];
    expect([...places.keys()]).toEqual(['greedy', 'lone']);
    places.get('lone')!();
    await turn();
    await store.finishOne();
    expect(await Promise.all(answers)).toEqual([0, 0, 0]);
    places.get('greedy')!();
    await turn();
    expect(store.running).toHaveLength(0);
  });

  test('a group fails only when each of its callers is refused', async () => {
    const shared = new SingleFlight<number>();
    const refuse = () => Promise.reject(new Error('no room'));
    const ask = (caller: string, place: (work: () => Promise<void>) => Promise<void>) =>
      shared.answer('list', { caller, deadline: forever.deadline }, place, async () => 1);
    expect(await Promise.all([ask('a', refuse), ask('b', enter)])).toEqual([1, 1]);
    expect(await Promise.allSettled([ask('a', refuse), ask('b', refuse)])).toMatchObject([
      { status: 'rejected' },
      { status: 'rejected' },
    ]);
  });
});
