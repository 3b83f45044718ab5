/**
 * @engines sqlite
 * @tier fast
 */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { docsOf, errorOf, type Reason } from '../../contract/index.ts';
import { startApp } from '../harness/app/app.ts';
import { parseReply, type RawReply, type RawRequest, sendRaw, writeRaw } from '../harness/http/raw-http.ts';

// How requests and replies travel: methods, paths, headers, encodings and the envelope, whatever the operation.

const IN_PHP = 'in PHP, an empty object is `new stdClass()` or `(object) []`';
const EMPTY_ARRAY = `must be an object, not an array; send \`{}\`; ${IN_PHP}`;

const app = await startApp();
afterAll(() => app.stop());

const { key } = await app.aUser();
const badKeys = Object.entries(await app.badKeys());

const MIB = 1024 * 1024;
const STATS = '/api/trpc/game.getTypeStats';
const LIST = '/api/trpc/game.list';
const CREATE = '/api/trpc/game.create';
const JSON_TYPE = { 'Content-Type': 'application/json' };
const KEY = { Authorization: `Bearer ${key}` };
const UNKNOWN_ID = '019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f02';

const send = (path: string, sent?: RawRequest) => sendRaw(app.url, path, sent);
const post = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
  send(path, { body, headers: { ...JSON_TYPE, ...headers } });

const procedureOf = (path: string): string => path.slice('/api/trpc/'.length);

/** What a failure looks like, whole. The catalogue has the words; numbers and codes are told by each test. */
interface Expected {
  status: number;
  code: string;
  number: number;
  reason: Reason;
  /** The procedure, or null where there is none. */
  path: string | null;
  issues?: unknown;
  hint?: unknown;
}

const expectFailure = (
  { status, headers, body }: RawReply,
  { number, code, reason, path, issues, hint, ...expected }: Expected,
) => {
  const { message, hint: usualHint } = errorOf(reason);
  expect({ status, body }).toEqual({
    status: expected.status,
    body: {
      error: {
        json: {
          message,
          code: number,
          data: {
            code,
            httpStatus: expected.status,
            path,
            reason,
            requestId: headers['x-request-id'],
            ...(issues !== undefined && { issues }),
            hint: hint ?? usualHint,
            docs: docsOf(reason),
          },
        },
      },
    },
  });
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(headers['x-request-id']).toMatch(/^[\w.:-]{1,128}$/);
};

const malformed = { status: 400, code: 'PARSE_ERROR', number: -32700, reason: 'MALFORMED_JSON' } as const;
const invalid = { status: 400, code: 'BAD_REQUEST', number: -32600, reason: 'VALIDATION_FAILED' } as const;
const unauthorized = { status: 401, code: 'UNAUTHORIZED', number: -32001 } as const;
const forbidden = { status: 403, code: 'FORBIDDEN', number: -32003, reason: 'SCOPE_MISSING' } as const;
const notFound = { status: 404, code: 'NOT_FOUND', number: -32004 } as const;
const wrongMethod = {
  status: 405,
  code: 'METHOD_NOT_SUPPORTED',
  number: -32005,
  reason: 'METHOD_NOT_SUPPORTED',
} as const;
const tooLarge = { status: 413, code: 'PAYLOAD_TOO_LARGE', number: -32013, reason: 'PAYLOAD_TOO_LARGE' } as const;
const wrongType = {
  status: 415,
  code: 'UNSUPPORTED_MEDIA_TYPE',
  number: -32015,
  reason: 'UNSUPPORTED_MEDIA_TYPE',
} as const;
const notHttp = { status: 400, code: 'BAD_REQUEST', number: -32600, reason: 'BAD_HTTP_REQUEST', path: null } as const;

/** A body with these bytes in a text. */
const withBytes = (...bytes: number[]): Buffer =>
  Buffer.concat([Buffer.from('{"json":{"search":"'), Buffer.from(bytes), Buffer.from('"}}')]);

/** A success of an operation without parameters, as it is at this moment. */
const stats = async (): Promise<unknown> => ({ result: { data: { json: await app.call('game.getTypeStats', {}) } } });

