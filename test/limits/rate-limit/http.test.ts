/**
 * @engines sqlite
 * @tier long
 */
import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type Reason, SENT_BYTES_PER_MS, UNKNOWN_KEYS } from '../../../contract/index.ts';
import { generateKey } from '../../../src/auth/format.ts';
import { createKey } from '../../../src/auth/service.ts';
import { reasonOf } from '../../harness/app/published.ts';
import { startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';

// What callers are held to, over HTTP. How it is counted is in test/limits/rate-limit/limiter.test.ts; by several instances, in
// test/redis/.

let app: TestApp;
afterEach(() => app.stop());

const start = async (rates: string): Promise<void> => {
  app = await startApp({ rates });
};

interface Seen {
  status: number;
  reason: Reason | undefined;
  /** The names are in lower case. */
  headers: Record<string, string>;
  body: unknown;
}

interface Request {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

const ask = async (path: string, { method = 'POST', headers = {}, body = '{}' }: Request = {}): Promise<Seen> => {
  const given = { 'Content-Type': 'application/json', ...headers };
  const response = await fetch(`${app.url}/api/trpc/${path}`, {
    method,
    headers: given,
    ...(method === 'POST' && { body }),
  });
  const text = await response.text();
  const json: unknown = text === '' ? undefined : JSON.parse(text);
  const reason = reasonOf(json) as Reason | undefined;
  return { status: response.status, reason, headers: Object.fromEntries(response.headers), body: json };
};

const bearer = ({ key }: Pick<TestUser, 'key'>) => ({ Authorization: `Bearer ${key}` });
const call = (id: string, json: unknown, user?: TestUser): Promise<Seen> =>
  ask(id, { body: JSON.stringify({ json }), headers: user ? bearer(user) : {} });
const batch = (ids: readonly string[], inputs: readonly unknown[], user?: TestUser): Promise<Seen> => {
  const body = Object.fromEntries(inputs.map((json, index) => [index, { json }]));
  return ask(`${ids.join(',')}?batch=1`, { body: JSON.stringify(body), headers: user ? bearer(user) : {} });
};

/** How many of these calls are answered before the first that is refused for its rate. */
const answeredOf = async (make: () => Promise<Seen>): Promise<number> => {
  for (let n = 0; n < 100; n += 1) {
    const { reason, headers } = await make();
    if (reason === 'RATE_LIMITED') {
      expect(headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
      return n;
    }
  }
  throw new Error('None was refused.');
};

const ITEM = '"[a-z]+"';
const POLICY = new RegExp(`^${ITEM};q=\\d+;w=60(;qu="milliseconds")?(, ${ITEM};q=\\d+;w=60(;qu="milliseconds")?)*$`);
const LEFT = new RegExp(`^${ITEM};r=\\d+;t=\\d+$`);

const LIST = { limit: 1, page: 1 };

describe('each class of calls', () => {
  const RATES = 'read=12,anonymous=6,write=5,search=3';

  test('reads: by key, and by address without one', async () => {
    await start(RATES);
    const [user, other] = [await app.aUser(), await app.aUser()];
    expect(await answeredOf(() => call('game.list', LIST))).toBe(6);
    expect(await answeredOf(() => call('user.getProfile', { id: 'x' }))).toBe(0);
    expect(await answeredOf(() => call('game.list', LIST, user))).toBe(12);
    expect(await answeredOf(() => call('user.me', {}, other))).toBe(12);
    // Writes are counted apart.
    expect((await call('user.updateProfile', {}, user)).status).toBe(200);
  });

  test('searches, which are reads as well', async () => {
    await start(RATES);
    const user = await app.aUser();
    expect(await answeredOf(() => call('game.list', { ...LIST, search: ' ' }, user))).toBe(12);
    const other = await app.aUser();
    expect(await answeredOf(() => call('image.list', { ...LIST, search: 'x' }, other))).toBe(3);
    // The one that was refused had been read already.
    expect(await answeredOf(() => call('game.list', LIST, other))).toBe(12 - 4);
    const third = await app.aUser();
    expect(await answeredOf(() => call('user.search', { query: 'x', limit: 1 }, third))).toBe(3);
    const input = encodeURIComponent(JSON.stringify({ json: { ...LIST, search: 'x' } }));
    expect(await answeredOf(() => ask(`game.list?input=${input}`, { method: 'GET' }))).toBe(3);
  });

  test('by keys of one user: all together have four times the rate of one', async () => {
    await start(RATES);
    const user = await app.aUser();
    const wanted = { userId: user.id, name: 'another', scopes: ['content:write'], expiresAt: null } as const;
    const answered: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      const { key } = await createKey(app.context.db, wanted, new Date());
      answered.push(await answeredOf(() => call('game.create', { title: 'x' }, { ...user, key })));
    }
    expect(answered).toEqual([5, 5, 5, 5, 0, 0]);
    expect((await call('user.updateProfile', {}, await app.aUser())).status).toBe(200);
  });

  test('calls that the caller may not make cost nothing', async () => {
    await start(RATES);
    const reasons: (Reason | undefined)[] = [];
    for (let n = 0; n < 8; n += 1) reasons.push((await call('game.create', {})).reason);
    expect(reasons).toEqual(Array(8).fill('KEY_MISSING'));
  });

  test('faulty input costs what it would cost', async () => {
    await start(RATES);
    expect(await answeredOf(() => call('game.list', { ...LIST, search: 'x', unknown: 1 }))).toBe(3);
    const user = await app.aUser();
    expect(await answeredOf(() => call('game.create', { title: 5 }, user))).toBe(5);
    // But for what is no JSON, which is refused before.
    const another = await app.aUser();
    expect((await ask('game.create', { body: '{', headers: bearer(another) })).reason).toBe('MALFORMED_JSON');
  });
});

describe('the default rates', () => {
  test('let an office of sixteen open a page of twenty games at once, without a key', async () => {
    await start('on');
    const author = await app.aUser();
    const games = Array.from({ length: 20 }, (_, n) => ({ title: `Game ${n}` }));
    const { items } = (await app.call('game.batchCreate', { games }, author.key)) as { items: { id: string }[] };
    const page = async (): Promise<Seen[]> => [
      await call('game.list', { limit: 20, page: 1 }),
      ...(await Promise.all(items.map(({ id }) => call('game.getById', { id })))),
    ];
    const seen = (await Promise.all(Array.from({ length: 16 }, page))).flat();
    expect(seen.map(({ status }) => status)).toEqual(Array.from({ length: 16 * 21 }, () => 200));
  });

  test('give a caller with a key five times as much', async () => {
    await start('on');
    const author = await app.aUser();
    const policiesOf = ({ headers }: Seen): string => headers['ratelimit-policy'] ?? '';
    expect(policiesOf(await call('game.list', LIST))).toContain('"anonymous";q=600;w=60');
    expect(policiesOf(await call('game.list', LIST, author))).toContain('"read";q=3000;w=60');
  });
});

describe('several at once', () => {
  test('a batch of calls costs what they cost', async () => {
    await start('read=10,anonymous=5,write=3,search=2');
    const user = await app.aUser();
    const ids = [...Array<string>(3).fill('game.list'), 'user.search', ...Array<string>(4).fill('game.create')];
    const inputs = [LIST, { ...LIST, search: 'a' }, { ...LIST, search: 'b' }, { query: 'c', limit: 1 }];
    const drafts = [{ title: '1' }, { title: '2' }, { title: '3' }, { title: '4' }];
    const { status, body, headers } = await batch(ids, [...inputs, ...drafts], user);
    expect(status).toBe(207);
    expect((body as unknown[]).map((reply) => reasonOf(reply) ?? 'ok')).toEqual(
      'ok ok ok RATE_LIMITED ok ok ok RATE_LIMITED'.split(' '),
    );
    expect(headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
    expect(headers['ratelimit']).toMatch(/^"(search|write)";r=0;t=\d+$/);
    expect(headers['ratelimit-policy']).toMatch(/"read";q=10;w=60.*"write";q=3;w=60.*"search";q=2;w=60/);
    expect(await answeredOf(() => call('user.me', {}, user))).toBe(10 - 4);
  });

  test('a batch says when there is room for all of its calls', async () => {
    await start('read=1000,write=1,search=2');
    const user = await app.aUser();
    const search = { ...LIST, search: 'a' };
    const ids = ['game.list', 'game.list', 'game.create', 'game.create', 'game.list'];
    const { headers } = await batch(ids, [search, search, { title: '1' }, { title: '2' }, search], user);
    expect(headers['retry-after']).toMatch(/^(60|59)$/);
  });

  test('a batch of records costs a write, and a tenth for each', async () => {
    await start('write=11');
    const [user, other] = [await app.aUser(), await app.aUser()];
    const games = (n: number) => ({ games: Array.from({ length: n }, (_, index) => ({ title: `${index}` })) });
    expect(await answeredOf(() => call('game.batchCreate', games(100), user))).toBe(1);
    expect(await answeredOf(() => call('game.batchCreate', games(10), other))).toBe(5);
    const { total } = await app.call('game.list', LIST);
    // What was refused was not stored.
    expect(total).toBe(150);
  });
});

describe('the headers', () => {
  test('are in every reply of the API, also in those that refuse', async () => {
    await start('anonymous=1000');
    const user = await app.aUser({ scopes: ['user:read'] });
    const bad = await app.badKeys();
    const replies: [number, Seen][] = [
      [200, await call('game.list', LIST)],
      [200, await call('user.me', {}, user)],
      [200, await ask('game.getTypeStats', { method: 'GET' })],
      [200, await batch(['game.getTypeStats', 'game.getTypeStats'], [])],
      [207, await batch(['game.getTypeStats', 'user.me'], [])],
      [400, await call('game.list', {})],
      [400, await ask('game.list', { body: '{' })],
      [400, await ask(`${Array<string>(21).fill('user.me').join(',')}?batch=1`)],
      [401, await call('user.me', {})],
      [401, await ask('user.me', { headers: { Authorization: `Bearer ${bad.KEY_UNKNOWN}` } })],
      [401, await ask('user.me', { headers: { Authorization: 'Bearer x' } })],
      [403, await call('game.create', { title: 'x' }, user)],
      [404, await call('game.getById', { id: 'x' })],
      [404, await ask('no.such')],
      [405, await ask('game.create', { method: 'GET' })],
      [413, await ask('game.list', { body: ' '.repeat(1_100_000) })],
      [415, await ask('game.list', { headers: { 'Content-Type': 'text/plain' } })],
    ];
    for (const [status, { status: came, headers }] of replies) {
      expect([came, headers['ratelimit-policy'], headers['ratelimit']]).toEqual([
        status,
        expect.stringMatching(POLICY),
        expect.stringMatching(LEFT),
      ]);
      const exposed = headers['access-control-expose-headers']?.split(',');
      expect(exposed).toEqual(
        expect.arrayContaining(['RateLimit', 'RateLimit-Policy', 'Retry-After', 'X-Should-Retry']),
      );
    }
    for (const path of ['/healthz', '/openapi.json', '/no-such-route']) {
      expect((await fetch(app.url + path)).headers.has('ratelimit')).toBe(false);
    }
  });

  test('count down', async () => {
    await start('read=3,anonymous=2,search=2');
    const user = await app.aUser();
    const lefts: (string | undefined)[] = [];
    for (let n = 0; n < 4; n += 1) lefts.push((await call('user.me', {}, user)).headers['ratelimit']);
    expect(lefts).toEqual(['"read";r=2;t=20', '"read";r=1;t=40', '"read";r=0;t=60', '"read";r=0;t=60']);
    const { headers } = await call('game.list', { ...LIST, search: 'x' });
    expect(headers['ratelimit-policy']).toBe(
      '"anonymous";q=2;w=60, "work";q=30000;w=60;qu="milliseconds", "search";q=2;w=60',
    );
  });

  test('are left out where nothing is limited', async () => {
    await start('off');
    const { headers } = await call('game.list', LIST);
    expect(Object.keys(headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
  });
});

describe('keys that do not exist', () => {
  const withKey = (key: string) => ask('game.list', { body: JSON.stringify({ json: LIST }), headers: bearer({ key }) });

  test('are refused unseen after a while, and those that are known let in all the same', async () => {
    await start('on');
    const user = await app.aUser();
    expect((await withKey(user.key)).status).toBe(200);
    expect(await answeredOf(() => withKey(generateKey()))).toBeGreaterThanOrEqual(UNKNOWN_KEYS);
    let refused = await withKey(generateKey());
    while (refused.status === 401) refused = await withKey(generateKey());
    expect(refused).toMatchObject({ status: 429, reason: 'RATE_LIMITED' });
    expect(refused.headers['ratelimit']).toMatch(/^"keys";r=0;t=(?:59|60)$/);
    expect((await withKey(user.key)).status).toBe(200);
    // Nor is anyone shut out who brings no key.
    expect((await call('game.list', LIST)).status).toBe(200);
    // Not one more was looked for.
    const asked: string[] = [];
    const { db } = app.context;
    const read = db.read.bind(db);
    db.read = (sql, ...more) => {
      asked.push(sql);
      return read(sql, ...more);
    };
    await withKey(generateKey());
    expect(asked).toEqual([]);
  });

  test('of a batch count once, being one', async () => {
    await start('on');
    const wrong = () => ({ key: generateKey() }) as TestUser;
    for (let n = 0; n < 10; n += 1) {
      const { status } = await batch(Array<string>(20).fill('game.getTypeStats'), [], wrong());
      expect(status).toBe(401);
    }
  });
});

describe('the account of work', () => {
  /** A body that takes long to read, and is refused: inside any rate by count. */
  const dear = (user: TestUser): Promise<Seen> => {
    const members = Array.from({ length: 300_000 }, (_, n) => `"a${n}":0`).join(',');
    return ask('game.batchCreate', { body: `{"json":{${members}}}`, headers: bearer(user) });
  };

  test('ends dear calls sooner than cheap ones', async () => {
    await start('write=60,work=3000');
    const [greedy, modest] = [await app.aUser(), await app.aUser()];
    const answered = await answeredOf(() => dear(greedy));
    expect(answered).toBeGreaterThan(1);
    expect(answered).toBeLessThan(10);
    const { headers } = await call('user.me', {}, greedy);
    expect(headers['ratelimit']).toMatch(/^"work";r=0;t=\d+$/);
    for (let n = 0; n < 2 * answered; n += 1)
      expect((await call('game.create', { title: 'x' }, modest)).status).toBe(200);
  });

  test('is charged for what the database does', async () => {
    await start('read=1000,work=1000000');
    const user = await app.aUser();
    const { limiter } = app.context.protection.limits!;
    const billed: number[] = [];
    const bill = limiter.chargeWork.bind(limiter);
    limiter.chargeWork = (account, ms) => {
      expect(account.owner).toBe(user.keyId);
      billed.push(ms);
      bill(account, ms);
    };
    await call('game.batchCreate', { games: Array.from({ length: 100 }, (_, n) => ({ title: `${n}` })) }, user);
    // The body, the transaction, the answer.
    expect(billed).toHaveLength(3);
    expect(billed[1]).toBeGreaterThan(1);
  });

  test('is charged for each chunk of a body as for sixteen bytes', async () => {
    await start('read=1000,work=1000000');
    const { key } = await app.aUser();
    const body = JSON.stringify({ json: LIST });
    const billed: number[] = [];
    app.context.protection.limits!.limiter.chargeWork = (_, ms) => void billed.push(ms);
    const billOf = async (headers: Record<string, string | number>, size: number): Promise<number | undefined> => {
      billed.length = 0;
      const url = `${app.url}/api/trpc/game.list`;
      const given = { ...bearer({ key }), 'Content-Type': 'application/json', ...headers };
      const sent = httpRequest(url, { method: 'POST', headers: given });
      for (let at = 0; at < body.length; at += size) sent.write(body.slice(at, at + size));
      sent.end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
      expect(response.statusCode).toBe(200);
      return billed[0];
    };
    const { length } = body;
    expect(await billOf({ 'Content-Length': length }, length)).toBe(length / SENT_BYTES_PER_MS);
    expect(await billOf({ 'Transfer-Encoding': 'chunked' }, 1)).toBe((length + 16 * length) / SENT_BYTES_PER_MS);
  });
});

describe('views', () => {
  const viewsOf = async (id: string): Promise<number> => {
    await app.context.routers.game.views.buffer.flush();
    return (await app.call('game.list', LIST)).items.find((game) => game.id === id)?.viewCount ?? -1;
  };

  test('of a record count once from an address, whoever looks', async () => {
    await start('on');
    const user = await app.aUser();
    const { id } = await app.aGame({}, user);
    for (let n = 0; n < 5; n += 1) await call('game.getById', { id });
    await call('game.getById', { id }, user);
    await batch(
      Array<string>(20).fill('game.getById'),
      Array.from({ length: 20 }, () => ({ id })),
    );
    expect(await viewsOf(id)).toBe(1);
  });

  test('of what is not there are none', async () => {
    await start('on');
    expect((await call('game.getById', { id: 'x' })).status).toBe(404);
    const { id } = await app.anImagePost();
    await call('image.getById', { id });
    await app.context.routers.image.views.buffer.flush();
    expect((await app.call('image.list', LIST)).items[0]?.viewCount).toBe(1);
  });
});
