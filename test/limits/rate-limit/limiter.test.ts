/**
 * @engines none
 * @tier fast
 */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { READS_PER_HIGH_COST, SITE_FACTOR, UNKNOWN_KEYS, USER_FACTOR, VIEW_SECONDS } from '../../../contract/index.ts';
import { AppError } from '../../../src/base/errors.ts';
import { RateLimitHeaders } from '../../../src/http/message/reply.ts';
import { MOST_DEBT, type Policy, type RateLimitStatus, LocalBuckets } from '../../../src/limits/rate-limit/buckets.ts';
import type { Redis } from '../../../src/limits/rate-limit/stores/redis.ts';
import { SharedBuckets } from '../../../src/limits/rate-limit/stores/shared.ts';
import { callerOf, clientSubnet, noteUser, siteOf } from '../../../src/limits/caller.ts';
import { classify } from '../../../src/limits/call-class.ts';
import { parseQuotas, QuotaError } from '../../../src/limits/rate-limit/policies.ts';
import { type RateLimitKey, RateLimiter } from '../../../src/limits/rate-limit/limiter.ts';
import { keyOfWord } from '../../../src/auth/format.ts';
import { FirstViews } from '../../../src/limits/rate-limit/limits.ts';

let now = 0;
const clock = (): number => now;
beforeEach(() => {
  now = 1000;
});

const policy = (quota: number, name = 'read'): Policy => ({ name, quota, seconds: 60 });

describe('a bucket', () => {
  const take = (buckets: LocalBuckets, of: Policy, cost = 1) => buckets.consume([{ policy: of, owner: 'a', cost }]);

  test.each([1, 3, 7, 600, 999_999])('takes its quota at once, and no more: %d', (quota) => {
    const buckets = new LocalBuckets(clock);
    const of = policy(quota);
    const step = Math.ceil(quota / 1000);
    let taken = 0;
    for (let left = quota; left > 0; left -= step) {
      const cost = Math.min(step, left);
      expect(take(buckets, of, cost).refusal).toBeUndefined();
      taken += cost;
    }
    expect(taken).toBe(quota);
    expect(buckets.status(of, 'a')).toEqual({ policy: of, left: 0, wholeInMs: expect.closeTo(60_000) });
    expect(take(buckets, of).refusal).toEqual({ policy: of, roomInMs: expect.closeTo(60_000 / quota) });
  });

  test('has room again bit by bit', () => {
    const buckets = new LocalBuckets(clock);
    const of = policy(60);
    take(buckets, of, 60);
    now += 999;
    expect(take(buckets, of).refusal?.roomInMs).toBeCloseTo(1);
    now += 1;
    expect(take(buckets, of).refusal).toBeUndefined();
    now += 30_000;
    expect(buckets.status(of, 'a').left).toBe(30);
    now += 60_000;
    expect(buckets.status(of, 'a')).toEqual({ policy: of, left: 60, wholeInMs: 0 });
  });

  test('never lets more than the quota and what has run out through', () => {
    const buckets = new LocalBuckets(clock);
    const of = policy(60);
    let taken = 0;
    for (; now < 121_000; now += 100) if (!take(buckets, of).refusal) taken += 1;
    expect(taken).toBe(60 + 120 - 1);
  });

  test('is not charged for what it refuses', () => {
    const buckets = new LocalBuckets(clock);
    const of = policy(10);
    take(buckets, of, 10);
    for (let n = 0; n < 1000; n += 1) expect(take(buckets, of).refusal?.roomInMs).toBeCloseTo(6000);
  });

  test('takes all claims or none', () => {
    const buckets = new LocalBuckets(clock);
    const [wide, narrow] = [policy(10), policy(1, 'search')];
    const both = () =>
      buckets.consume([
        { policy: wide, owner: 'a', cost: 1 },
        { policy: narrow, owner: 'a', cost: 1 },
      ]);
    expect(both().statuses.map(({ left }) => left)).toEqual([9, 0]);
    expect(both()).toEqual({
      refusal: { policy: narrow, roomInMs: 60_000 },
      statuses: [expect.objectContaining({ left: 9 }), expect.objectContaining({ left: 0 })],
    });
    expect(buckets.status(wide, 'a').left).toBe(9);
  });

  test('lets a call through that costs more than there is, if nothing else was taken', () => {
    const buckets = new LocalBuckets(clock);
    expect(take(buckets, policy(5), 11).refusal).toBeUndefined();
    expect(take(buckets, policy(5), 11).refusal?.roomInMs).toBeCloseTo(60_000);
  });

  test('remembers what was overdrawn, up to a bound', () => {
    const buckets = new LocalBuckets(clock);
    const of = policy(1000, 'work');
    buckets.add({ policy: of, owner: 'a', cost: 1500 });
    expect(take(buckets, of, 0).refusal?.roomInMs).toBeCloseTo(30_000);
    buckets.add({ policy: of, owner: 'a', cost: 1_000_000 });
    expect(take(buckets, of, 0).refusal?.roomInMs).toBeCloseTo((MOST_DEBT - 1) * 60_000);
    now += MOST_DEBT * 60_000;
    expect(take(buckets, of, 0).refusal).toBeUndefined();
  });

  test('gets back what was taken in error, and no more', () => {
    const buckets = new LocalBuckets(clock);
    take(buckets, policy(10), 3);
    buckets.add({ policy: policy(10), owner: 'a', cost: -100 });
    expect(buckets.status(policy(10), 'a').left).toBe(10);
  });

  test('is forgotten when there are too many, the one asked for longest ago first', () => {
    const buckets = new LocalBuckets(clock, 2);
    for (const owner of ['a', 'b', 'c']) buckets.consume([{ policy: policy(10), owner, cost: 1 }]);
    expect(['a', 'b', 'c'].map((owner) => buckets.status(policy(10), owner).left)).toEqual([10, 9, 9]);
  });
});