describe('a reply', () => {
  test('wraps the output of a success', async () => {
    expect(await post(STATS, '{"json":{}}')).toMatchObject({ status: 200, body: await stats() });
  });

  test('names every fault of the input', async () => {
    expectFailure(await post(LIST, '{"json":{"limit":0,"page":0,"serach":"x","tag/s~":1}}'), {
      ...invalid,
      path: 'game.list',
      issues: [
        { path: '/limit', code: 'too_small', message: 'must be a whole number from 1 to 100' },
        { path: '/page', code: 'too_small', message: 'must be a whole number from 1 to 2147483647' },
        {
          path: '/serach',
          code: 'unrecognized_keys',
          message: 'is not a member of this input; did you mean `search`?',
        },
        {
          path: '/tag~1s~0',
          code: 'unrecognized_keys',
          message: 'is not a member of this input; did you mean `tagSlugs`?',
        },
      ],
    });
  });

  test('names a member beside `json`', async () => {
    expectFailure(await post(LIST, '{"json":{"limit":1,"page":1},"limit":1}'), {
      ...invalid,
      path: 'game.list',
      issues: [{ path: '', code: 'unrecognized_keys', message: 'must not hold "limit" beside `json`' }],
    });
  });

  test('names 1000 faults at most, and says so', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`unknown ${n}`, n]));
    const games = Array.from({ length: 100 }, () => ({ title: 'x', ...unknown }));
    const { issues, data } = await app.fail('game.batchCreate', { games }, 400, key);
    expect(issues).toHaveLength(1000);
    expect(data.hint).toBe('Only the first 1000 faults are listed in `issues`.');
  });

  test.each([UNKNOWN_ID, 'malformed', '../../etc/passwd', "' OR 1=1 --"])('to the unknown id %p is 404', async (id) => {
    expectFailure(await post('/api/trpc/game.getById', JSON.stringify({ json: { id } })), {
      ...notFound,
      reason: 'GAME_NOT_FOUND',
      path: 'game.getById',
      ...(id !== UNKNOWN_ID && { hint: expect.stringMatching(/^This is not an id of this service: /) }),
    });
  });

  test.each([
    ['a success', STATS, 200],
    ['a failure', LIST, 400],
    ['an unknown procedure', '/api/trpc/game.steal', 404],
    ['an unknown path', '/nowhere', 404],
  ])('carries the security and CORS headers: %s', async (_, path, status) => {
    const reply = await post(path, '{}', { Origin: 'https://app.example.com' });
    expect(reply.status).toBe(status);
    expect(reply.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers':
        'Accept-Encoding,Deprecation,ETag,Idempotency-Replayed,Link,RateLimit,RateLimit-Policy,Retry-After,Sunset,WWW-Authenticate,X-Request-Id,X-Should-Retry',
      'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      'cross-origin-resource-policy': 'cross-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
    });
    expect(Object.keys(reply.headers)).not.toContain('x-powered-by');
    expect(Object.keys(reply.headers)).not.toContain('etag');
  });

  test.each(['abc', 'A.b_c:1-2', 'x'.repeat(128), '019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f02'])(
    'echoes the request id %p',
    async (id) => {
      expect((await post(STATS, '{}', { 'X-Request-Id': id })).headers['x-request-id']).toBe(id);
      const failure = await post(LIST, '{}', { 'X-Request-Id': id });
      expect(failure).toMatchObject({ body: { error: { json: { data: { requestId: id } } } } });
    },
  );

  test.each(['', 'x'.repeat(129), 'a b', 'größe', '<script>', 'a,b'])('replaces the request id %p', async (id) => {
    const { headers } = await post(STATS, '{}', { 'X-Request-Id': id });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });
});

