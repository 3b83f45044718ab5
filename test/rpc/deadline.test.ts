/**
 * @engines none
 * @tier fast
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Deadline } from '../../src/base/deadline.ts';
import { AppError } from '../../src/base/errors.ts';
import { VirtualWorld } from '../harness/virtual-world.ts';

const timeout = expect.objectContaining({ reason: 'TIMEOUT' });
let world: VirtualWorld;

describe('deadline', () => {
  beforeEach(() => {
    world = new VirtualWorld();
  });
  afterEach(() => world.end());

  test('ends after its time, and calls each listener once', async () => {
    const deadline = new Deadline(10);
    const heard: unknown[] = [];
    deadline.onEnd((error) => heard.push(error));
    const forget = deadline.onEnd(() => heard.push('who does not listen any more'));
    forget();
    await world.pass(9);
    deadline.assert();
    await world.pass(1);
    deadline.end(new AppError('INTERNAL'));
    expect(heard).toEqual([timeout]);
    expect(deadline.error).toEqual(timeout);
    expect(() => deadline.assert()).toThrow('TIMEOUT');
    deadline.onEnd((error) => heard.push(error));
    expect(heard).toEqual([timeout, timeout]);
  });

  test('returns the result of work done in time, and abandons other work', async () => {
    const deadline = new Deadline(20);
    expect(await deadline.race(Promise.resolve(1))).toBe(1);
    await expect(deadline.race(Promise.reject(new Error('fault')))).rejects.toThrow('fault');
    const late = expect(deadline.race(new Promise(() => undefined))).rejects.toEqual(timeout);
    await world.pass(20);
    await late;
    await expect(deadline.race(Promise.resolve(1))).rejects.toEqual(timeout);
  });

  test('forgets work that is done', async () => {
    const deadline = new Deadline();
    const onEnd = deadline.onEnd.bind(deadline);
    let listeners = 0;
    deadline.onEnd = (listener) => {
      const forget = onEnd(listener);
      listeners += 1;
      return () => {
        listeners -= 1;
        forget();
      };
    };
    await deadline.race(Promise.resolve(1));
    await expect(deadline.race(Promise.reject(new Error('fault')))).rejects.toThrow('fault');
    expect(listeners).toBe(0);
  });

  test('counts anew when it is restarted, and never ends when it is closed', async () => {
    const [restarted, closed] = [new Deadline(40), new Deadline(20)];
    closed.close();
    await world.pass(39);
    restarted.restart();
    await world.pass(39);
    expect(restarted.error).toBeUndefined();
    await world.pass(1);
    expect([restarted.error, closed.error]).toEqual([timeout, undefined]);
  });

  test('of several ends with the last of them', () => {
    const deadlines = [new Deadline(), new Deadline(), new Deadline()];
    const all = Deadline.ofAll(deadlines)!;
    const [first, second, third] = deadlines;
    second!.end();
    first!.end();
    expect(all.error).toBeUndefined();
    third!.end(new AppError('OVERLOADED'));
    expect(all.error).toMatchObject({ reason: 'OVERLOADED' });
    expect(Deadline.ofAll(deadlines)!.error).toBeDefined();
  });

  test('of several never ends if one of them never does; of one is that one', () => {
    const one = new Deadline();
    expect(Deadline.ofAll([one, undefined])).toBeUndefined();
    expect(Deadline.ofAll([one])).toBe(one);
  });

  test('of several stops listening when it is closed', () => {
    const deadlines = [new Deadline(), new Deadline()];
    const all = Deadline.ofAll(deadlines)!;
    all.close();
    for (const deadline of deadlines) deadline.end();
    expect(all.error).toBeUndefined();
  });
});
