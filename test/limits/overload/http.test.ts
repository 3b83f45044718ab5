/**
 * @engines sqlite
 * @tier fast
 */
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { classify } from '../../../src/limits/call-class.ts';
import { BATCH_BODY_LIMIT, procedures, READ_BODY_LIMIT } from '../../../contract/index.ts';
import { type Output, type ProcedureId, startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { openClient } from '../../harness/app/client.ts';
import { fill } from '../../harness/app/overload.ts';

// What becomes of calls that would wait too long, and of the others. The limiters are filled with work that ends when the
// test says so.

const SEARCH = { limit: 1, page: 1, search: 'castle' };
const LIST = { limit: 1, page: 1 };

/** Ends what fills the limiters. */
let end: () => void;
let ended: Promise<void>;
beforeEach(() => {
  ended = new Promise((resolve) => (end = resolve));
});
afterEach(() => end());

/** Takes up all that calls like this one may run on. */
const crowd = ({ context: { protection } }: TestApp, id: ProcedureId, input: unknown): void => {
  const procedure = procedures.find((one) => one.id === id)!;
  void fill(protection.overload.limiterFor(procedure, classify(procedure, input).callClass), ended);
};

const aService = (maxQueueMs: number) => {
  const service = {} as { app: TestApp; user: TestUser; game: Output<'game.create'> };
  beforeAll(async () => {
    service.app = await startApp({ settings: { MAX_QUEUE_MS: String(maxQueueMs) } });
    service.user = await service.app.aUser();
    service.game = await service.app.aGame({}, service.user);
  });
  afterAll(() => service.app.stop());
  return service;
};

const OVERLOADED = {
  error: {
    json: {
      code: -32603,
      data: { code: 'SERVICE_UNAVAILABLE', httpStatus: 503, path: 'game.list', reason: 'OVERLOADED' },
    },
  },
};

describe('while no search may wait', () => {
  const service = aService(0);
  const batch = (ids: string, inputs: unknown) =>
    service.app.http
      .post(`/api/trpc/${ids}?batch=1`)
      .set('Content-Type', 'application/json')
      .send(JSON.stringify(inputs));

  test('it is refused in time, by any door and however its name is written, and told when to come back', async () => {
    crowd(service.app, 'game.list', SEARCH);
    const input = encodeURIComponent(JSON.stringify({ json: SEARCH }));
    const replies = [
      await service.app.send('game.list', SEARCH),
      await service.app.send('game.list', SEARCH, service.user.key),
      await service.app.http.get(`/api/trpc/game.list?input=${input}`),
      await service.app.http
        .post('/api/trpc/game.list')
        .set('Content-Type', 'application/json')
        .send(String.raw`{"json":{"limit":1,"page":1,"se\u0061rch":"castle"}}`),
    ];
    for (const { status, headers, body } of replies) {
      expect([status, body]).toMatchObject([503, OVERLOADED]);
      expect(headers['retry-after']).toMatch(/^[12]$/);
      expect(headers['x-request-id']).toBe(body.error.json.data.requestId);
      expect(headers['access-control-allow-origin']).toBe('*');
    }
  });

  test('in a batch it is refused alone', async () => {
    crowd(service.app, 'game.list', SEARCH);
    const { status, headers, body } = await batch('game.list,game.list,game.getById', {
      0: { json: SEARCH },
      1: { json: LIST },
      2: { json: { id: service.game.id } },
    });
    expect(status).toBe(207);
    expect(headers['retry-after']).toMatch(/^[12]$/);
    expect(body).toMatchObject([OVERLOADED, { result: {} }, { result: {} }]);
  });

  test('all else is done', async () => {
    crowd(service.app, 'game.list', SEARCH);
    const { app, game, user } = service;
    const calls: [ProcedureId, unknown][] = [
      ['game.list', LIST],
      ['game.list', { ...SEARCH, search: ' ' }],
      ['game.getById', { id: game.id }],
      ['game.getTypeStats', {}],
      ['image.list', SEARCH],
      ['user.search', { query: 'a', limit: 1 }],
      ['user.me', undefined],
      ['game.create', { title: 'meanwhile' }],
      ['game.toggleFavorite', { gameId: game.id }],
    ];
    for (const [id, input] of calls) expect([id, (await app.send(id, input, user.key)).status]).toEqual([id, 200]);
    expect(await app.http.get('/healthz')).toMatchObject({ status: 200 });
  });
});

describe('where the path tells that a call is refused', () => {
  const service = aService(0);

  test('calls are refused before anything is done for them', async () => {
    const { app, game, user } = service;
    crowd(app, 'game.getById', {});
    const reply = await app.http
      .post('/api/trpc/game.getById')
      .set({ 'Content-Type': 'application/json', 'X-Request-Id': 'mine', Authorization: 'Bearer nonsense' })
      .send(JSON.stringify({ json: { id: game.id } }));
    expect(reply).toMatchObject({ status: 503, headers: { 'x-request-id': 'mine' } });
    const { path } = reply.body.error.json.data;
    expect([path, reply.body.error.json.data.reason]).toEqual(['game.getById', 'OVERLOADED']);
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'x-content-type-options': 'nosniff',
    });
    expect(await app.send('image.list', LIST)).toMatchObject({ status: 200 });
    expect(await app.send('game.create', { title: 'meanwhile' }, user.key)).toMatchObject({ status: 200 });
    expect(await app.http.get('/healthz')).toMatchObject({ status: 200 });
  });

  test('whoever asks again on the same connection is refused again, until there is room', async () => {
    const { app, game } = service;
    const client = openClient(app.url);
    crowd(app, 'game.getById', {});
    for (let count = 0; count < 3; count += 1) {
      expect(await client.call('game.getById', { id: game.id })).toMatchObject({ status: 503, retryAfter: /[12]/ });
    }
    expect(await client.call('image.list', LIST)).toMatchObject({ status: 200 });
    end();
    expect(await client.call('game.getById', { id: game.id })).toMatchObject({ status: 200 });
    client.close();
  });
});