describe('a body', () => {
  const valid = '{"json":{"limit":1,"page":1}}';
  const LEAST = '{"json":{"limit":20,"page":1}}';

  test.each<[name: string, body: string | Buffer]>([
    ['cut short', valid.slice(0, -1)],
    ['no JSON', 'limit=1&page=1'],
    ['JSON and more', `${valid}{}`],
    ['with a trailing comma', '{"json":{"limit":1,"page":1,}}'],
    ['with NaN', '{"json":{"limit":NaN,"page":1}}'],
    ['with a broken byte', withBytes(0xff)],
    ['with half a character', withBytes(0xe4, 0xbc)],
    ['with a surrogate in UTF-8', withBytes(0xed, 0xa0, 0x80)],
    ['in UTF-16', Buffer.from(valid, 'utf16le')],
    ['of brackets that are not closed', `{"json":${'['.repeat(60_000)}`],
  ])('%s is no JSON', async (_, body) => {
    const hint = expect.stringMatching(/^(Line 1, column \d+: .*|The body is not UTF-8)/);
    expectFailure(await post(LIST, body), { ...malformed, path: 'game.list', hint });
  });

  test.each([
    ['missing', '', '', `is required: send ${LEAST}`],
    ['without `json`', '{}', '', `is required: send ${LEAST}`],
    ['an array', '[]', '', `must be an object such as ${LEAST}, not an array; ${IN_PHP}`],
    ['null', 'null', '', 'must be an object, not null'],
    ['a text', '"json"', '', `must be an object such as ${LEAST}, not a string`],
    ['an array of parameters', '{"json":[]}', '', EMPTY_ARRAY],
    ['without parameters', '{"json":null}', '', 'must be an object, not null'],
    [
      '4 000 arrays deep',
      `{"json":${'['.repeat(4000)}${']'.repeat(4000)}}`,
      '',
      'must be an object, not an array; give its values names, such as `limit`',
    ],
    ['with a useless `meta`', '{"json":{"limit":1,"page":1},"meta":1}', '/meta', 'must be an object, not a number'],
  ])('%s does not fit the schema', async (_, body, path, message) => {
    expectFailure(await post(LIST, body), {
      ...invalid,
      path: 'game.list',
      issues: [{ path, code: 'invalid_type', message }],
    });
  });

  test('4 000 objects deep is refused by its first unknown member', async () => {
    const body = `{"json":{"limit":1,"page":1,"x":${'{"x":'.repeat(4000)}1${'}'.repeat(4000)}}}`;
    expectFailure(await post(LIST, body), {
      ...invalid,
      path: 'game.list',
      issues: [{ path: '/x', code: 'unrecognized_keys', message: 'is not a member of this input' }],
      hint: expect.stringContaining('takes `limit`, `page`, '),
    });
  });

  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])(
    'cannot smuggle in a member called %s',
    async (member) => {
      const body = `{"json":{"title":"x","extraInfo":{"${member}":{}},"${member}":{"isFree":false}}}`;
      expectFailure(await post(CREATE, body, KEY), {
        ...invalid,
        path: 'game.create',
        issues: [`/extraInfo/${member}`, `/${member}`].map((path) => ({
          path,
          code: 'unrecognized_keys',
          message: 'is not a member of this input',
        })),
        hint: expect.stringContaining('takes `title`, '),
      });
    },
  );

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json ; charset="utf-8"',
    'APPLICATION/JSON; CHARSET=utf8',
    'application/json; profile="a;b=\\"c\\""; charset=utf-8',
  ])('may be sent as %s', async (type) => {
    expect(await send(LIST, { body: valid, headers: { 'Content-Type': type } })).toMatchObject({ status: 200 });
  });

  const SEND_JSON = expect.stringContaining('`Content-Type: application/json`');
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/ld+json',
    'text/json',
    'json',
    '',
    'application/json, text/plain',
    'application/json; charset=utf-16',
    'application/json; charset="latin1"',
    'application/json; charset=""',
  ])('may not be sent as %p', async (type) => {
    const reply = await send(LIST, { body: valid, headers: { 'Content-Type': type } });
    expectFailure(reply, { ...wrongType, path: 'game.list', hint: SEND_JSON });
  });

  test('needs a media type, also without an announced length', async () => {
    const hint = 'The body has no `Content-Type`. Send `Content-Type: application/json`.';
    expectFailure(await send(LIST, { body: valid }), { ...wrongType, path: 'game.list', hint });
    expectFailure(await send(LIST, { body: valid, chunked: true }), { ...wrongType, path: 'game.list', hint });
  });

  test.each<[encoding: string, body: string | Buffer]>([
    ['identity', valid],
    ['gzip', gzipSync(valid)],
    ['GZIP', gzipSync(valid)],
    ['deflate', deflateSync(valid)],
    ['gzip', Buffer.concat([gzipSync(valid.slice(0, 5)), gzipSync(valid.slice(5))])],
  ])('may be encoded: %s', async (encoding, body) => {
    expect(await post(LIST, body, { 'Content-Encoding': encoding })).toMatchObject({ status: 200 });
  });

  test.each(['br', 'compress', 'zstd', 'gzip, gzip', 'x-gzip', 'utf-8'])('may not be encoded: %s', async (encoding) => {
    const reply = await post(LIST, brotliCompressSync(valid), { 'Content-Encoding': encoding });
    const hint = `The content encoding \`${encoding}\` is not supported. Send the body plain, or encoded with gzip or deflate.`;
    expectFailure(reply, { ...wrongType, path: 'game.list', hint });
    expect(reply.headers['accept-encoding']).toBe('gzip, deflate');
  });

  test('of another media type is not told about encodings', async () => {
    const reply = await send(LIST, { body: valid, headers: { 'Content-Type': 'text/plain' } });
    expect(reply.status).toBe(415);
    expect(reply.headers['accept-encoding']).toBeUndefined();
  });

  const flipped = (packed: Buffer, at: number): Buffer => {
    const copy = Buffer.from(packed);
    copy.writeUInt8(copy.readUInt8(copy.length + at) ^ 1, copy.length + at);
    return copy;
  };

  test.each<[name: string, encoding: string, body: string | Buffer]>([
    ['no gzip', 'gzip', valid],
    ['gzip cut short', 'gzip', gzipSync(valid).subarray(0, -12)],
    ['gzip without its last byte', 'gzip', gzipSync(valid).subarray(0, -1)],
    ['gzip with another checksum', 'gzip', flipped(gzipSync(valid), -6)],
    ['gzip and more', 'gzip', Buffer.concat([gzipSync(valid), Buffer.from('{}')])],
    ['gzip and zeros', 'gzip', Buffer.concat([gzipSync(valid), Buffer.alloc(5)])],
    ['gzip called deflate', 'deflate', gzipSync(valid)],
    ['deflate without zlib’s wrapper', 'deflate', deflateRawSync(valid)],
    ['deflate without its last byte', 'deflate', deflateSync(valid).subarray(0, -1)],
    ['deflate and more', 'deflate', Buffer.concat([deflateSync(valid), Buffer.from('{}')])],
  ])('whose encoding is broken is no JSON: %s', async (_, encoding, body) => {
    const reply = await post(LIST, body, { 'Content-Encoding': encoding });
    expectFailure(reply, { ...malformed, path: 'game.list', hint: `The body is not well-formed ${encoding}.` });
  });

  describe('has a size', () => {
    const posts = '{"json":{"posts":[{"title":"large","images":["https://images.example.com/1.png"]}]}}';
    const sizes = [
      { path: LIST, body: valid, limit: MIB / 16 },
      { path: CREATE, body: '{"json":{"title":"large"}}', limit: MIB },
      { path: '/api/trpc/game.batchCreate', body: '{"json":{"games":[{"title":"large"}]}}', limit: 4 * MIB },
      { path: '/api/trpc/image.batchCreate', body: posts, limit: 4 * MIB },
    ];

    test.each(sizes)('of up to $limit bytes: $path', async ({ path, body, limit }) => {
      const packed = { ...KEY, 'Content-Encoding': 'gzip' };
      for (const [pack, headers] of [[(text: string) => text, KEY] as const, [gzipSync, packed] as const]) {
        expect(await post(path, pack(body.padEnd(limit)), headers)).toMatchObject({ status: 200 });
        const tooLong = await post(path, pack(body.padEnd(limit + 1)), headers);
        expectFailure(tooLong, { ...tooLarge, path: procedureOf(path) });
      }
    });

    test.each<[name: string, sent: RawRequest]>([
      ['5 MiB', { body: valid.padEnd(5 * MIB) }],
      ['5 MiB without an announced length', { body: valid.padEnd(5 * MIB), chunked: true }],
      ['64 MiB, packed', { body: gzipSync(valid.padEnd(64 * MIB)), headers: { 'Content-Encoding': 'gzip' } }],
    ])('that is not exceeded: %s', async (_, { headers, ...sent }) => {
      const reply = await send(LIST, { ...sent, headers: { ...JSON_TYPE, ...headers } });
      expectFailure(reply, { ...tooLarge, path: 'game.list' });
    });
  });
});

