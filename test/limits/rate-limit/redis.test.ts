/**
 * @engines sqlite
 * @tier long
 * @needs redis
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { SITE_FACTOR, UNKNOWN_KEYS, USER_FACTOR } from '../../../contract/index.ts';
import { generateKey } from '../../../src/auth/format.ts';
import { startApp, type TestApp } from '../../harness/app/app.ts';
import { makeCertificates } from '../../harness/servers/certificates.ts';
import { createDatabase } from '../../harness/app/database.ts';
import { type ServeProcess, startServe } from '../../harness/app/program.ts';
import { reasonOf } from '../../harness/app/published.ts';
import { type RedisServer, startRedis } from '../../harness/servers/redis.ts';
import { until } from '../../harness/until.ts';

// Several instances that count together, and what becomes of them without their Redis.

let redis: RedisServer;
let apps: TestApp[];
const cleanups: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  redis = await startRedis();
  apps = [];
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  await redis.kill();
});
afterAll(() => redis.kill());

/** The warnings of an instance about its Redis. */
const warnings: string[] = [];

/** What they wait for a Redis that may be away. */
const HASTY = 20;

const start = async (rates: string, redisUrl = redis.url, redisTimeoutMs?: number): Promise<TestApp> => {
  const app = await startApp({ rates, redisUrl, ...(redisTimeoutMs !== undefined && { redisTimeoutMs }) });
  apps.push(app);
  cleanups.push(() => app.stop());
  warnings.splice(0);
  jest.spyOn(app.context.log, 'warn').mockImplementation((...words: unknown[]) => {
    const message = String(words.at(-1));
    if (message.includes('Redis')) warnings.push(message);
  });
  return app;
};

const startTwo = async (rates: string): Promise<void> => {
  await start(rates);
  await start(rates);
};

const read = (app: TestApp, key?: string): Promise<Response> =>
  fetch(`${app.url}/api/trpc/game.getTypeStats`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(key !== undefined && { Authorization: `Bearer ${key}` }) },
    body: '{}',
  });

/** The statuses of so many reads, at once, of one instance after the other. */
const readMany = async (n: number, key?: () => string): Promise<number[]> => {
  const replies = await Promise.all(Array.from({ length: n }, (_, index) => read(apps[index % apps.length]!, key?.())));
  return Promise.all(replies.map(async (reply) => (await reply.text(), reply.status)));
};
const countOf = (statuses: readonly number[], status: number): number =>
  statuses.filter((one) => one === status).length;

/** Waits until there is such a warning. */
const warned = async (text: string): Promise<void> => {
  await until(() => warnings.some((warning) => warning.includes(text)), {
    seen: () => `no "${text}", but ${warnings.join(', ')}`,
  });
};