describe('a body', () => {
  const service = aService(20_000);
  const padded = (inputs: unknown, bytes: number): string => JSON.stringify(inputs).padEnd(bytes);
  const send = async (ids: string, body: string, key?: string) => {
    const reply = await fetch(`${service.app.url}/api/trpc/${ids}?batch=1`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(key !== undefined && { Authorization: `Bearer ${key}` }) },
      body,
    });
    await reply.arrayBuffer();
    return reply.status;
  };

  test('of a batch that reads has 64 KiB', async () => {
    const inputs = { 0: { json: LIST }, 1: { json: LIST } };
    expect(await send('game.list,image.list', padded(inputs, READ_BODY_LIMIT))).toBe(200);
    expect(await send('game.list,image.list', padded(inputs, READ_BODY_LIMIT + 1))).toBe(413);
    expect(await send('game.list,image.list', padded(inputs, READ_BODY_LIMIT + 1), service.user.key)).toBe(413);
  });

  test('of a batch that writes has 4 MiB, of whoever may write', async () => {
    const inputs = { 0: { json: LIST }, 1: { json: { title: 'large' } } };
    const { key: readOnly } = await service.app.aUser({ scopes: ['user:read'] });
    expect(await send('game.list,game.create', padded(inputs, BATCH_BODY_LIMIT), service.user.key)).toBe(200);
    expect(await send('game.list,game.create', padded(inputs, BATCH_BODY_LIMIT + 1), service.user.key)).toBe(413);
    expect(await send('game.list,game.create', padded(inputs, READ_BODY_LIMIT + 1), readOnly)).toBe(413);
    expect(await send('game.list,game.create', padded(inputs, READ_BODY_LIMIT + 1))).toBe(413);
  });

  test('of far more members than any input has is refused as a whole, whatever is wrong with them', async () => {
    const many = Object.fromEntries(Array.from({ length: 50_001 }, (_, index) => [`m${index}`, 1]));
    const { data } = await service.app.fail('game.batchCreate', many, 400, service.user.key);
    expect(data).toMatchObject({ reason: 'VALIDATION_FAILED', issues: [{ path: '', code: 'too_big' }] });
    expect(data.issues).toHaveLength(1);
  });

  test('that nobody waits to see grow is refused packed, too', async () => {
    const reply = await fetch(`${service.app.url}/api/trpc/game.list,game.getById?batch=1`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      body: gzipSync(`{"0":{"json":{${Array.from({ length: 430_000 }, (_, index) => `"m${index}":1`).join(',')}}}}`),
    });
    expect(reply.status).toBe(413);
    await reply.arrayBuffer();
  });
});