describe('an operation without parameters', () => {
  const undefinedInput = '{"json":null,"meta":{"values":["undefined"],"v":1}}';

  test.each<[name: string, sent: RawRequest]>([
    ['no body', {}],
    ['an empty body', { headers: JSON_TYPE, body: '' }],
    ['no body, chunked', { headers: JSON_TYPE, body: '', chunked: true }],
    ['{}', { headers: JSON_TYPE, body: '{}' }],
    ['{"json":{}}', { headers: JSON_TYPE, body: '{"json":{}}' }],
    [undefinedInput, { headers: JSON_TYPE, body: undefinedInput }],
  ])('takes %s', async (_, { headers, ...sent }) => {
    expect(await send(STATS, { ...sent, headers })).toMatchObject({ status: 200, body: await stats() });
    const me = await send('/api/trpc/user.me', { ...sent, headers: { ...headers, ...KEY } });
    const expected = await app.call('user.me', {}, key);
    expect(me).toMatchObject({ status: 200, body: { result: { data: { json: expected } } } });
  });

  test.each([
    ['{"json":null}', 'must be an object, not null'],
    ['{"json":[]}', EMPTY_ARRAY],
    ['{"json":"undefined","meta":{"values":["undefined"]}}', 'must be an object, not a string'],
  ])('refuses %s', async (body, message) => {
    const issues = [{ path: '', code: 'invalid_type', message }];
    expectFailure(await post(STATS, body), { ...invalid, path: 'game.getTypeStats', issues });
  });
});

