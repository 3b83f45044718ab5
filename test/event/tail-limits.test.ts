/**
 * @engines none
 * @tier fast
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MAX_TAILS, type Reason, SITE_FACTOR, USER_FACTOR } from '../../contract/index.ts';
import { AppError } from '../../src/base/errors.ts';
import { clientSubnet } from '../../src/limits/caller.ts';
import { OpenTails, TailPlaces } from '../../src/rpc/trpc/open-tails.ts';
import { VirtualWorld } from '../harness/virtual-world.ts';

describe('the places of tails', () => {
  let places: TailPlaces;
  beforeEach(() => {
    places = new TailPlaces();
  });
  const from = (address: string) => places.reserve({ name: clientSubnet(address), userId: undefined });
  const by = (key: string, userId = `user of ${key}`) => places.reserve({ name: key, userId });

  /** Takes as many places as it gets. */
  const takeAll = (take: (n: number) => () => void): { count: number; reason: Reason } => {
    for (let count = 0; ; count += 1) {
      try {
        take(count);
      } catch (error) {
        return { count, reason: (error as AppError).reason };
      }
    }
  };

  test('are there for keys, from however many addresses tails without one come', () => {
    expect(takeAll((n) => from(`192.0.2.${n % 50}`))).toEqual({ count: 8000, reason: 'OVERLOADED' });
    expect(() => from('198.51.100.1')).toThrow('OVERLOADED');
    expect(takeAll((n) => by(`key ${n % 20}`))).toEqual({ count: 2000, reason: 'OVERLOADED' });
  });

  test('are there for keys where callers have no limits, too', () => {
    const anyone = (userId: string | undefined) => () => places.reserve({ name: undefined, userId });
    expect(takeAll(anyone(undefined)).count).toBe(8000);
    expect(takeAll(anyone('a user')).count).toBe(2000);
  });

  test('may all be taken by keys, and are free again when they are given back', () => {
    const taken = Array.from({ length: 10_000 }, (_, n) => by(`key ${n % 50}`));
    expect(() => by('key 50')).toThrow('OVERLOADED');
    expect(() => from('192.0.2.1')).toThrow('OVERLOADED');
    for (const giveBack of taken) giveBack();
    expect(takeAll((n) => from(`192.0.2.${n % 50}`)).count).toBe(8000);
  });

  test('of a key or an address are as many as is said', () => {
    const taken = Array.from({ length: MAX_TAILS }, () => by('a key'));
    expect(takeAll(() => by('a key'))).toEqual({ count: 0, reason: 'RATE_LIMITED' });
    expect(takeAll(() => from('192.0.2.1'))).toEqual({ count: MAX_TAILS, reason: 'RATE_LIMITED' });
    taken[0]!();
    expect(takeAll(() => by('a key')).count).toBe(1);
  });

  test('of all keys of a user together are four times those of one, and others have theirs', () => {
    expect(takeAll((n) => by(`key ${n % 99}`, 'a user'))).toEqual({
      count: USER_FACTOR * MAX_TAILS,
      reason: 'RATE_LIMITED',
    });
    expect(() => by('another key', 'a user')).toThrow('RATE_LIMITED');
    expect(takeAll(() => by('a key', 'another user')).count).toBe(MAX_TAILS);
  });

  test('of all networks of a /48 together are eight times those of one', () => {
    const inSite = (n: number) => from(`2001:db8:7:${(n % 100).toString(16)}::${n.toString(16)}`);
    expect(takeAll(inSite)).toEqual({ count: SITE_FACTOR * MAX_TAILS, reason: 'RATE_LIMITED' });
    expect(() => from('2001:db8:7:ffff::1')).toThrow('RATE_LIMITED');
    expect(takeAll(() => from('2001:db8:8::1')).count).toBe(MAX_TAILS);
  });
});

const stream = { ping: () => undefined, interrupt: () => undefined };

describe('a watch of keys', () => {
  let world: VirtualWorld;
  beforeEach(() => {
    world = new VirtualWorld();
  });
  afterEach(() => world.end());
  const HALF_A_SECOND = 500;

  test('checks each key once for all that is open with it, and ends that once', async () => {
    const checked: string[] = [];
    const ended: string[] = [];
    let revoked = '';
    const open = new OpenTails((key) => {
      checked.push(key);
      return key === revoked ? Promise.reject(new AppError('KEY_REVOKED')) : Promise.resolve();
    });
    const add = (key: string, name: string) =>
      open.add({ stream, key, fail: ({ reason }) => void ended.push(`${name}: ${reason}`) });
    add('a', 'a1');
    add('a', 'a2');
    const leave = add('a', 'a3');
    const leaveLast = add('b', 'b1');
    await world.pass(HALF_A_SECOND);
    expect([checked.splice(0), ended]).toEqual([['a', 'b'], []]);
    leave();
    revoked = 'a';
    await world.pass(HALF_A_SECOND);
    expect(ended).toEqual(['a1: KEY_REVOKED', 'a2: KEY_REVOKED']);
    checked.splice(0);
    await world.pass(HALF_A_SECOND);
    expect(checked).toEqual(['b']);
    leaveLast();
    expect(world.timers.size).toBe(0);
  });

  test('ends nothing while keys cannot be read, and does not ask again before it has an answer', async () => {
    const ended: Reason[] = [];
    const answers: ((reason: Reason) => void)[] = [];
    const open = new OpenTails(
      () => new Promise((_, reject) => answers.push((reason) => reject(new AppError(reason)))),
    );
    open.add({ stream, key: 'a', fail: ({ reason }) => void ended.push(reason) });
    await world.pass(10 * HALF_A_SECOND);
    expect(answers).toHaveLength(1);
    answers[0]!('DATABASE_UNAVAILABLE');
    await world.pass(HALF_A_SECOND);
    expect([answers.length, ended]).toEqual([2, []]);
    answers[1]!('USER_SUSPENDED');
    await world.pass(HALF_A_SECOND);
    expect(ended).toEqual(['USER_SUSPENDED']);
    expect(world.timers.size).toBe(0);
  });
});