test('a charge that Redis leaves unanswered is counted by the instance alone', async () => {
  const redis = { isConnected: true, run: async () => undefined, nameOf: () => 'bucket' } as unknown as Redis;
  const buckets = new SharedBuckets(redis, new LocalBuckets(() => 0));
  const charge = { policy: { name: 'read', quota: 2, seconds: 60 }, owner: 'someone', cost: 1 };
  const outcomes = [await buckets.consume([charge]), await buckets.consume([charge]), await buckets.consume([charge])];
  expect(outcomes.map(({ refusal }) => refusal?.policy.name)).toEqual([undefined, undefined, 'read']);
});

describe('the network of an address', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::192.0.2.1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::192.0.2.1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['1:2:3:4:5:6::', '1:2:3:4::/64'],
    ['192.0.2.1:1024', '192.0.2.1'],
    ['[2001:db8:1:2::1]', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::1]:1024', '2001:db8:1:2::/64'],
    ['[fe80::1%eth0]:1024', 'fe80:0:0:0::/64'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['::FFFF:C000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:1024', '192.0.2.1'],
    ['::ffff:192.0.2.1%eth0', '192.0.2.1'],
    ['::ffff:0:192.0.2.1', '0:0:0:0::/64'],
    ...[
      '',
      'unknown',
      'x',
      'x'.repeat(1000),
      '192.0.2.01',
      '192.0.2.1:',
      '192.0.2.1:1024:1',
      '192.0.2.1.5',
      '1',
      '0x7f.1',
    ].map((text) => [text, 'unknown'] as const),
    ...['[192.0.2.1]', '[2001:db8::1', '2001:db8::1]', '2001:db8:::1', '1:2:3:4:5:6:7:8:1024', '%', '::1%', '[]:1'].map(
      (text) => [text, 'unknown'] as const,
    ),
  ])('%s', (address, network) => {
    expect(clientSubnet(address)).toBe(network);
  });

  test.each([
    ['2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['0:0:0:0::/64', '0:0:0::/48'],
    ['192.0.2.1', undefined],
    ['unknown', undefined],
    ['0198c0de-0000-7000-8000-000000000000', undefined],
  ])('%s is of the site %s', (network, site) => {
    expect(siteOf(network)).toBe(site);
  });
});

test('the keys of a user take turns as one caller, as soon as they worked once', () => {
  const [one, other, strange] = ['one', 'other', 'strange'].map((word) => `Bearer ${keyOfWord(word)}`);
  const before = [one, other, strange].map((authorization) => callerOf(authorization, '192.0.2.1'));
  expect(new Set(before).size).toBe(3);
  expect(keyOfWord('one')).not.toBe(before[0]);
  for (const authorization of [one, other]) noteUser(authorization!, 'their user');
  const after = [one, other, strange].map((authorization) => callerOf(authorization, '192.0.2.1'));
  expect(after).toEqual(['their user', 'their user', before[2]]);
  expect(callerOf(undefined, '2001:db8::1')).toBe('2001:db8:0:0::/64');
});