describe('the `meta` of superjson', () => {
  const sparse = {
    title: 'sparse',
    description: null,
    extraInfo: { originalName: null, downloads: [{ name: 'x', url: 'https://example.com/', password: null }] },
  };
  const undefinedMembers = {
    description: ['undefined'],
    'extraInfo.originalName': ['undefined'],
    'extraInfo.downloads.0.password': ['undefined'],
  };

  test('tells which members were undefined, at any depth', async () => {
    const created = await post(CREATE, JSON.stringify({ json: sparse, meta: { values: undefinedMembers, v: 1 } }), KEY);
    expect(created).toMatchObject({
      status: 200,
      body: { result: { data: { json: { title: 'sparse', description: null, extraInfo: { originalName: null } } } } },
    });
    const values = { 'games.1.coverUrl': ['undefined'], 'games.0.gameType': ['undefined'] };
    const games = [
      { title: 'first', gameType: null },
      { title: 'second', coverUrl: null },
    ];
    const batch = await post('/api/trpc/game.batchCreate', JSON.stringify({ json: { games }, meta: { values } }), KEY);
    expect(batch).toMatchObject({ status: 200, body: { result: { data: { json: { items: games } } } } });
  });

  test('without it, null is null', async () => {
    expectFailure(await post(CREATE, JSON.stringify({ json: sparse }), KEY), {
      ...invalid,
      path: 'game.create',
      issues: ['/description', '/extraInfo/originalName', '/extraInfo/downloads/0/password'].map((path) => ({
        path,
        code: 'invalid_type',
        message: 'must be a string, not null; leave it out for none',
      })),
    });
  });

  test('says nothing of members that must be there or are not null', async () => {
    const meta = { values: { title: ['undefined'], isFree: ['undefined'] } };
    expectFailure(await post(CREATE, JSON.stringify({ json: { title: null, isFree: 'no' }, meta }), KEY), {
      ...invalid,
      path: 'game.create',
      issues: [
        { path: '/title', code: 'invalid_type', message: 'is required' },
        { path: '/isFree', code: 'invalid_type', message: 'must be true or false, not a string' },
      ],
    });
  });

  test.each([
    {},
    { values: { limit: ['Date'], page: ['bigint'] } },
    { referentialEqualities: { limit: ['page'] }, v: 1 },
    JSON.parse('{"__proto__":{"values":{"limit":["undefined"]}}}') as object,
  ])('is ignored beyond that: %j', async (meta) => {
    const body = JSON.stringify({ json: { limit: 1, page: 1 }, meta });
    expect(await post(LIST, body)).toMatchObject({ status: 200, body: { result: { data: { json: { limit: 1 } } } } });
  });

  test('8 000 levels deep is ignored too', async () => {
    const deep = `${'["set",{"x":'.repeat(4000)}["undefined"]${'}]'.repeat(4000)}`;
    expect(await post(STATS, `{"json":{},"meta":{"values":${deep}}}`)).toMatchObject({ status: 200 });
  });
});

describe('a path', () => {
  const DOCS = expect.stringContaining('`/docs/` lists all procedures.');
  const CALLED = expect.stringContaining('Procedures are called by `POST /api/trpc/<router>.<procedure>`');

  test.each([
    ['an unknown procedure', '/api/trpc/game.steal'],
    ['an unknown router', '/api/trpc/book.list'],
    ['another case', '/api/trpc/game.getbyid'],
    ['another case of the router', '/api/trpc/Game.list'],
    ['a slash at the end', `${LIST}/`],
    ['two slashes', '/api/trpc//game.list'],
    ['a slash for the dot', '/api/trpc/game/list'],
    ['an escaped dot', '/api/trpc/game%2Elist'],
    ['an escape cut short', '/api/trpc/%'],
    ['an escape of nothing', '/api/trpc/%ZZ'],
    ['a broken character', '/api/trpc/%FF'],
    ['no procedure', '/api/trpc/'],
    ['__proto__', '/api/trpc/__proto__'],
    ['a member of every object', '/api/trpc/game.constructor'],
    ['2000 characters', `/api/trpc/${'x'.repeat(2000)}`],
  ])('of %s is no procedure', async (_, path) => {
    for (const method of ['POST', 'GET']) {
      const reply = await send(path, { method, headers: JSON_TYPE });
      expectFailure(reply, { ...notFound, reason: 'PROCEDURE_NOT_FOUND', path: null, hint: DOCS });
    }
  });

  test.each([
    ['/api/trpc', CALLED],
    ['/api', CALLED],
    ['/nowhere', undefined],
    ['/%ZZ', undefined],
    ['/%', undefined],
    ['/API/TRPC/game.list', CALLED],
    ['//api/trpc/game.list', CALLED],
    ['/healthz/', 'Did you mean `/healthz`?'],
  ])('%s leads nowhere', async (path, hint) => {
    for (const method of ['POST', 'GET']) {
      const reply = await send(path, { method, headers: JSON_TYPE });
      expectFailure(reply, { ...notFound, reason: 'ROUTE_NOT_FOUND', path: null, hint });
    }
  });

  test('may have a query, which is not read', async () => {
    expect(await post(`${LIST}?limit=5&input=%7B%7D`, '{"json":{"limit":1,"page":1}}')).toMatchObject({ status: 200 });
  });
});