describe('two instances', () => {
  test('let exactly the limit through together', async () => {
    // So little comes back while this runs that it makes no call.
    await startTwo('anonymous=20');
    expect(countOf(await readMany(200), 200)).toBe(20);
    for (const app of apps)
      expect((await read(app)).headers.get('ratelimit')).toMatch(/^"anonymous";r=0;t=(?:60|5\d)$/);
  });

  test.each([
    [
      'networks of a /48',
      'anonymous',
      SITE_FACTOR,
      (n: number) => [undefined, `2001:db8:1:${n.toString(16)}::1`] as const,
    ],
    [
      'keys of a user',
      'read',
      USER_FACTOR,
      (n: number) => [{ userId: 'a user', key: { id: `key ${n}` } }, ''] as const,
    ],
  ] as const)('hold all %s to some times the rate of one, together', async (_sharers, name, factor, who) => {
    await startTwo(`${name}=5`);
    const enter = async (n: number): Promise<boolean> => {
      const { limiter } = apps[n % apps.length]!.context.protection.limits!;
      const [holder, address] = who(n);
      const account = limiter.keyOf(holder, address, () => undefined);
      try {
        await limiter.chargeCall(account, 'read');
        return true;
      } catch {
        return false;
      }
    };
    const began = performance.now();
    const passed = (await Promise.all(Array.from({ length: 300 }, (_, n) => enter(n)))).filter(Boolean).length;
    expect(passed).toBeGreaterThanOrEqual(factor * 5);
    expect(passed).toBeLessThanOrEqual(factor * 5 + Math.ceil(((performance.now() - began) * factor * 5) / 60_000));
    const keys = (await redis.command('KEYS *')).split('\r\n').filter((line) => line.includes(name));
    // All in one slot of a cluster, which runs no script over several.
    expect(new Set(keys.map((key) => key.slice(0, key.indexOf('}')))).size).toBe(1);
    expect(keys).toHaveLength(passed + 1);
  });

  test('look for so many unknown keys together', async () => {
    await startTwo('on');
    const began = performance.now();
    const looked = countOf(await readMany(100, generateKey), 401);
    expect(looked).toBeGreaterThanOrEqual(UNKNOWN_KEYS);
    // And what came back meanwhile.
    expect(looked).toBeLessThanOrEqual(UNKNOWN_KEYS + Math.ceil(((performance.now() - began) * UNKNOWN_KEYS) / 60_000));
  });

  test('charge work together', async () => {
    await startTwo('work=1000');
    const [one, other] = apps as [TestApp, TestApp];
    const { limiter } = one.context.protection.limits!;
    limiter.chargeWork(
      limiter.keyOf(undefined, '127.0.0.1', () => undefined),
      5000,
    );
    while ((await read(other)).status === 200);
    expect((await read(other)).headers.get('ratelimit')).toMatch(/^"work";r=0;t=\d+$/);
  });

  test('count the view of a record once', async () => {
    await startTwo('on');
    let counted = 0;
    for (const id of ['a', 'b', 'c']) {
      for (const { context } of apps) {
        for (let n = 0; n < 5; n += 1)
          context.protection.limits!.firstViews.note('192.0.2.1', id, () => (counted += 1));
      }
    }
    await apps[0]!.context.protection.limits!.limiter.chargeCall(
      apps[0]!.context.protection.limits!.limiter.keyOf({ userId: 'user', key: { id: 'x' } }, '', () => undefined),
      'read',
    );
    await sleep(50);
    expect(counted).toBe(3);
  });

  test('leave no address in Redis, nor anything that stays', async () => {
    await startTwo('on');
    await readMany(4);
    apps[0]!.context.protection.limits!.firstViews.note('127.0.0.1', 'a', () => undefined);
    const socket = connect(redis.port, '127.0.0.1');
    let text = '';
    socket.on('data', (data) => (text += data.toString()));
    socket.write('KEYS *\r\n');
    while (!text.includes('view')) await once(socket, 'data');
    const keys = text.split('\r\n').filter((line) => line.startsWith('content-gateway'));
    expect(keys.length).toBeGreaterThan(1);
    expect(text).not.toMatch(/127\.0|\ba\b/);
    for (const key of keys) {
      text = '';
      socket.write(`PTTL ${key}\r\n`);
      await once(socket, 'data');
      expect(Number(text.slice(1))).toBeGreaterThan(0);
    }
    socket.destroy();
  });
});