describe('RATE_LIMIT', () => {
  const defaults = { read: 3000, anonymous: 600, write: 120, search: 120, work: 30_000 };

  test.each([
    ['on', defaults],
    ['off', undefined],
    ['read=1', { ...defaults, read: 1 }],
    [' read = 5 , work=1000000', { ...defaults, read: 5, work: 1_000_000 }],
  ])('%s', (text, quotas) => {
    expect(parseQuotas(text)).toEqual(quotas);
  });

  const FORM =
    'must be on, off, or a comma-separated list such as read=600,write=120 of read, anonymous, write, search, work';
  test.each([
    ['yes', FORM],
    ['OFF', FORM],
    ['reads=1', FORM],
    ['constructor=1', FORM],
    ['read=1,', FORM],
    ['read=-1', FORM],
    ['read=1.5', FORM],
    ['read=1,read=2', 'has read twice'],
    ['read=0', 'has read=0, which must be from 1 to 1000000'],
    ['work=1000001', 'has work=1000001, which must be from 1 to 1000000'],
  ])('%s is refused', (text, fault) => {
    expect(() => parseQuotas(text)).toThrow(new QuotaError(fault));
  });
});

/** What a call is refused with, if it is. */
const refusalOf = (call: () => void | Promise<void>): AppError | undefined => {
  try {
    // Memory answers at once.
    expect(call()).toBeUndefined();
    return undefined;
  } catch (error) {
    return error as AppError;
  }
};

const recordsOf = (n: number): object[] => Array.from({ length: n }, () => ({}));

