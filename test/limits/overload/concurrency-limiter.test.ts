/**
 * @engines none
 * @tier fast
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Deadline } from '../../../src/base/deadline.ts';
import { performance, sleep } from '../../../src/base/runtime.ts';
import { ConcurrencyLimiter, type LimitedWork } from '../../../src/limits/overload/concurrency-limiter.ts';
import { VirtualWorld } from '../../harness/virtual-world.ts';

let world: VirtualWorld;
beforeEach(() => {
  world = new VirtualWorld();
});
afterEach(() => world.end());

const forever = new Deadline();
const by = (caller: string, more: Partial<LimitedWork> = {}): LimitedWork => ({
  caller,
  cost: 1,
  deadline: forever,
  ...more,
});
/** Work that takes all there is. */
const all = by('all', { cost: Number.MAX_SAFE_INTEGER });

/** Work that ends when it is told to. */
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
      await world.pass(0);
    },
  };
};

describe('concurrency limiter', () => {
  describe('work', () => {
    test('begins at once while there is room, and waits then, callers in turn', async () => {
      const { begun, work, finishOne } = aWorkshop();
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 1000 });
      const results = [limiter.run(all, work('first'))];
      for (const name of ['a1', 'a2', 'b1']) results.push(limiter.run(by(name.charAt(0)), work(name)));
      expect([begun, limiter.isBusy]).toEqual([['first'], true]);
      await finishOne();
      expect(begun).toEqual(['first', 'a1', 'b1', 'a2']);
      for (let count = 0; count < 3; count += 1) await finishOne();
      expect(await Promise.all(results)).toEqual(['first', 'a1', 'a2', 'b1']);
      expect(limiter.isBusy).toBe(false);
    });

    test('belongs to the call that asked for it, whoever makes room', async () => {
      const { work, finishOne } = aWorkshop();
      const call = new AsyncLocalStorage<string>();
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 1000 });
      const first = call.run('first', () => limiter.run(all, work('first')));
      const second = call.run('second', () => limiter.run(by('a'), async () => call.getStore()));
      await finishOne();
      expect([await first, await second]).toEqual(['first', 'second']);
    });

    test('is not begun at its deadline, unless others wait for it as well', async () => {
      const { begun, work, finishOne } = aWorkshop();
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 1000 });
      const first = limiter.run(all, work('first'));
      const [own, shared, untilBegun] = [new Deadline(), new Deadline(), new Deadline()];
      const gone = limiter.run(by('a', { deadline: own }), work('gone'));
      const kept = limiter.run(by('a', { deadline: shared, untilBegun }), work('kept'));
      own.end();
      shared.end();
      await expect(gone).rejects.toMatchObject({ reason: 'TIMEOUT' });
      await expect(limiter.run(by('a', { deadline: own }), work('late'))).rejects.toMatchObject({ reason: 'TIMEOUT' });
      await finishOne();
      await finishOne();
      expect(await Promise.all([first, kept])).toEqual(['first', 'kept']);
      expect(begun).toEqual(['first', 'kept']);
    });

    test('that others wait for as well leaves the queue when one of them has begun it', async () => {
      const { begun, work, finishOne } = aWorkshop();
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 1000 });
      const untilBegun = new Deadline();
      const first = limiter.run(all, work('first'));
      const begin = async () => {
        untilBegun.end();
        return work('shared')();
      };
      const [one, ...others] = ['a', 'b', 'c'].map((name) => limiter.run(by(name, { untilBegun }), begin));
      const refused = Promise.allSettled(others);
      await finishOne();
      expect((await refused).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      await expect(limiter.run(by('d', { untilBegun }), begin)).rejects.toMatchObject({ reason: 'TIMEOUT' });
      expect([begun, limiter.isBusy]).toEqual([['first', 'shared'], false]);
      await finishOne();
      expect(await Promise.all([first, one])).toEqual(['first', 'shared']);
    });

    test('that fails leaves its place', async () => {
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 0 });
      await expect(limiter.run(all, () => Promise.reject(new Error('fault')))).rejects.toThrow('fault');
      expect(await limiter.run(by('a'), async () => 'fine')).toBe('fine');
    });
  });

  describe('a refusal', () => {
    test('comes at once to work that would wait too long, with the time until it may return', async () => {
      const { work, finishOne } = aWorkshop();
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 1000 });
      const first = limiter.run(all, work('first'));
      // Nothing is known of the throughput yet: a piece each millisecond.
      const waiting = Array.from({ length: 1000 }, (_, n) => limiter.run(by('greedy'), async () => n));
      const refused = await limiter.run(by('greedy'), work('refused')).catch((error: unknown) => error);
      expect(refused).toMatchObject({ reason: 'OVERLOADED' });
      expect((refused as { details: { retryAfter: number } }).details.retryAfter).toBeGreaterThanOrEqual(2);
      expect((refused as { details: { retryAfter: number } }).details.retryAfter).toBeLessThanOrEqual(4);
      const lone = limiter.run(by('lone'), async () => 'lone');
      await finishOne();
      expect(await Promise.all([first, lone, ...waiting])).toHaveLength(1002);
    });

    test('comes sooner where the deadline is near', async () => {
      const { work, finishOne } = aWorkshop();
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 1000 });
      const first = limiter.run(all, work('first'));
      const waiting = Array.from({ length: 100 }, (_, n) => limiter.run(by('a'), async () => n));
      const soon = new Deadline(300);
      await expect(limiter.run(by('a', { deadline: soon }), work('refused'))).rejects.toMatchObject({
        reason: 'OVERLOADED',
      });
      const later = limiter.run(by('a', { deadline: new Deadline(3000) }), async () => 'later');
      await finishOne();
      await Promise.all([first, later, ...waiting]);
      soon.close();
    });

    test('comes when nothing has ended for as long as work may wait', async () => {
      const { work, finishOne } = aWorkshop();
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 50 });
      const first = limiter.run(all, work('first'));
      const waits = limiter.run(by('a'), async () => 'in time');
      await world.pass(200);
      await expect(limiter.run(by('b'), work('refused'))).rejects.toMatchObject({ reason: 'OVERLOADED' });
      await finishOne();
      expect(await Promise.all([first, waits])).toEqual(['first', 'in time']);
    });

    test('does not come because this process stood still', async () => {
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 300 });
      const first = limiter.run(all, () => sleep(10));
      world.leap(600);
      const waits = limiter.run(by('a'), async () => 'afterwards');
      expect(await world.settled(Promise.all([first, waits]))).toEqual([undefined, 'afterwards']);
      // Nor is the long time that the first work took mistaken for the throughput.
      const crowd = Array.from({ length: 100 }, (_, n) => limiter.run(by(`caller ${n}`), () => sleep(10)));
      await world.settled(Promise.all(crowd));
    });

    test('does not come because nothing ran before a pause', async () => {
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 50 });
      await world.settled(limiter.run(by('a'), () => sleep(300)));
      limiter.isPaused = true;
      // By that latency, it would have to wait for seconds.
      const waits = limiter.run(by('a', { cost: 11 }), async () => 'after the pause');
      expect(limiter.isBusy).toBe(true);
      limiter.isPaused = false;
      expect(await waits).toBe('after the pause');
    });

    test('comes sooner where the request has waited before', async () => {
      const { work, finishOne } = aWorkshop();
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 1000 });
      const first = limiter.run(all, work('first'));
      // Nothing is known of the throughput yet: a piece each millisecond.
      const waiting = Array.from({ length: 500 }, (_, n) => limiter.run(by('a'), async () => n));
      await expect(limiter.run(by('a', { waitedMs: 900 }), work('refused'))).rejects.toMatchObject({
        reason: 'OVERLOADED',
      });
      const sooner = limiter.run(by('a', { waitedMs: 600 }), async () => 'sooner');
      await finishOne();
      expect(await Promise.all([first, sooner, ...waiting])).toHaveLength(502);
    });

    test('counts what others have begun as served', async () => {
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 2000 });
      let refused = 0;
      const isKnownAt = performance.now() + 700;
      const until = isKnownAt + 1000;
      // A run takes 4 ms, one after the other, and serves 30 callers: 1200 callers wait for 160 ms, and not for 4.8 s.
      let runs: Promise<unknown> = Promise.resolve();
      const run = (): Promise<unknown> => (runs = runs.then(() => sleep(4)));
      const asked = new Map<
        number,
        { untilBegun: Deadline; done: Promise<unknown>; settle: (done: unknown) => void }
      >();
      const groupOf = (kind: number) => {
        const known = asked.get(kind);
        if (known) return known;
        let settle!: (done: unknown) => void;
        const done = new Promise<unknown>((resolve) => (settle = resolve));
        const group = { untilBegun: new Deadline(), done, settle };
        asked.set(kind, group);
        return group;
      };
      const caller = async (index: number): Promise<void> => {
        while (performance.now() < until) {
          const group = groupOf(index % 40);
          const begin = async () => {
            asked.delete(index % 40);
            group.untilBegun.end();
            group.settle(await run());
          };
          const { untilBegun, done } = group;
          await limiter
            .run(by(`caller ${index}`, { untilBegun }), begin)
            .catch(async ({ reason }: { reason: string }) => {
              if (reason === 'OVERLOADED') {
                if (performance.now() > isKnownAt) refused += 1;
                await sleep(5);
              } else await done;
            });
        }
      };
      const callers = Promise.all(Array.from({ length: 1200 }, (_, index) => caller(index)));
      await world.pass(3000);
      await callers;
      expect(refused).toBe(0);
    });

    // In both cases, fewer pieces end than arrive, one each 10/3 ms.
    test.each([
      ['of a database that does one thing at a time', { isSerial: true, isPausing: false, served: 600 }],
      ['with pauses for half of the time', { isSerial: false, isPausing: true, served: 1200 }],
    ])('comes by the measured throughput %s', async (_, { isSerial, isPausing, served }) => {
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 1000 });
      let last: Promise<unknown> = Promise.resolve();
      const waits: number[] = [];
      const works: Promise<unknown>[] = [];
      for (let n = 0; n < 1500; n += 1) {
        if (isPausing && n % 15 === 0) limiter.isPaused = n % 30 === 0;
        const since = performance.now();
        const work = () => {
          waits.push(performance.now() - since);
          return (last = (isSerial ? last : Promise.resolve()).then(() => sleep(10)));
        };
        works.push(limiter.run(by(`caller ${n}`), work).catch(() => undefined));
        await world.pass(10 / 3);
      }
      limiter.isPaused = false;
      await world.settled(Promise.all(works));
      // The whole throughput is used, and admitted work did not wait for much longer than it may.
      expect(waits.length / served).toBeCloseTo(1, 1);
      expect(waits.filter((ms) => ms > 1300)).toEqual([]);
    });

    test('does not come to calls that a group commit ends 64 at once', async () => {
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 1000, capacity: 64 });
      // Commits take 150 ms each, so that 256 callers wait for 450 ms.
      let commit = sleep(150);
      const caller = async (name: string): Promise<void> => {
        for (let round = 0; round < 10; round += 1) await limiter.run(by(name), () => commit);
      };
      const callers = Promise.all(Array.from({ length: 256 }, (_, n) => caller(`caller ${n}`)));
      const commits = (async () => {
        for (let n = 0; n < 45; n += 1) {
          await commit;
          commit = sleep(150);
        }
      })();
      await world.settled(Promise.all([callers, commits]));
    });

    test('does not come to a crowd after an idle time, whatever was slow before', async () => {
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 1000 });
      for (let n = 0; n < 10; n += 1) await world.settled(limiter.run(by('slow'), () => sleep(2000)));
      const crowd = () => Array.from({ length: 100 }, (_, n) => limiter.run(by(`caller ${n}`), () => sleep(5)));
      const outcomes = await world.settled(Promise.allSettled(crowd()));
      expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
      await world.pass(11_000);
      await world.settled(Promise.all(crowd()));
    });

    test('does not part what was admitted together', async () => {
      const { work, finishOne } = aWorkshop();
      const limiter = new ConcurrencyLimiter({ maxQueueMs: 50 });
      const admittedBy = new Set<ConcurrencyLimiter>();
      const first = limiter.run({ ...all, admittedBy }, work('first'));
      await world.pass(200);
      const second = limiter.run(by('batch', { admittedBy }), async () => 'second');
      await expect(limiter.run(by('other'), work('refused'))).rejects.toMatchObject({ reason: 'OVERLOADED' });
      await finishOne();
      expect(await Promise.all([first, second])).toEqual(['first', 'second']);
    });

    test('never comes where no work waits', async () => {
      const limiter = new ConcurrencyLimiter({ maxQueueMs: undefined });
      const works = Array.from({ length: 5000 }, (_, n) => limiter.run(by('a'), () => sleep(1, n)));
      expect(limiter.isBusy).toBe(false);
      expect(await world.settled(Promise.all(works))).toHaveLength(5000);
    });
  });

  test('callers that ask again as soon as they are answered are all served, by the throughput that is measured', async () => {
    const limiter = new ConcurrencyLimiter({ maxQueueMs: 10_000 });
    let refused = 0;
    let served = 0;
    const caller = async (name: string): Promise<void> => {
      for (let round = 0; round < 8; round += 1) {
        await limiter
          .run(by(name), () => sleep(5))
          .then(
            () => (served += 1),
            async () => ((refused += 1), sleep(10)),
          );
      }
    };
    await world.settled(Promise.all(Array.from({ length: 256 }, (_, n) => caller(`caller ${n % 16}`))));
    expect(refused).toBe(0);
    expect(served).toBe(8 * 256);
  });
});