describe('a bucket that holds what we never wrote', () => {
  const keysOf = async (kind: string): Promise<string[]> =>
    (await redis.command('KEYS *')).split('\r\n').filter((line) => line.endsWith(`:${kind}`));
  const far = String(Date.now() * 1000 + 3_600_000_000);

  test.each([
    ['inf', 'SET KEY inf'],
    ['infinity below', 'SET KEY -inf'],
    ['1e400', 'SET KEY 1e400'],
    ['not a number', 'SET KEY nan'],
    ['a word', 'SET KEY word'],
    ['an hour from now', `SET KEY ${far}`],
    ['thousands of years from now', 'SET KEY 9e18'],
    ['a list', 'RPUSH KEY 1'],
    ['a hash', 'HSET KEY a 1'],
    ['a stream', 'XADD KEY * a 1'],
  ])('begins anew: %s', async (_, command) => {
    await start('anonymous=20');
    await read(apps[0]!);
    const { limiter } = apps[0]!.context.protection.limits!;
    limiter.chargeWork(
      limiter.keyOf(undefined, '127.0.0.1', () => undefined),
      10_000,
    );
    await sleep(200);
    const keys = [...(await keysOf('anonymous')), ...(await keysOf('work'))];
    expect(keys).toHaveLength(2);
    for (const key of keys) {
      await redis.command(`DEL ${key}`);
      expect(await redis.command(command.replace('KEY', key))).not.toMatch(/^-/);
    }
    const statuses: number[] = [];
    for (let n = 0; n < 25; n += 1) statuses.push((await read(apps[0]!)).status);
    expect(countOf(statuses.slice(0, 20), 200)).toBe(20);
    expect(countOf(statuses, 429)).toBeGreaterThan(0);
    await sleep(100);
    expect(warnings).toEqual([]);
    // The work of a read is soon worked off.
    expect(await redis.command(`TYPE ${keys[1]}`)).toMatch(/^\+(?:string|none)\r\n$/);
    expect(await redis.command(`TYPE ${keys[0]}`)).toBe('+string\r\n');
    expect(await redis.command(`PTTL ${keys[0]}`)).toMatch(/^:[1-9]/);
  });

  test('does not stay for ever: one that is full gets its time to live back', async () => {
    await start('anonymous=1');
    await read(apps[0]!);
    const [key] = await keysOf('anonymous');
    await redis.command(`PERSIST ${key}`);
    expect((await read(apps[0]!)).status).toBe(429);
    expect(await redis.command(`PTTL ${key}`)).toMatch(/^:[1-9]/);
  });

  test('takes nobody off Redis where work is added to it', async () => {
    await start('on');
    const { limiter } = apps[0]!.context.protection.limits!;
    const account = limiter.keyOf(undefined, '127.0.0.1', () => undefined);
    limiter.chargeWork(account, 10_000);
    await until(async () => (await keysOf('work')).length > 0);
    const [key] = await keysOf('work');
    await redis.command(`DEL ${key}`);
    await redis.command(`RPUSH ${key} 1`);
    limiter.chargeWork(account, 10_000);
    await until(async () => (await redis.command(`TYPE ${key}`)) === '+string\r\n');
    expect(await redis.command(`PTTL ${key}`)).toMatch(/^:[1-9]/);
    expect(warnings).toEqual([]);
  });
});