describe('a method', () => {
  test.each([
    ['GET', CREATE],
    ...['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'].flatMap((method) => [
      [method, CREATE],
      [method, STATS],
    ]),
  ])('%s does not go with %s', async (method, path) => {
    const reply = await send(path, { method });
    const methods = path === CREATE ? 'POST' : 'GET, HEAD or POST';
    expectFailure(reply, {
      ...wrongMethod,
      path: procedureOf(path),
      hint: expect.stringContaining(`Send ${methods}, not ${method}.`),
    });
    expect(reply.headers.allow).toBe(path === CREATE ? 'POST' : 'GET, HEAD, POST');
  });

  test('HEAD is not POST either, and its reply has no body', async () => {
    const reply = await send(CREATE, { method: 'HEAD' });
    expect(reply).toMatchObject({ status: 405, headers: { allow: 'POST' }, body: '' });
  });

  test('OPTIONS answers a browser that asks beforehand', async () => {
    const reply = await send(CREATE, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://app.example.com',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type,x-request-id',
      },
    });
    expect(reply).toMatchObject({
      status: 204,
      body: '',
      headers: {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET,HEAD,POST',
        'access-control-allow-headers': 'authorization,content-type,x-request-id',
        'access-control-max-age': '86400',
      },
    });
  });
});

describe('a credential', () => {
  test.each(badKeys)('that does not work is refused on a public operation: %s', async (reason, badKey) => {
    const reply = await post(STATS, '{}', { Authorization: `Bearer ${badKey}` });
    const hint = reason === 'KEY_MALFORMED' ? 'The key is cut off. A key has 42 characters.' : undefined;
    expectFailure(reply, { ...unauthorized, reason: reason as Reason, path: 'game.getTypeStats', hint });
    expect(reply.headers['www-authenticate']).toBe('Bearer realm="content-gateway", error="invalid_token"');
  });

  test.each([
    '',
    'Bearer',
    'Bearer x',
    key,
    `Basic ${Buffer.from(`user:${key}`).toString('base64')}`,
    `Bearer ${key} ${key}`,
    `Bearer ${key},`,
    `Bearer "${key}"`,
    `Bearer ${key.toLowerCase()}`,
    `Bearer ${key}x`,
    `Bearer\t${key}`,
    `Bearer ${'x'.repeat(8000)}`,
  ])('that is not written as it should be is refused: %p', async (authorization) => {
    const reply = await post(STATS, '{}', { Authorization: authorization });
    const hint = expect.not.stringContaining(key.slice(4, 12));
    expectFailure(reply, { ...unauthorized, reason: 'KEY_MALFORMED', path: 'game.getTypeStats', hint });
  });

  test.each([`Bearer ${key}`, `bearer ${key}`, `BEARER   ${key}`])('works: %p', async (authorization) => {
    expect(await post(STATS, '{}', { Authorization: authorization })).toMatchObject({ status: 200 });
  });

  test('that is missing is asked for', async () => {
    const reply = await post('/api/trpc/user.me', '{}');
    expectFailure(reply, { ...unauthorized, reason: 'KEY_MISSING', path: 'user.me' });
    expect(reply.headers['www-authenticate']).toBe('Bearer realm="content-gateway"');
  });
});

