/**
 * @engines none
 * @tier fast
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createLog } from '../../src/app/log.ts';
import { Sweeper } from '../../src/app/sweeper.ts';
import { currentTime } from '../../src/base/runtime.ts';
import { VirtualWorld } from '../harness/virtual-world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const KEPT_MS = 24 * HOUR_MS;
const AT_ONCE = 64;

let world: VirtualWorld;
let log: string;
let sweeper: Sweeper;
/** When each row was made. */
let rows: number[];
/** Removes some rows that are older than a day. */
let sweep: () => boolean;

beforeEach(() => {
  world = new VirtualWorld();
  log = '';
  rows = [];
  sweep = () => {
    const expired = rows.filter((madeAt) => madeAt < currentTime() - KEPT_MS);
    rows = rows.filter((row) => !expired.slice(0, AT_ONCE).includes(row));
    return expired.length > AT_ONCE;
  };
  sweeper = new Sweeper(
    [{ name: 'rows', sweep: async () => sweep() }],
    createLog('warn', { write: (line: string) => void (log += line) }),
  );
});
afterEach(async () => {
  await sweeper.close();
  world.end();
});
const insert = (n: number): void => {
  for (let index = 0; index < n; index += 1) rows.push(world.now + index / n);
};

describe('expired rows', () => {
  test('go away by themselves, again and again: none before a day, and all ten minutes later', async () => {
    sweeper.start();
    for (const n of [2 * AT_ONCE + 1, 1]) {
      insert(n);
      await world.pass(KEPT_MS);
      expect(rows).toHaveLength(n);
      await world.pass(10 * MINUTE_MS);
      expect(rows).toEqual([]);
    }
    expect(log).toBe('');
  });

  test('wait while they cannot be removed, of which the log hears', async () => {
    const removes = sweep;
    sweep = () => {
      throw new Error('no such table');
    };
    insert(1);
    sweeper.start();
    await world.pass(KEPT_MS + 10 * MINUTE_MS);
    expect(log).toMatch(/expired rows could not be removed yet/);
    sweep = removes;
    await world.pass(10 * MINUTE_MS);
    expect(rows).toEqual([]);
  });

  test('are left alone as soon as the sweeper is closed', async () => {
    insert(3 * AT_ONCE);
    world.leap(KEPT_MS + 1);
    const removes = sweep;
    let closed: Promise<void> | undefined;
    sweep = () => {
      closed ??= sweeper.close();
      return removes();
    };
    sweeper.start();
    await world.pass(10 * MINUTE_MS);
    await closed;
    expect(rows).toHaveLength(2 * AT_ONCE);
    // And one that has yet to begin ends at once.
    const idle = new Sweeper([], createLog('silent', { write: () => undefined }));
    idle.start();
    await idle.close();
  });
});