describe('without their Redis', () => {
  /** Reads until `isOver`, and returns how long each took, in milliseconds. @throws Error if one is not answered by 200 */
  const readOn = async (reads: number): Promise<number[]> => {
    const times: number[] = [];
    for (let n = 0; n < reads; n += 1) {
      const began = performance.now();
      const reply = await read(apps[0]!);
      await reply.text();
      times.push(performance.now() - began);
      expect(reply.status).toBe(200);
    }
    return times.toSorted((a, b) => a - b);
  };

  /** Reads until it is not taken for away any more, as it may be for a moment on a busy machine. */
  const settle = async (): Promise<void> => {
    for (;;) {
      warnings.splice(0);
      await readOn(20);
      if (warnings.length === 0) return;
      await warned('Redis is back');
    }
  };

  const comesBack = async (): Promise<void> => {
    await warned('Redis is back');
    expect(warnings).toEqual([expect.stringContaining('away'), expect.stringContaining('Redis is back')]);
  };

  test('that is killed: they count alone, and together again when it is back', async () => {
    await startTwo('anonymous=40');
    await readMany(10);
    await redis.kill();
    await warned('away');
    // Each goes on from what it saw last.
    const statuses = await readMany(200);
    expect(countOf(statuses, 200)).toBeGreaterThanOrEqual(60);
    expect(countOf(statuses, 200)).toBeLessThanOrEqual(72);
    expect(countOf(statuses, 429)).toBe(200 - countOf(statuses, 200));
    await redis.restart();
    await warned('Redis is back');
    expect(warnings.filter((warning) => warning.includes('away'))).toHaveLength(2);
  });

  test('that is frozen: nobody waits for more than a few milliseconds, then not at all', async () => {
    await start('anonymous=100000', redis.url, HASTY);
    await settle();
    const before = await readOn(100);
    redis.child.kill('SIGSTOP');
    const frozen = await readOn(300);
    expect(warnings).toEqual([expect.stringContaining('away')]);
    const median = (times: number[]): number => times[Math.floor(times.length / 2)]!;
    // For a quarter of a second they wait for as long as they may, which is many times what a read takes.
    expect(median(frozen)).toBeLessThan(4 * median(before));
    redis.child.kill('SIGCONT');
    await comesBack();
  });

  test('that is slow: they do without it, and are told so once', async () => {
    const held: (() => void)[] = [];
    let delayMs = 0;
    const proxy = createServer((client) => {
      const upstream = connect(redis.port, '127.0.0.1');
      const close = (): void => {
        client.destroy();
        upstream.destroy();
      };
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        from.on('data', (data) => void setTimeout(() => to.write(data), to === client ? delayMs : 0));
        from.on('close', close).on('error', close);
      }
      held.push(close);
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    cleanups.push(async () => {
      for (const close of held) close();
      proxy.close();
    });
    await start('anonymous=100000', `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`, 100);
    await settle();
    delayMs = 1000;
    await readOn(150);
    expect(warnings).toEqual([expect.stringContaining('away')]);
    await sleep(2000);
    expect(warnings).toHaveLength(1);
    delayMs = 0;
    await comesBack();
  });

  test('that is not there at the start: they start all the same, and find it later', async () => {
    const { port } = redis;
    await redis.kill();
    await start('anonymous=30', `redis://127.0.0.1:${port}`);
    expect(countOf(await readMany(100), 200)).toBeLessThanOrEqual(31);
    await redis.restart();
    await warned('Redis is back');
    // It knows of nothing yet.
    expect((await read(apps[0]!)).status).toBe(200);
  });

  test('that wants a password: each counts alone', async () => {
    const locked = await startRedis({ password: 's3cret' });
    cleanups.push(() => locked.kill());
    await start('anonymous=30', locked.url.replace('s3cret', 'wrong'));
    expect(countOf(await readMany(100), 429)).toBeGreaterThanOrEqual(65);
  });
});

describe('the program', () => {
  const serve = async (env: Record<string, string>): Promise<ServeProcess> => {
    const database = await createDatabase();
    cleanups.push(() => database.drop());
    const served = await startServe({ url: database.url, env: { LOG_LEVEL: 'warn', ...env } });
    cleanups.push(() => served.stop('SIGKILL'));
    return served;
  };
  const ask = (base: string) => fetch(`${base}/api/trpc/game.getTypeStats`, { method: 'POST' });

  test('counts in a Redis with a password, by TLS, and ends in time', async () => {
    const certificates = await makeCertificates();
    cleanups.push(() => certificates.remove());
    const ca = certificates.authority('authority');
    const own = await certificates.issue(ca, 'localhost');
    const secure = await startRedis({ tls: { ca, own }, password: 'p@ss' });
    cleanups.push(() => secure.kill());
    const env = {
      REDIS_URL: secure.url.replace('p@ss', 'p%40ss'),
      // On a busy machine Redis takes longer than it usually may.
      REDIS_TIMEOUT_MS: '1000',
      RATE_LIMIT: 'anonymous=3',
      NODE_EXTRA_CA_CERTS: ca.cert,
    };
    const [one, other] = [await serve(env), await serve(env)];
    expect((await ask(one.base)).headers.get('ratelimit')).toBe('"anonymous";r=2;t=20');
    expect((await ask(other.base)).headers.get('ratelimit')).toMatch(/^"anonymous";r=1;/);
    expect(one.log() + other.log()).not.toContain('Redis');
    expect(await one.stop()).toBe(0);
    secure.child.kill('SIGSTOP');
    expect(await other.stop()).toBe(0);
  });

  test('does not trust a certificate of nobody knows whom, and says no password', async () => {
    const certificates = await makeCertificates();
    cleanups.push(() => certificates.remove());
    const ca = certificates.authority('authority');
    const secure = await startRedis({
      tls: { ca, own: await certificates.issue(ca, 'localhost') },
      password: 's3cret',
    });
    cleanups.push(() => secure.kill());
    const served = await serve({ REDIS_URL: secure.url, RATE_LIMIT: 'anonymous=3' });
    expect(served.log()).toContain('Redis is away');
    expect(served.log()).not.toContain('s3cret');
    const reply = await ask(served.base);
    expect([reply.status, reasonOf(await reply.json())]).toEqual([200, undefined]);
    expect(await served.stop()).toBe(0);
  });
});