test('the checks come in their order: method, media type, credential, scope, size, JSON, schema, record', async () => {
  const reader = await app.aUser({ scopes: ['user:read'] });
  const path = 'image.update';
  const large = '{'.padEnd(2 * MIB);
  const sent = { method: 'POST', headers: JSON_TYPE, body: large };
  const withKey = { ...sent, headers: { ...JSON_TYPE, ...KEY } };

  expectFailure(await send('/api/trpc/image.updat', { method: 'PUT', body: large }), {
    ...notFound,
    reason: 'PROCEDURE_NOT_FOUND',
    path: null,
    hint: expect.stringContaining('`image.update`'),
  });
  const url = `/api/trpc/${path}`;
  expectFailure(await send(url, { method: 'PUT', body: large }), { ...wrongMethod, path, hint: expect.anything() });
  expectFailure(await send(url, { body: large }), { ...wrongType, path, hint: expect.anything() });
  expectFailure(await send(url, sent), { ...unauthorized, reason: 'KEY_MISSING', path });
  const headers = { ...JSON_TYPE, Authorization: `Bearer ${reader.key}` };
  expectFailure(await send(url, { ...sent, headers }), {
    ...forbidden,
    path,
    hint: 'This operation needs the scope content:write; the key has user:read.',
  });
  expectFailure(await send(url, withKey), { ...tooLarge, path });
  expectFailure(await send(url, { ...withKey, body: '{' }), { ...malformed, path, hint: expect.anything() });
  const faulty = JSON.stringify({ json: { id: UNKNOWN_ID, title: '' } });
  expectFailure(await send(url, { ...withKey, body: faulty }), {
    ...invalid,
    path,
    issues: [{ path: '/title', code: 'too_small', message: 'must have at least 1 character, has 0' }],
  });
  const unknown = JSON.stringify({ json: { id: UNKNOWN_ID, title: 'x' } });
  expectFailure(await send(url, { ...withKey, body: unknown }), { ...notFound, reason: 'IMAGE_POST_NOT_FOUND', path });
});

describe('what is no HTTP', () => {
  // The words are those of Node's parser, and change with it.
  const PARSER = expect.stringMatching(/^\w.*\w\.$/);
  const LENGTH = expect.stringContaining('Content-Length');
  const NO_HOST = 'Send the header `Host`, a host name with or without a port.';
  const start = `POST ${STATS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;

  test.each([
    ['garbage', 'garbage\r\n\r\n', PARSER],
    ['a path without a slash', 'POST api HTTP/1.1\r\nHost: x\r\n\r\n', PARSER],
    ['a null character', 'GET /healthz\0 HTTP/1.1\r\nHost: x\r\n\r\n', PARSER],
    ['a length that is no number', `${start}Content-Length: x\r\n\r\n`, LENGTH],
    ['two lengths', `${start}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`, LENGTH],
    ['a length and chunks', `${start}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`, LENGTH],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', PARSER],
    ['no host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', NO_HOST],
    ['no usable host', 'GET /healthz HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n', NO_HOST],
  ])('is refused with the envelope: %s', async (_, text, hint) => {
    const reply = parseReply(await writeRaw(app.url, text));
    expectFailure(reply, { ...notHttp, hint });
    expect(reply.headers).toMatchObject({
      connection: 'close',
      date: expect.any(String),
      'access-control-allow-origin': '*',
      'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
    });
  });

  test('is refused as the request that it is in', async () => {
    const sent = `${start}X-Request-Id: broken\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n`;
    const reply = parseReply(await writeRaw(app.url, sent));
    expectFailure(reply, { ...notHttp, path: 'game.getTypeStats', hint: expect.stringContaining('chunk') });
    expect(reply.headers).toMatchObject({ connection: 'close', 'x-request-id': 'broken' });
  });

  test('is refused after what came before it was answered', async () => {
    const both = await writeRaw(app.url, `GET ${STATS} HTTP/1.1\r\nHost: x\r\n\r\ngarbage\r\n\r\n`);
    const second = both.lastIndexOf('HTTP/1.1 ');
    expect(parseReply(both.slice(0, second))).toMatchObject({ status: 200, body: await stats() });
    expectFailure(parseReply(both.slice(second)), { ...notHttp, hint: PARSER });
  });

  test('HTTP/1.0 needs no host', async () => {
    expect(parseReply(await writeRaw(app.url, 'GET /healthz HTTP/1.0\r\n\r\n'))).toMatchObject({
      status: 200,
      body: { status: 'ok' },
    });
  });

  test('an expectation that nobody knows is ignored', async () => {
    const reply = await writeRaw(app.url, `${start}Expect: tea\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`);
    expect(parseReply(reply)).toMatchObject({ status: 200, body: await stats() });
  });

  test('a caller that asks whether to go on is told so', async () => {
    const reply = await writeRaw(
      app.url,
      `${start}Expect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
  });
});

