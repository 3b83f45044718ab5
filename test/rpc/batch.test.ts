/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Output, startApp, type TestUser } from '../harness/app/app.ts';
import { sendRaw } from '../harness/http/raw-http.ts';
import { interceptReads } from '../harness/documents/reads.ts';

const app = await startApp();
afterAll(() => app.stop());

let user: TestUser;
let game: Output<'game.create'>;
beforeAll(async () => {
  user = await app.aUser();
  game = await app.aGame({}, user);
});

const encode = (input: unknown): string => encodeURIComponent(JSON.stringify(input));
const get = (id: string, input?: unknown) =>
  app.http.get(`/api/trpc/${id}${input === undefined ? '' : `?input=${encode({ json: input })}`}`);
const batch = (ids: string, inputs: unknown, key?: string) => {
  const request = app.http.post(`/api/trpc/${ids}?batch=1`).set('Content-Type', 'application/json');
  if (key !== undefined) request.set('Authorization', `Bearer ${key}`);
  return request.send(typeof inputs === 'string' ? inputs : JSON.stringify(inputs));
};
const times = <T>(n: number, make: (index: number) => T): T[] => Array.from({ length: n }, (_, index) => make(index));
const reasonsOf = (body: unknown): (string | number)[] =>
  (body as { error?: { json: { data: { reason: string } } } }[]).map((one) => one.error?.json.data.reason ?? 200);

describe('a read by GET', () => {
  test('answers as by POST, and may be kept for a second', async () => {
    const first = await get('game.getById', { id: game.id });
    expect(first.status).toBe(200);
    expect(first.body.result.data.json).toMatchObject({ id: game.id, viewer: null });
    expect(first.headers).toMatchObject({
      'cache-control': 'public, max-age=1',
      etag: expect.stringMatching(/^".+"$/),
      vary: expect.stringContaining('Authorization'),
    });
  });

  test('with the ETag of what the caller has, answers 304 without a body', async () => {
    const first = await get('game.list', { limit: 1, page: 1 });
    const again = await get('game.list', { limit: 1, page: 1 }).set('If-None-Match', first.headers['etag'] ?? '');
    expect([again.status, again.text]).toEqual([304, '']);
  });

  test('with a key is never kept', async () => {
    const { status, headers, body } = await get('user.me').set('Authorization', `Bearer ${user.key}`);
    expect([status, headers['cache-control'], headers['etag']]).toEqual([200, 'no-store', undefined]);
    expect(body.result.data.json.id).toBe(user.id);
  });

  test('that fails has the envelope of all failures', async () => {
    const cases = [
      [await get('game.getById', { id: 'nowhere' }), 404, 'GAME_NOT_FOUND'],
      [await get('game.getById'), 400, 'VALIDATION_FAILED'],
      [await get('user.me'), 401, 'KEY_MISSING'],
      [await app.http.get('/api/trpc/game.list?input=%7B'), 400, 'MALFORMED_JSON'],
      [await app.http.get('/api/trpc/game.list?input=1&input=2'), 400, 'MALFORMED_JSON'],
      [await app.http.get('/api/trpc/game.list?input=1'), 400, 'VALIDATION_FAILED'],
    ] as const;
    for (const [{ status, body, headers }, expected, reason] of cases) {
      expect([status, body.error.json.data.reason]).toEqual([expected, reason]);
      expect(headers['cache-control']).not.toBe('public, max-age=1');
    }
  });

  test('of a mutation is 405, and changes nothing', async () => {
    const { status, headers, body } = await get('game.toggleFavorite', { gameId: game.id }).set(
      'Authorization',
      `Bearer ${user.key}`,
    );
    expect([status, headers['allow'], body.error.json.data.reason]).toEqual([405, 'POST', 'METHOD_NOT_SUPPORTED']);
    expect((await app.call('game.getById', { id: game.id })).favoriteCount).toBe(0);
  });

  test.each([
    ['a body of an announced length', { body: '{"json":{}}' }],
    ['one of no announced length', { body: '{"json":{}}', chunked: true }],
  ])('with %s has meant a POST, single or a batch, and is told so', async (_, content) => {
    const input = encode({ json: { limit: 1, page: 1 } });
    for (const path of [`game.list?input=${input}`, 'game.getTypeStats', 'game.getTypeStats,user.me?batch=1']) {
      for (const method of ['GET', 'HEAD']) {
        const headers = { 'Content-Type': 'application/json' };
        const { status, headers: replied } = await sendRaw(app.url, `/api/trpc/${path}`, {
          method,
          headers,
          ...content,
        });
        expect([status, replied.allow]).toEqual([405, 'POST']);
      }
    }
  });

  test('by HEAD has the headers alone', async () => {
    const { status, headers, text } = await app.http.head('/api/trpc/game.getTypeStats');
    expect([status, headers['cache-control'], text]).toEqual([200, 'public, max-age=1', undefined]);
  });

  test('PUT is 405 and names what goes', async () => {
    const { status, headers } = await app.http.put('/api/trpc/game.list');
    expect([status, headers['allow']]).toEqual([405, 'GET, HEAD, POST']);
  });
});

