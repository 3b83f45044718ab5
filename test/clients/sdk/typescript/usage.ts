// What a program gets that uses a client wrongly: the package's own error before anything is sent.
import assert from 'node:assert/strict';
import { ContentGateway, UsageError, unwrapWebhook } from 'content-gateway-client';
import type { Fetch } from 'content-gateway-client';

const PASSWORD = 'hunter2';

const bodies: unknown[] = [];
const fetch: Fetch = async (url, { body }) => {
  bodies.push(JSON.parse(body ?? new URL(url).searchParams.get('input') ?? ''));
  const page = { items: [], page: 1, limit: 20, total: 0, totalRelation: 'eq', hasMore: false, nextCursor: null };
  return Response.json({ result: { data: { json: page } } });
};
const gateway = new ContentGateway({ baseUrl: 'https://gateway.invalid', apiKey: 'cgk_usage', fetch });
/** For what TypeScript forbids, and JavaScript doesn't. */
interface Untyped {
  call: (...values: unknown[]) => Promise<unknown>;
  withOptions: (options: unknown) => Untyped;
  event: { tail: (...values: unknown[]) => unknown };
  game: { list: (...values: unknown[]) => Promise<unknown>; listAll: (...values: unknown[]) => AsyncIterable<unknown> };
}
const untyped = gateway as unknown as Untyped;

/** The error of wrong usage. */
const refused = async (use: () => unknown): Promise<UsageError> => {
  try {
    await use();
  } catch (error) {
    assert(error instanceof UsageError && error instanceof TypeError, String(error));
    return error;
  }
  throw new Error('It is not refused.');
};

// A base URL that has more than an address would send that in place of the key, or elsewhere.
for (const baseUrl of [
  `https://me:${PASSWORD}@gateway.invalid`,
  `https://${PASSWORD}@gateway.invalid`,
  `https://:${PASSWORD}@gateway.invalid/base`,
  `https://me%40:${PASSWORD}%2f@gateway.invalid`,
  `https:\\\\me:${PASSWORD}@gateway.invalid`,
  `https://gateway.invalid?key=${PASSWORD}`,
  'https://gateway.invalid?',
  `https://gateway.invalid/#${PASSWORD}`,
  `ftp://gateway.invalid/${PASSWORD}`,
  'https://gateway.invalid:65536',
]) {
  process.env['CONTENT_GATEWAY_URL'] = baseUrl;
  for (const use of [
    () => new ContentGateway({ baseUrl }),
    () => new ContentGateway(),
    () => gateway.withOptions({ baseUrl }),
  ]) {
    const { message, cause } = await refused(use);
    assert(
      message.includes('must be an http or https URL') && !`${message} ${String(cause)}`.includes(PASSWORD),
      message,
    );
  }
}

// Half of a surrogate pair is no text, wherever it is.
for (const half of ['\ud800', 'a\udfff', '\ud83d \ude00', '\\\ud800']) {
  for (const use of [
    () => gateway.game.create({ title: half }),
    () => gateway.game.create({ title: 'a', tagNames: ['b', half] }),
    () => gateway.game.getById(half),
    () => gateway.game.list({ cursor: half }),
    () => gateway.game.listAll({ cursor: half })[Symbol.asyncIterator]().next(),
    () => gateway.event.tail({ after: half }).next(),
    () => gateway.event.follow({ after: half }).next(),
    () => gateway.call('game.getNewest', { a: [{ [half]: 1 }] }),
    () => gateway.call('game.getNewest', { a: { toJSON: () => half } }),
    () => gateway.call('game.getNewest', {}, { headers: { 'X-Name': half } }),
    () => gateway.call('game.getNewest', {}, { idempotencyKey: half }),
  ]) {
    await refused(use);
  }
}

// Nor has every value a form in JSON, or a meaning.
const loop: Record<string, unknown> = {};
loop['itself'] = loop;
for (const input of [loop, { a: 1n }, [1], 'text', 7]) await refused(() => untyped.call('game.getNewest', input));
for (const use of [
  () => untyped.call(7),
  () => untyped.call('game.getNewest', {}, { timeoutMs: '5' }),
  () => untyped.call('game.getNewest', {}, { maxRetries: 1.5 }),
  () => untyped.withOptions({ appName: 7, apiKey: 'a b' }),
  () => untyped.event.tail({}, { silenceMs: null }),
  () => unwrapWebhook('', {}, ''),
]) {
  await refused(use);
}
assert.deepEqual(bodies, []);

// All other text arrives as it is, and null is what is left out.
for (const text of ['😀', '\\ud800', '\\\\ud83d', '�', '\u2028', '星']) {
  await gateway.call('game.getNewest', { a: text });
  assert.deepEqual(bodies.pop(), { json: { a: text } });
}
await untyped.call('game.getNewest', null, null);
await untyped.withOptions(null).call('game.getNewest', undefined, { headers: null });
await untyped.game.list(null, null);
for await (const _ of untyped.game.listAll(null, null));
assert.deepEqual(bodies, [
  { json: {} },
  { json: {} },
  { json: { page: 1, limit: 20 } },
  { json: { page: 1, limit: 100 } },
]);
assert.throws(() => new (ContentGateway as unknown as new (options: null) => unknown)(null), UsageError);