describe('headers', () => {
  const ask = async (headers: string) =>
    parseReply(
      await writeRaw(app.url, `POST ${STATS} HTTP/1.1\r\n${headers}Connection: close\r\nContent-Length: 2\r\n\r\n{}`),
    );
  const usual = 'Host: x\r\nContent-Type: application/json\r\n';
  const tooMany = {
    status: 431,
    code: 'BAD_REQUEST',
    number: -32600,
    reason: 'HEADERS_TOO_LARGE',
    path: null,
  } as const;

  test.each([
    ['Host', 'x'],
    ['HOST', 'y'],
    ['Content-Type', 'application/json'],
    ['content-type', 'text/plain'],
  ])('come once: %s', async (name, value) => {
    expectFailure(await ask(`${usual}${name}: ${value}\r\n`), {
      ...notHttp,
      hint: `Send the header \`${name}\` once.`,
    });
  });

  test.each(['Authorization', 'authoRization', 'Origin', 'Idempotency-Key'])('come once: %s', async (name) => {
    const reply = await ask(`${usual}${name}: Bearer ${key}\r\nX-Other: x\r\n${name.toLowerCase()}: x\r\n`);
    expectFailure(reply, { ...notHttp, hint: `Send the header \`${name.toLowerCase()}\` once.` });
  });

  test('may come twice where they are lists, or others', async () => {
    const twice =
      'Accept: text/html\r\nX-Forwarded-For: 192.0.2.1\r\nCache-Control: no-cache\r\nAccept-Language: ja\r\n';
    expect(await ask(`${usual}${twice}${twice}`)).toMatchObject({ status: 200, body: await stats() });
  });

  test('are all seen, up to 1000', async () => {
    const others = 'a:\r\n'.repeat(1000 - 4);
    expect(await ask(`${usual}${others}`)).toMatchObject({ status: 200 });
    const last = await ask(`${usual}${others.slice(4)}Authorization: Bearer x\r\n`);
    expectFailure(last, {
      ...unauthorized,
      reason: 'KEY_MALFORMED',
      path: 'game.getTypeStats',
      hint: expect.stringContaining('no API key'),
    });
    expectFailure(await ask(`${usual}${others}Authorization: Bearer x\r\n`), tooMany);
    expectFailure(await ask(`${usual}${'a:\r\n'.repeat(15_000)}Authorization: Bearer x\r\n`), tooMany);
  });

  const batch = JSON.stringify({ 0: { json: {} }, 1: { json: {} } });
  const newKey = JSON.stringify({ json: { name: 'another', scopes: ['user:read'] } });
  test.each([
    ['a new key', 200, '/api/trpc/apiKey.create', newKey, KEY],
    ['a read', 200, STATS, '{}', {}],
    ['a failure', 400, CREATE, '{', KEY],
    ['a call that nobody may make', 401, CREATE, '{}', {}],
    ['a batch', 200, `${STATS},game.getTypeStats?batch=1`, batch, {}],
    ['a batch in lines', 200, `${STATS},user.me?batch=1`, batch, { 'trpc-accept': 'application/jsonl' }],
    ['a stream', 200, '/api/trpc/event.tail', '{"json":{"maxDuration":1}}', { Accept: 'text/event-stream' }],
    ['a tool', 200, '/mcp', '{"jsonrpc":"2.0","id":1,"method":"ping"}', { Accept: 'application/json' }],
    ['no path of ours', 404, '/nowhere', '{}', {}],
  ])('have no cache keep the reply to a POST: %s', async (_, status, path, body, headers) => {
    const reply = await post(path, body, headers);
    expect([reply.status, reply.headers['cache-control']]).toEqual([status, expect.stringMatching(/^no-store(?:,|$)/)]);
  });

  test('have no cache keep the reply to what is no request', async () => {
    expect(parseReply(await writeRaw(app.url, 'POST / HTTP/1.1\r\nHost\r\n\r\n')).headers).toMatchObject({
      'cache-control': 'no-store',
    });
  });

  test('have 16 KiB in all', async () => {
    expect(await ask(`${usual}X: ${'x'.repeat(15_000)}\r\n`)).toMatchObject({ status: 200 });
    const reply = await ask(`${usual}X: ${'x'.repeat(20_000)}\r\n`);
    expectFailure(reply, tooMany);
    expect(reply.headers).toMatchObject({ connection: 'close', 'x-content-type-options': 'nosniff' });
  });
});