describe('the rates of a caller', () => {
  const quotas = { read: 6, anonymous: 3, write: 20, search: 2, work: 1000 };
  const list = { effect: 'read', cost: 'usual', searchMember: 'search', recordsMember: undefined } as const;
  const batch = { effect: 'write', cost: 'usual', searchMember: undefined, recordsMember: 'games' } as const;
  let rates: RateLimiter;
  let noted: RateLimitStatus[];
  const accountOf = (id: string | undefined, address = '192.0.2.1', userId = `user of ${id}`) =>
    rates.keyOf(id === undefined ? undefined : { userId, key: { id } }, address, (standing) => noted.push(standing));
  beforeEach(() => {
    rates = new RateLimiter(quotas, new LocalBuckets(clock));
    noted = [];
  });

  const countOf = (call: () => void | Promise<void>): number => {
    for (let n = 0; ; n += 1) if (refusalOf(call)) return n;
  };

  test('are those of the key, or of the network', () => {
    expect(countOf(() => rates.chargeCall(accountOf('key 1'), 'read'))).toBe(6);
    expect(countOf(() => rates.chargeCall(accountOf('key 2'), 'read'))).toBe(6);
    expect(countOf(() => rates.chargeCall(accountOf('key 1'), 'write'))).toBe(20);
    expect(countOf(() => rates.chargeCall(accountOf(undefined, '2001:db8::1'), 'read'))).toBe(3);
    expect(countOf(() => rates.chargeCall(accountOf(undefined, '2001:db8::2'), 'read'))).toBe(0);
    expect(countOf(() => rates.chargeCall(accountOf(undefined), 'read'))).toBe(3);
  });

  test('of all networks of a /48 together are eight times those of one', () => {
    const networks = Array.from({ length: 100 }, (_, n) => `2001:db8:1:${n.toString(16)}::1`);
    const enter = (address: string) => refusalOf(() => rates.chargeCall(accountOf(undefined, address), 'read'));
    const passed = networks.flatMap((address) => Array.from({ length: 3 }, () => enter(address))).filter((one) => !one);
    expect(passed).toHaveLength(SITE_FACTOR * quotas.anonymous);
    expect(enter(networks.at(-1)!)?.details).toMatchObject({
      retryAfter: 3,
      hint: expect.stringContaining('`anonymous-48` is 24 in 60 seconds'),
    });
    expect(noted.at(-2)).toMatchObject({ policy: { name: 'anonymous-48' }, left: 0 });
    expect(enter('2001:db8:2::1')).toBeUndefined();
    expect(enter('192.0.2.1')).toBeUndefined();
    rates.chargeWork(accountOf(undefined, '2001:db8:2::1'), 9000);
    expect(enter('2001:db8:2:1::1')?.details.hint).toContain('`work-48`');
  });

  test.each([
    ['read', quotas.read, (rate: RateLimiter, of: RateLimitKey) => rate.chargeCall(of, 'read')],
    ['write', quotas.write, (rate: RateLimiter, of: RateLimitKey) => rate.chargeCall(of, 'write')],
    [
      'search',
      quotas.search,
      (rate: RateLimiter, of: RateLimitKey) => rate.chargeInput(of, { callClass: 'search', cost: 1, charge: 1 }),
    ],
  ] as const)('of all keys of a user together are four times those of one: %s', (name, quota, charge) => {
    const enter = (n: number, user = 'a user') => refusalOf(() => charge(rates, accountOf(`${user} ${n}`, '', user)));
    const passed = Array.from({ length: 99 * quota }, (_, n) => enter(n % 99)).filter((one) => !one);
    expect(passed).toHaveLength(USER_FACTOR * quota);
    expect(enter(100)?.details.hint).toContain(
      `The limit \`${name}-user\` is ${USER_FACTOR * quota} in 60 seconds for all keys of a user together. There is room`,
    );
    expect(noted).toContainEqual(
      expect.objectContaining({ policy: expect.objectContaining({ name: `${name}-user` }), left: 0 }),
    );
    expect(enter(0, 'another user')).toBeUndefined();
  });

  test('of a user’s work likewise, and one key alone never meets the limit of all', () => {
    const keys = Array.from({ length: 8 }, (_, n) => accountOf(`key ${n}`, '', 'a user'));
    for (let n = 0; n < 6; n += 1) void rates.chargeCall(keys[0]!, 'read');
    expect(refusalOf(() => rates.chargeCall(keys[0]!, 'read'))?.details.hint).toContain('`read`');
    rates.chargeWork(keys[0]!, 900);
    expect(new Set(noted.map(({ policy: { name } }) => name))).toEqual(new Set(['read', 'work']));
    for (const one of keys) rates.chargeWork(one, 600);
    expect(refusalOf(() => rates.chargeCall(keys[7]!, 'write'))?.details.hint).toContain('`work-user`');
  });

  test('of a /48 are told only when they are the tighter ones', () => {
    const names = () => new Set(noted.map(({ policy: { name } }) => name));
    const enter = (address: string) => refusalOf(() => rates.chargeCall(accountOf(undefined, address), 'read'));
    for (let n = 0; n < 3; n += 1) enter('2001:db8::1');
    expect(names()).toEqual(new Set(['anonymous', 'work']));
    for (let n = 1; n < 7; n += 1) for (let k = 0; k < 3; k += 1) enter(`2001:db8:0:${n}::1`);
    noted = [];
    enter('2001:db8:0:8::1');
    expect(names()).toEqual(new Set(['anonymous', 'work']));
    enter('2001:db8:0:9::1');
    expect(noted).toContainEqual(
      expect.objectContaining({ policy: expect.objectContaining({ name: 'anonymous-48' }), left: 1 }),
    );
  });

  test('a refusal says which, and when there is room', () => {
    const account = accountOf('key');
    countOf(() => rates.chargeCall(account, 'read'));
    expect(refusalOf(() => rates.chargeCall(account, 'read'))).toMatchObject({
      reason: 'RATE_LIMITED',
      details: { retryAfter: 10, hint: 'The limit `read` is 6 in 60 seconds. There is room again in 10 seconds.' },
    });
    now += 9500;
    expect(refusalOf(() => rates.chargeCall(account, 'read'))?.details).toMatchObject({
      retryAfter: 1,
      hint: expect.stringMatching(/in a second\.$/),
    });
    now += 500;
    expect(refusalOf(() => rates.chargeCall(account, 'read'))).toBeUndefined();
  });

  test('a search counts apart, and words alone make one', () => {
    const account = accountOf('key');
    for (const input of [{}, { search: ' \n　' }, { search: 5 }, null, 'search', ['search']]) {
      expect(refusalOf(() => rates.chargeInput(account, classify(list, input)))).toBeUndefined();
    }
    expect(countOf(() => rates.chargeInput(account, classify(list, { search: ' x' })))).toBe(2);
  });

  test('a read of high cost counts as several', () => {
    const account = accountOf('key');
    const related = { ...list, searchMember: undefined, cost: 'high' } as const;
    expect(refusalOf(() => rates.chargeCall(account, 'read'))).toBeUndefined();
    expect(refusalOf(() => rates.chargeInput(account, classify(related, {})))).toBeUndefined();
    expect(noted.at(-1)).toMatchObject({ policy: { name: 'read' }, left: 6 - READS_PER_HIGH_COST });
  });

  test('a tenth of a write is charged for each record of a batch', () => {
    const account = accountOf('key');
    expect(refusalOf(() => rates.chargeInput(account, classify(batch, { games: recordsOf(95) })))).toBeUndefined();
    expect(noted.at(-1)).toMatchObject({ policy: { name: 'write' }, left: 10 });
    expect(
      refusalOf(() => rates.chargeInput(account, classify(batch, { games: recordsOf(1_000_000) }))),
    ).toBeUndefined();
    expect(noted.at(-1)).toMatchObject({ left: 0 });
    expect(refusalOf(() => rates.chargeInput(account, classify(batch, { games: recordsOf(10) })))).toBeDefined();
  });

  test('work that was done is charged afterwards, and shuts out until it is worked off', () => {
    const account = accountOf('key');
    rates.chargeWork(account, 1600);
    expect(refusalOf(() => rates.chargeCall(account, 'read'))?.details).toMatchObject({
      retryAfter: 36,
      hint: expect.stringContaining('`work`'),
    });
    expect(refusalOf(() => rates.chargeCall(accountOf('another key'), 'read'))).toBeUndefined();
    now += 36_001;
    expect(refusalOf(() => rates.chargeCall(account, 'read'))).toBeUndefined();
  });

  test('keys that do not exist are charged to the network, those that do are not', () => {
    const lookUp = (address: string) => rates.keyLookUp(address, () => undefined);
    for (let n = 0; n < 1000; n += 1) {
      const one = lookUp('2001:db8::1');
      expect(refusalOf(() => one.reserve())).toBeUndefined();
      one.refund();
    }
    expect(countOf(() => lookUp('2001:db8::1').reserve())).toBe(UNKNOWN_KEYS);
    expect(refusalOf(() => lookUp('2001:db8::2').reserve())?.details.retryAfter).toBe(2);
    expect(refusalOf(() => lookUp('2001:db8:0:1::1').reserve())).toBeUndefined();
  });
});

