/**
 * @engines none
 * @tier fast
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Deadline } from '../../../src/base/deadline.ts';
import { sleep } from '../../../src/base/runtime.ts';
import { AppError } from '../../../src/base/errors.ts';
import { GroupCommit } from '../../../src/db/batching/group-commit.ts';
import { VirtualWorld } from '../../harness/virtual-world.ts';

const forever = new Deadline();

/** Groups of numbers, which are doubled; negative ones fail those they are done with. Notes what was done together. */
const doubling = (fail = (): unknown => new Error('negative')) => {
  const done: number[][] = [];
  const groups = new GroupCommit<number, number>(async (calls) => {
    done.push([...calls]);
    await sleep(1);
    if (calls.some((n) => n < 0)) throw fail();
    return calls.map((n) => 2 * n);
  });
  return { done, groups };
};

let world: VirtualWorld;
beforeEach(() => {
  world = new VirtualWorld();
});
afterEach(() => world.end());

describe('group commit', () => {
  test('a call alone is done at once', async () => {
    const { done, groups } = doubling();
    const result = groups.do('a', 1, forever);
    expect(done).toEqual([[1]]);
    expect(await world.settled(result)).toBe(2);
    expect(await world.settled(groups.do('a', 2, forever))).toBe(4);
    expect(done).toEqual([[1], [2]]);
  });

  test('calls that come while one is done are done together, in order, 64 at most', async () => {
    const { done, groups } = doubling();
    const numbers = Array.from({ length: 100 }, (_, n) => n);
    expect(await world.settled(Promise.all(numbers.map((n) => groups.do('a', n, forever))))).toEqual(
      numbers.map((n) => 2 * n),
    );
    expect(done).toEqual([[0], numbers.slice(1, 65), numbers.slice(65)]);
  });

  test('calls that concern different things do not wait for each other', async () => {
    const { done, groups } = doubling();
    await world.settled(
      Promise.all([
        groups.do('a', 1, forever),
        groups.do('b', 2, forever),
        groups.do('a', 3, forever),
        groups.do('b', 4, forever),
      ]),
    );
    expect(done).toEqual([[1], [2], [3], [4]]);
  });

  test('a call that fails does not fail the others of its group', async () => {
    const { done, groups } = doubling();
    const outcomes = await world.settled(Promise.allSettled([1, 2, -3, 4].map((n) => groups.do('a', n, forever))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(done).toEqual([[1], [2, -3, 4], [2, -3], [2], [-3], [4]]);
  });

  test('what the service refuses by itself, as when it is overloaded, is not tried for each', async () => {
    const { done, groups } = doubling(() => new AppError('OVERLOADED'));
    const outcomes = await world.settled(Promise.allSettled([1, 2, -3, 4].map((n) => groups.do('a', n, forever))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
    expect(done).toEqual([[1], [2, -3, 4]]);
    // And the next one is done as ever.
    expect(await world.settled(groups.do('a', 5, forever))).toBe(10);
  });

  test('a limited number of calls waits, and as many again later', async () => {
    const { groups } = doubling();
    const room = 1 + 10_000;
    for (const _ of [1, 2]) {
      const outcomes = await world.settled(
        Promise.allSettled(Array.from({ length: room + 3 }, () => groups.do('a', 1, forever))),
      );
      const refused = outcomes.filter(({ status }) => status === 'rejected');
      expect(refused).toHaveLength(3);
      expect(refused[0]).toMatchObject({ reason: { reason: 'OVERLOADED' } });
    }
  });

  test('a call alone whose deadline passes while it runs gets its result', async () => {
    const deadline = new Deadline(5);
    const groups = new GroupCommit<number, number>(async ([n = 0]) => {
      await sleep(20);
      return [2 * n];
    });
    expect(await world.settled(groups.do('a', 1, deadline))).toBe(2);
    expect(deadline.error).toMatchObject({ reason: 'TIMEOUT' });
  });

  test('a call whose deadline passes while it waits is not done; while its group runs, its outcome is unknown', async () => {
    const done: number[][] = [];
    const groups = new GroupCommit<number, number>(async (calls) => {
      done.push([...calls]);
      await sleep(30);
      return calls;
    });
    const outcomes = await world.settled(
      Promise.allSettled([
        groups.do('a', 1, forever),
        groups.do('a', 2, new Deadline(5)),
        groups.do('a', 3, forever),
        groups.do('a', 4, new Deadline(45)),
      ]),
    );
    expect(outcomes).toMatchObject([
      { value: 1 },
      { reason: { reason: 'TIMEOUT' } },
      { value: 3 },
      { reason: { reason: 'OUTCOME_UNKNOWN' } },
    ]);
    expect(done).toEqual([[1], [3, 4]]);
  });

  test('a group that takes long is overtaken where that is allowed, and each belongs to its own call', async () => {
    const call = new AsyncLocalStorage<string>();
    const done: [calls: readonly number[], of: string | undefined][] = [];
    const endings: (() => void)[] = [];
    const groups = new GroupCommit<number, number>(
      async (calls) => {
        done.push([calls, call.getStore()]);
        if (calls.includes(0)) await new Promise<void>((resolve) => endings.push(resolve));
        return calls;
      },
      { overtakeMs: 10 },
    );
    const results = [0, 1, 2].map((n) => call.run(`call ${n}`, () => groups.do('a', n, forever)));
    expect(await world.settled(Promise.all(results.slice(1)))).toEqual([1, 2]);
    expect(done).toEqual([
      [[0], 'call 0'],
      [[1, 2], 'call 1'],
    ]);
    for (const end of endings) end();
    expect(await results[0]).toBe(0);
  });

  test('each part of a group that failed belongs to a call of its own', async () => {
    const context = new AsyncLocalStorage<number>();
    const done: unknown[] = [];
    const groups = new GroupCommit<number, number>(async (calls) => {
      await sleep(1);
      done.push([context.getStore(), ...calls]);
      if (calls.includes(-3)) throw new Error('negative');
      return calls;
    });
    await world.settled(Promise.allSettled([1, 2, -3, 4].map((n) => context.run(n, () => groups.do('a', n, forever)))));
    expect(done).toEqual([
      [1, 1],
      [2, 2, -3, 4],
      [2, 2, -3],
      [2, 2],
      [-3, -3],
      [4, 4],
    ]);
  });

  test('a group that commits is overtaken where that is allowed', async () => {
    const happened: string[] = [];
    const groups = new GroupCommit<number, number>(
      async (calls, _, onCommit) => {
        happened.push(`${calls.join()} begin`);
        await sleep(1);
        onCommit();
        await sleep(20);
        happened.push(`${calls.join()} are stored`);
        return calls;
      },
      { overtakeMs: 10_000, isPipelined: true },
    );
    expect(await world.settled(Promise.all([1, 2, 3].map((n) => groups.do('a', n, forever))))).toEqual([1, 2, 3]);
    expect(happened).toEqual(['1 begin', '2,3 begin', '1 are stored', '2,3 are stored']);
  });

  test('a group that takes too long is given up, and each of its calls done by itself', async () => {
    const done: number[][] = [];
    const groups = new GroupCommit<number, number>(
      async (calls, deadline) => {
        done.push([...calls]);
        if (calls.includes(1)) await new Promise((_, reject) => deadline!.onEnd(reject));
        else await sleep(5);
        return calls;
      },
      { overtakeMs: 10, splitMs: 30 },
    );
    const own = new Deadline(200);
    const results = [groups.do('a', 0, forever), groups.do('a', 1, own), groups.do('a', 2, new Deadline(10_000))];
    expect(await world.settled(Promise.all([results[0], results[2]]))).toEqual([0, 2]);
    await expect(world.settled(results[1]!)).rejects.toMatchObject({ reason: 'TIMEOUT' });
    expect(done).toEqual([[0], [1, 2], [1], [2]]);
  });

  test('a group that commits, or takes as long as calls usually do, is not given up', async () => {
    const done: number[][] = [];
    let ms = { work: 5, commit: 60 };
    const groups = new GroupCommit<number, number>(
      async (calls, deadline, onCommit) => {
        done.push([...calls]);
        await deadline!.race(sleep(ms.work));
        onCommit();
        await deadline!.race(sleep(ms.commit));
        return calls;
      },
      { splitMs: 40 },
    );
    const all = async (): Promise<number> => {
      done.length = 0;
      await world.settled(Promise.all([1, 2, 3].map((n) => groups.do('a', n, forever))));
      return done.length;
    };
    expect(await all()).toBe(2);
    ms = { work: 60, commit: 0 };
    for (let round = 0; round < 5; round += 1) expect(await all()).toBe(2);
  });

  test('large calls are not all done together', async () => {
    const done: number[] = [];
    const groups = new GroupCommit<number, number>(
      async (calls) => {
        done.push(calls.length);
        await sleep(1);
        return calls;
      },
      { sizeOf: () => 400 * 1024 },
    );
    await world.settled(Promise.all(Array.from({ length: 7 }, (_, n) => groups.do('a', n, forever))));
    expect(done).toEqual([1, 2, 2, 2]);
  });
});