describe('a batch', () => {
  test('answers in the order of its calls, commas encoded or not', async () => {
    for (const comma of [',', '%2C', '%2c']) {
      const { status, body } = await batch(
        ['game.getTypeStats', 'game.getById', 'user.me'].join(comma),
        {
          1: { json: { id: game.id } },
        },
        user.key,
      );
      expect(status).toBe(200);
      expect(reasonsOf(body)).toEqual([200, 200, 200]);
      expect(body[1].result.data.json.id).toBe(game.id);
      expect(body[2].result.data.json.id).toBe(user.id);
    }
  });

  test('for many records asks the database a few times', async () => {
    const games = times(20, (n) => ({ title: `one of many ${n}` }));
    const { items } = await app.call('game.batchCreate', { games }, user.key);
    let reads = 0;
    const restore = interceptReads(app.context.db, (read) => (...statement) => {
      reads += 1;
      return read(...statement);
    });
    const inputs = Object.fromEntries(items.map(({ id }, index) => [index, { json: { id } }]));
    const { status, body } = await batch(times(20, () => 'game.getById').join(','), inputs);
    restore();
    const titles = body.map((one: { result: { data: { json: { title: string } } } }) => one.result.data.json.title);
    expect([status, titles]).toEqual([200, games.map(({ title }) => title)]);
    // Two that begin at once, and all others, which wait for them.
    expect(reads).toBe(3);
  });

  test('of one call is a list of one', async () => {
    const { status, body } = await batch('game.getTypeStats', {});
    expect([status, body.length]).toEqual([200, 1]);
  });

  test('has the status that all calls agree on, else 207', async () => {
    const missing = { json: { id: 'nowhere' } };
    const same = await batch('game.getById,image.getById', { 0: missing, 1: missing });
    expect([same.status, reasonsOf(same.body)]).toEqual([404, ['GAME_NOT_FOUND', 'IMAGE_POST_NOT_FOUND']]);
    const mixed = await batch('game.getById,game.getTypeStats', { 0: missing });
    expect([mixed.status, reasonsOf(mixed.body)]).toEqual([207, ['GAME_NOT_FOUND', 200]]);
  });

  test('by GET may hold reads only', async () => {
    const inputs = encode({ 0: { json: { gameId: game.id } } });
    const { status, body, headers } = await app.http
      .get(`/api/trpc/game.toggleFavorite,game.getTypeStats?batch=1&input=${inputs}`)
      .set('Authorization', `Bearer ${user.key}`);
    expect([status, reasonsOf(body)]).toEqual([207, ['METHOD_NOT_SUPPORTED', 200]]);
    expect([headers['allow'], headers['cache-control']]).toEqual(['POST', 'no-store']);
  });

  test('as JSON lines is one line that superjson reads, with status 200 whatever fails', async () => {
    const response = await fetch(`${app.url}/api/trpc/game.getTypeStats,game.getById?batch=1`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'trpc-accept': 'application/jsonl' },
      body: JSON.stringify({ 1: { json: { id: 'nowhere' } } }),
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/jsonl; charset=utf-8']);
    const text = await response.text();
    expect(text.endsWith('}\n')).toBe(true);
    expect(JSON.parse(text)).toEqual({
      json: {
        0: [[{ result: { data: expect.objectContaining({ items: expect.any(Array), total: expect.any(Number) }) } }]],
        1: [
          [
            {
              error: {
                code: -32_004,
                message: expect.any(String),
                data: expect.objectContaining({ reason: 'GAME_NOT_FOUND' }),
              },
            },
          ],
        ],
      },
    });
  });

  test('takes 20 calls and refuses 21', async () => {
    const calls = (n: number) => times(n, () => 'game.getTypeStats').join(',');
    expect((await batch(calls(20), {})).body).toHaveLength(20);
    const { status, body } = await batch(calls(21), {});
    expect([status, body.error.json.data.reason, body.error.json.data.path]).toEqual([400, 'BATCH_TOO_LARGE', null]);
  });

  test('of nothing but commas names procedures that do not exist', async () => {
    const { status, body } = await batch(',,,,', {});
    expect([status, reasonsOf(body)]).toEqual([404, times(5, () => 'PROCEDURE_NOT_FOUND')]);
  });

  test('may hold a procedure twice', async () => {
    const author = await app.aUser();
    const { status, body } = await batch(
      'game.create,game.create',
      { 0: { json: { title: 'one' } }, 1: { json: { title: 'two' } } },
      author.key,
    );
    expect(status).toBe(200);
    expect(body.map((one: { result: { data: { json: { title: string } } } }) => one.result.data.json.title)).toEqual([
      'one',
      'two',
    ]);
  });

  test('authorises each call by itself: the others go on', async () => {
    const reader = await app.aUser({ scopes: ['user:read'] });
    const { status, body } = await batch(
      'user.me,game.create,user.updateAvatar',
      { 1: { json: { title: 'never stored' } }, 2: { json: { avatar: '/a.png' } } },
      reader.key,
    );
    expect([status, reasonsOf(body)]).toEqual([207, [200, 'SCOPE_MISSING', 'SCOPE_MISSING']]);
    expect((await app.call('game.list', { limit: 1, page: 1, search: 'never stored' })).total).toBe(0);
  });

  test('of an anonymous caller who may call none of it is refused before its body is read', async () => {
    const { status, body } = await batch('user.me,game.create', 'no JSON at all');
    expect([status, reasonsOf(body)]).toEqual([401, ['KEY_MISSING', 'KEY_MISSING']]);
  });

  test('with a faulty body fails as a whole', async () => {
    const cases = [
      ['no JSON', 'MALFORMED_JSON'],
      ['[]', 'VALIDATION_FAILED'],
      ['null', 'VALIDATION_FAILED'],
      ['"0"', 'VALIDATION_FAILED'],
    ] as const;
    for (const [sent, reason] of cases) {
      const { status, body } = await batch('game.getTypeStats,user.me', sent);
      expect([sent, status, body.error.json.data.reason]).toEqual([sent, 400, reason]);
    }
  });

  test('of another media type is 415', async () => {
    const { status } = await batch('game.getTypeStats,game.getTypeStats', '{}').set('Content-Type', 'text/plain');
    expect(status).toBe(415);
  });

  test('with a bad key fails call by call, public ones too', async () => {
    const { status, body, headers } = await batch('game.getTypeStats,user.me', {}, 'nonsense');
    expect([status, reasonsOf(body)]).toEqual([401, ['KEY_MALFORMED', 'KEY_MALFORMED']]);
    expect(headers['www-authenticate']).toContain('Bearer');
  });

  test('members of the prototype are inputs like others', async () => {
    const hostile =
      '{"0":{"json":{"__proto__":{"limit":1},"constructor":1,"limit":1,"page":1}},"__proto__":{"json":{}}}';
    const { status, body } = await batch('game.list,game.getTypeStats', hostile);
    expect([status, reasonsOf(body)]).toEqual([207, ['VALIDATION_FAILED', 200]]);
    const paths = body[0].error.json.data.issues.map((issue: { path: string }) => issue.path);
    expect(paths).toContain('/constructor');
  });

  test('may hold an input that is too deep for JSON to be written', async () => {
    const depth = 15_000;
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const { status, body } = await batch(
      'game.list,game.getTypeStats',
      `{"0":{"json":${deep}},"1":{"meta":{"a":${deep}}}}`,
    );
    expect([status, reasonsOf(body)]).toEqual([207, ['VALIDATION_FAILED', 200]]);
  });

  test('annotations that would make superjson use memory without bound do nothing', async () => {
    const path = times(20, () => 'a').join('.');
    const bomb = {
      json: { limit: 1, page: 1 },
      meta: {
        v: 1,
        values: {
          limit: ['Date'],
          page: [['custom', 'x']],
          ...Object.fromEntries(times(500, (n) => [`${path}.${n}`, ['undefined']])),
        },
        referentialEqualities: Object.fromEntries(times(50, (n) => [`a${n}`, times(50, (m) => `b${m}`)])),
      },
    };
    const before = process.memoryUsage().heapUsed;
    const started = process.cpuUsage();
    const { status, body } = await batch('game.list', { 0: bomb });
    expect([status, reasonsOf(body)]).toEqual([200, [200]]);
    const spent = process.cpuUsage(started);
    expect((spent.user + spent.system) / 1000).toBeLessThan(1000);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100_000_000);
  });
});