describe('the headers', () => {
  const [read, search, work] = [policy(600), policy(60, 'search'), policy(30_000, 'work')];
  const standing = (of: Policy, left: number, wholeInMs = 0): RateLimitStatus => ({ policy: of, left, wholeInMs });

  test('name all policies, and what is left of the tightest', () => {
    const statuses = new RateLimitHeaders(() => standing(read, 600));
    expect(statuses.headers()).toEqual(['RateLimit-Policy', '"read";q=600;w=60', 'RateLimit', '"read";r=600;t=0']);
    statuses.add(standing(read, 599, 100));
    statuses.add(standing(work, 29_999, 1));
    statuses.add(standing(search, 59, 1000));
    statuses.add(standing(read, 598, 200));
    statuses.add(standing(search, 58, 1001));
    statuses.add(standing(search, 59, 1000));
    expect(statuses.headers()).toEqual([
      'RateLimit-Policy',
      '"read";q=600;w=60, "work";q=30000;w=60;qu="milliseconds", "search";q=60;w=60',
      'RateLimit',
      '"search";r=58;t=2',
    ]);
  });
});

describe('a view', () => {
  const countOf = (views: FirstViews, all: readonly (readonly [address: string, id: string])[]): number => {
    let counted = 0;
    for (const [address, id] of all) views.note(address, id, () => (counted += 1));
    return counted;
  };

  test('counts once for an address, a record and an hour', () => {
    const views = new FirstViews(undefined, clock);
    expect(
      countOf(
        views,
        Array.from({ length: 1000 }, () => ['192.0.2.1', 'a'] as const),
      ),
    ).toBe(1);
    expect(
      countOf(views, [
        ['192.0.2.1', 'b'],
        ['192.0.2.2', 'a'],
        ['2001:db8::1', 'a'],
        ['2001:db8::2', 'a'],
      ]),
    ).toBe(3);
    now += VIEW_SECONDS * 1000 - 1;
    expect(countOf(views, [['192.0.2.1', 'a']])).toBe(0);
    now += 1;
    expect(
      countOf(views, [
        ['192.0.2.1', 'a'],
        ['192.0.2.1', 'a'],
      ]),
    ).toBe(1);
  });

  test('is forgotten when there are too many', () => {
    const views = new FirstViews(undefined, clock, 2);
    expect(
      countOf(views, [
        ['192.0.2.1', 'a'],
        ['192.0.2.2', 'a'],
        ['192.0.2.3', 'a'],
        ['192.0.2.3', 'a'],
        ['192.0.2.1', 'a'],
      ]),
    ).toBe(4);
  });
});
