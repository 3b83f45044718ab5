/**
 * @engines none
 * @tier fast
 */
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { generateKey } from '../../src/auth/format.ts';
import * as runtime from '../../src/base/runtime.ts';
import { newId } from '../../src/db/values.ts';
import { newSecret } from '../../src/event/webhook/secrets.ts';
import { VirtualWorld } from '../harness/virtual-world.ts';

let world: VirtualWorld | undefined;
afterEach(() => world?.end());

describe('a replaced runtime', () => {
  test('has all timers fire in its time, in their order', async () => {
    world = new VirtualWorld();
    const fired: string[] = [];
    const note = (what: string) => (): void => {
      fired.push(`${what} ${runtime.performance.now()}`);
    };
    const HOUR_MS = 3_600_000;
    runtime.setTimeout(note('timeout'), 2 * HOUR_MS).unref();
    const interval = runtime.setInterval(note('interval'), HOUR_MS);
    runtime.clearTimeout(runtime.setTimeout(note('cleared'), 1));
    runtime.clearImmediate(runtime.setImmediate(note('cleared')));
    runtime.setImmediate(note('immediate'));
    void runtime.nextTurn().then(note('turn'));
    void runtime.sleep(HOUR_MS + 1).then(note('sleep'));
    runtime.timeoutSignal(HOUR_MS + 2).addEventListener('abort', note('signal'));
    const began = runtime.currentDate();
    await world.pass(2.5 * HOUR_MS);
    runtime.clearInterval(interval);
    await world.pass(2 * HOUR_MS);
    expect(fired).toEqual([
      'immediate 0',
      'turn 0',
      `interval ${HOUR_MS}`,
      `sleep ${HOUR_MS + 1}`,
      `signal ${HOUR_MS + 2}`,
      `timeout ${2 * HOUR_MS}`,
      `interval ${2 * HOUR_MS}`,
    ]);
    expect(runtime.currentTime() - began.getTime()).toBe(4.5 * HOUR_MS);
  });

  test('gives the same random numbers and ids for the same seed, but never the same secrets', () => {
    const drawn = (seed: string) => {
      world = new VirtualWorld(seed);
      const { currentDate, randomBytes, randomInt, randomNumber, randomUUID } = runtime;
      const numbers = [
        randomNumber(),
        randomInt(1, 1e9),
        randomBytes(8).toString('hex'),
        randomUUID(),
        newId(currentDate()),
      ];
      const secrets = [generateKey(), newSecret()];
      world.end();
      return { numbers, secrets };
    };
    const [first, again, other] = [drawn('1'), drawn('1'), drawn('2')];
    expect(again.numbers).toEqual(first.numbers);
    const all = [...first.numbers, ...other.numbers, ...first.secrets, ...again.secrets];
    expect(new Set(all).size).toBe(all.length);
  });

  test('gives way to that of Node.js, whose clocks can be mocked', () => {
    new VirtualWorld().end();
    jest.spyOn(Date, 'now').mockReturnValue(7);
    jest.spyOn(performance, 'now').mockReturnValue(8);
    const { currentDate, currentTime, performance: monotonic } = runtime;
    expect([currentTime(), currentDate().getTime(), monotonic.now()]).toEqual([7, 7, 8]);
    jest.restoreAllMocks();
  });
});
