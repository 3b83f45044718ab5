/**
 * @engines sqlite
 * @tier fast
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createTRPCClient, httpSubscriptionLink, TRPCClientError } from '@trpc/client';
import { EventSource } from 'eventsource';
import superjson from 'superjson';
import { contract, type ErrorResponse, MAX_TAILS, STREAM_TYPE } from '../../contract/index.ts';
import type { AppRouter } from '../../openapi/trpc.ts';
import { suspendUser } from '../../src/admin/moderation/users.ts';
import { systemActor } from '../../src/auth/audit/log.ts';
import { revokeKey } from '../../src/auth/service.ts';
import { closeFeed } from '../../src/event/outbox/feed.ts';
import { clientSubnet } from '../../src/limits/caller.ts';
import { type Output, startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { type EventStream, eventsIn, openEventStream } from '../harness/http/event-stream.ts';
import { until } from '../harness/until.ts';

type Failure = ErrorResponse['error'];
type EventItem = Output<'event.list'>['items'][number];

let app: TestApp;
const streams: EventStream[] = [];
beforeAll(async () => {
  app = await startApp();
  app.context.lifecycle.relay.start();
});
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await until(() => app.context.tails.size === 0);
});
afterAll(() => app.stop());

const tail = async (options: Parameters<typeof openEventStream>[1] = {}, base = app.url): Promise<EventStream> => {
  const stream = await openEventStream(base, options);
  streams.push(stream);
  await until(() => stream.messages.length > 0);
  return stream;
};

const events = (stream: EventStream): EventItem[] => eventsIn<EventItem>(stream.messages);
const untilIts = (stream: EventStream, count: number): Promise<void> =>
  until(() => events(stream).length >= count, { seen: () => JSON.stringify(stream.messages) });
const latest = async (): Promise<string> => {
  await app.context.lifecycle.relay.moveNow();
  return (await app.call('event.list', { start: 'latest' })).nextCursor;
};

describe('event.tail', () => {
  test('sends events as they happen, as the list has them, each with the cursor after it', async () => {
    const author = await app.aUser();
    const after = await latest();
    const stream = await tail();
    expect(stream.response.statusCode).toBe(200);
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'access-control-allow-origin': '*',
    });
    expect(stream.messages[0]).toEqual({ event: 'connected', data: expect.any(String), id: after });
    for (let n = 0; n < 3; n += 1) await app.aGame({}, author);
    await untilIts(stream, 3);
    const { items } = await app.call('event.list', { after });
    expect(events(stream)).toEqual(items);
    const last = stream.messages.filter(({ event }) => event === 'message').at(-2);
    const following = await app.call('event.list', { after: last?.id });
    expect(following.items).toEqual(items.slice(2));
  });

  test('begins where it is told, catches up, and goes on', async () => {
    const author = await app.aUser();
    const after = await latest();
    const ids: string[] = [];
    // More than a tail reads at once.
    for (const length of [60, 60]) {
      const games = Array.from({ length }, () => ({ title: 'many' }));
      const { items } = await app.call('game.batchCreate', { games }, author.key);
      ids.push(...items.map(({ id }) => id));
    }
    await app.context.lifecycle.relay.moveNow();
    const [all, resumed, some] = await Promise.all([
      tail({ input: { after } }),
      // A browser sends the header; tRPC's clients send a member.
      tail({ input: { after: 'x', lastEventId: 'y' }, lastEventId: after }),
      tail({ input: { lastEventId: after, start: 'earliest' } }),
    ]);
    for (let n = 0; n < 5; n += 1) ids.push((await app.aGame({}, author)).id);
    for (const stream of [all, resumed, some]) {
      await untilIts(stream, 125);
      expect(events(stream).map(({ record }) => record.id)).toEqual(ids);
    }
    const oldest = await tail({ input: { start: 'earliest' } });
    await untilIts(oldest, 1);
    expect(events(oldest)[0]?.position).toBe(1);
  });

  test('keeps to its filters, and adds records', async () => {
    const author = await app.aUser();
    const post = await app.anImagePost({}, author);
    await latest();
    const [typed, own, full] = await Promise.all([
      tail({ input: { types: ['image.updated', 'image.deleted'] } }),
      tail({ input: { recordId: post.id } }),
      tail({ input: { types: ['image.updated'], include: 'record' } }),
    ]);
    await app.aGame({}, author);
    await app.anImagePost({}, author);
    const updated = await app.call('image.update', { id: post.id, title: 'renamed' }, author.key);
    for (const stream of [typed, own, full]) {
      await untilIts(stream, 1);
      expect(events(stream).map(({ type, record }) => [type, record.id])).toEqual([['image.updated', post.id]]);
    }
    expect(events(full)[0]?.imagePost).toMatchObject({ id: post.id, title: updated.title });
    expect(events(typed)[0]).not.toHaveProperty('imagePost');
  });

  test('is what an unmodified tRPC client subscribes to, and resumes', async () => {
    const author = await app.aUser();
    const after = await latest();
    const client = createTRPCClient<AppRouter>({
      links: [httpSubscriptionLink({ url: `${app.url}/api/trpc`, transformer: superjson, EventSource })],
    });
    const seen: { id: string; title: string | undefined }[] = [];
    let isStarted = false;
    const subscription = client.event.tail.subscribe(
      { lastEventId: after, types: ['game.created'], include: 'record' },
      {
        onStarted: () => (isStarted = true),
        onData: ({ id, data }) => seen.push({ id, title: data.game?.title }),
      },
    );
    await until(() => isStarted);
    await app.aGame({ title: 'by subscription 1' }, author);
    await until(() => seen.length === 1);
    subscription.unsubscribe();
    await app.aGame({ title: 'by subscription 2' }, author);
    const again = client.event.tail.subscribe(
      { lastEventId: seen[0]?.id, types: ['game.created'], include: 'record' },
      { onData: ({ id, data }) => seen.push({ id, title: data.game?.title }) },
    );
    await until(() => seen.length === 2);
    again.unsubscribe();
    expect(seen.map(({ title }) => title)).toEqual(['by subscription 1', 'by subscription 2']);

    const failure = await new Promise<unknown>((resolve) => {
      client.event.tail.subscribe({ after: 'no cursor' }, { onError: resolve });
    });
    expect(failure).toBeInstanceOf(TRPCClientError);
    expect((failure as TRPCClientError<AppRouter>).data?.reason).toBe('CURSOR_INVALID');
  });

  test('refuses as procedures do, or in the stream where one was asked for', async () => {
    const get = (query: string, headers: Record<string, string> = {}) =>
      fetch(`${app.url}/api/trpc/event.tail${query}`, { headers });
    const input = (value: unknown): string => `?input=${encodeURIComponent(JSON.stringify(value))}`;
    const reasonOf = async (reply: Response): Promise<unknown[]> => {
      const { error } = (await reply.json()) as { error: { json: { data: { reason: string } } } };
      return [reply.status, error.json.data.reason];
    };
    expect(await reasonOf(await get(input({ json: { after: 'x' } })))).toEqual([404, 'CURSOR_INVALID']);
    expect(await reasonOf(await get(input({ json: { typs: [] } })))).toEqual([400, 'VALIDATION_FAILED']);
    expect(await reasonOf(await get('?input={'))).toEqual([400, 'MALFORMED_JSON']);
    expect(await reasonOf(await get('', { Authorization: 'Bearer x' }))).toEqual([401, 'KEY_MALFORMED']);
    const put = await fetch(`${app.url}/api/trpc/event.tail`, { method: 'PUT' });
    expect([put.headers.get('allow'), ...(await reasonOf(put))]).toEqual(['GET, POST', 405, 'METHOD_NOT_SUPPORTED']);

    const stream = await tail({ input: { after: 'x' } });
    await stream.ended;
    const failure = stream.messages.at(-1);
    expect([stream.response.statusCode, failure?.event]).toEqual([200, 'serialized-error']);
    expect(JSON.parse(failure?.data ?? '')).toMatchObject({
      json: { data: { reason: 'CURSOR_INVALID', path: 'event.tail', httpStatus: 404 } },
    });
    expect(stream.retry()).toBe(60_000);
  });

  test('is had by POST, and ends by itself when its time is over', async () => {
    const author = await app.aUser();
    const example = contract.event.tail.metadata.example.input as object;
    const post = (body: object, headers: Record<string, string> = {}) =>
      fetch(`${app.url}/api/trpc/event.tail`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Accept: STREAM_TYPE, ...headers },
        body: JSON.stringify(body),
      });
    const after = await latest();
    const reply = await post({ json: { ...example, after, maxDuration: 1 } });
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, `${STREAM_TYPE}; charset=utf-8`]);
    const game = await app.aGame({}, author);
    const text = await reply.text();
    const blocks = text.split('\n\n').filter((block) => block !== '');
    expect(blocks[0]).toMatch(/^event: connected\n/);
    const last = /^event: return\ndata: \nid: (.+)$/.exec(blocks.at(-1) ?? '')?.[1];
    // What came too late for this stream is what follows its last id.
    const seen = blocks.filter((block) => block.startsWith('data: ')).join('\n');
    const { items } = await app.call('event.list', { after: last });
    expect(seen + JSON.stringify(items)).toContain(game.id);
    await until(() => app.context.tails.size === 0);

    const refused = await post({ json: { maxDuration: 0 } });
    expect([refused.status, refused.headers.get('content-type')]).toEqual([400, 'application/json; charset=utf-8']);
    expect((await post({})).status).toBe(400);
    expect((await post({ json: {} }, { 'Content-Type': 'text/plain' })).status).toBe(415);
  });

  test('is over for a tRPC client whose time is over', async () => {
    const client = createTRPCClient<AppRouter>({
      links: [httpSubscriptionLink({ url: `${app.url}/api/trpc`, transformer: superjson, EventSource })],
    });
    await new Promise<void>((resolve, reject) => {
      client.event.tail.subscribe({ maxDuration: 1 }, { onComplete: resolve, onError: reject });
    });
    const subscription = client.event.tail.subscribe({}, { onData: () => undefined });
    await until(() => app.context.tails.size === 1);
    subscription.unsubscribe();
  });

  test('takes plain parameters of the URL for what they say', async () => {
    const author = await app.aUser();
    const post = await app.anImagePost({}, author);
    const other = await app.anImagePost({}, author);
    const after = await latest();
    const [typed, own, limited] = await Promise.all([
      tail({ query: `types=image.updated,image.deleted&types=game.created&include=record&after=${after}` }),
      tail({ query: `recordId=${post.id}&start=earliest` }),
      tail({ query: 'maxDuration=1' }),
    ]);
    await app.call('image.update', { id: other.id, title: 'other' }, author.key);
    await app.anImagePost({}, author);
    await app.aGame({ title: 'after the posts' }, author);
    await untilIts(typed, 2);
    expect(events(typed).map(({ type, game, imagePost }) => [type, (game ?? imagePost)?.title])).toEqual([
      ['image.updated', 'other'],
      ['game.created', 'after the posts'],
    ]);
    await untilIts(own, 1);
    expect(events(own).map(({ record }) => record.id)).toEqual([post.id]);
    await limited.ended;
    expect(limited.messages.at(-1)?.event).toBe('return');
  });

  test.each([
    [
      '?input=%7B%22types%22%3A%5B%22tag.merged%22%5D%7D',
      '',
      /must hold its parameters in `json`: send \{"json":\{"types"/,
    ],
    ['?input=%7B%22recordId%22%3A%22x%22%7D', '', /must hold its parameters in `json`/],
    ['?type=game.created', '/type', /did you mean `types`/],
    ['?types=game.created&limit=5', '/limit', /is not a member of this input/],
    ['?types=game.created,game.creatd', '/types/1', /did you mean "game.created"/],
    ['?types=', '/types/0', /./],
    ['?maxDuration=soon', '/maxDuration', /./],
    ['?recordId=a&recordId=b', '/recordId', /./],
    ['?start=latest&input=%7B%22json%22%3A%7B%7D%7D', '/start', /stands beside `input`/],
  ])('drops nothing silently: %s', async (query, path, message) => {
    const reply = await fetch(`${app.url}/api/trpc/event.tail${query}`);
    const { error } = (await reply.json()) as { error: Failure };
    expect([reply.status, error.json.data.reason]).toEqual([400, 'VALIDATION_FAILED']);
    expect(error.json.data.issues).toEqual([
      expect.objectContaining({ path, message: expect.stringMatching(message) }),
    ]);
  });

  test('is in no batch, which is told so', async () => {
    const reply = await fetch(`${app.url}/api/trpc/event.tail,event.list?batch=1`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"0":{"json":{}},"1":{"json":{}}}',
    });
    expect(await reply.text()).toContain('`event.tail` answers with a stream: call it by itself, outside of batches.');
  });

  test('ends when the service stops, and says when to come back', async () => {
    const other = await startApp({ databaseUrl: app.databaseUrl });
    const stream = await tail({}, other.url);
    other.context.lifecycle.stopping.abort();
    await stream.ended;
    expect(stream.retry()).toBeLessThanOrEqual(3000);
    const late = await tail({}, other.url);
    await late.ended;
    expect(late.retry()).toBeLessThanOrEqual(3000);
    await other.stop();
  });

  test('has no more of them open for one address than is said', async () => {
    const limited = await startApp({ databaseUrl: app.databaseUrl, rates: 'on' });
    const open = await Promise.all(Array.from({ length: MAX_TAILS }, () => openEventStream(limited.url)));
    const refused = await fetch(`${limited.url}/api/trpc/event.tail`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10']);
    open[0]!.close();
    await until(async () => {
      const stream = await openEventStream(limited.url);
      open.push(stream);
      await until(() => stream.messages.length > 0);
      return stream.messages[0]?.id !== undefined; // A refused stream begins without a cursor.
    });
    // A tail counts as a call when it is opened only.
    expect((await limited.http.post('/api/trpc/game.getTypeStats').send({})).status).toBe(200);
    for (const stream of open) stream.close();
    await until(() => limited.context.tails.size === 0);
    await limited.stop();
  });

  describe('with places taken, behind a proxy,', () => {
    let limited: TestApp;
    beforeAll(async () => {
      const settings = { TRUST_PROXY: '1' };
      limited = await startApp({ databaseUrl: app.databaseUrl, rates: 'on', settings });
    });
    afterAll(() => limited.stop());
    const from = async (address: string, key?: string): Promise<unknown[]> => {
      const headers: Record<string, string> = { Accept: '*/*', 'X-Forwarded-For': address };
      if (key !== undefined) headers.Authorization = `Bearer ${key}`;
      const { response, close } = await openEventStream(limited.url, { headers });
      close();
      return [response.statusCode, response.headers['retry-after']];
    };
    /** Takes places for tails without a key. */
    const take = (count: number, address: (n: number) => string): (() => void) => {
      const taken = Array.from({ length: count }, (_, n) =>
        limited.context.tailPlaces.reserve({ name: clientSubnet(address(n)), userId: undefined }),
      );
      return () => {
        for (const giveBack of taken) giveBack();
      };
    };

    test('by fifty addresses: a key has one all the same, from one of these, too', async () => {
      const { key } = await app.aUser();
      const giveBack = take(8000, (n) => `198.51.100.${n % 50}`);
      expect(await from('203.0.113.9')).toEqual([503, '10']);
      expect(await from('203.0.113.9', key)).toEqual([200, undefined]);
      expect(await from('198.51.100.7', key)).toEqual([200, undefined]);
      giveBack();
      expect(await from('203.0.113.9')).toEqual([200, undefined]);
    });
  });

  describe('with a key', () => {
    let other: TestApp;
    let aheadMs = 0;
    beforeAll(async () => {
      other = await startApp({ databaseUrl: app.databaseUrl, now: () => new Date(Date.now() + aheadMs) });
    });
    beforeEach(() => {
      aheadMs = 0;
    });
    afterAll(() => other.stop());

    test.each([
      ['KEY_REVOKED', ({ keyId }) => revokeKey(app.context.db, keyId, new Date())],
      ['KEY_EXPIRED', () => Promise.resolve((aheadMs = 3_600_000))],
      ['USER_SUSPENDED', ({ id }) => suspendUser(app.context.db, id, systemActor(), { hide: false })],
    ] satisfies [string, (user: TestUser) => Promise<unknown>][])(
      'ends on another instance, too, as soon as calls are refused with %s',
      async (reason, refuse) => {
        const user = await app.aUser({ expiresAt: new Date(Date.now() + 1_800_000) });
        const headers = { Authorization: `Bearer ${user.key}` };
        const own = [
          await tail({ headers }, other.url),
          await tail({ headers, input: { start: 'earliest' } }, other.url),
        ];
        const anyone = await tail({}, other.url);
        await refuse(user);
        for (const stream of own) {
          await stream.ended;
          const last = stream.messages.at(-1);
          expect([last?.event, JSON.parse(last?.data ?? '')]).toMatchObject([
            'serialized-error',
            { json: { data: { reason, httpStatus: 401, path: 'event.tail' } } },
          ]);
        }
        const game = await app.aGame();
        await until(() => events(anyone).some(({ record }) => record.id === game.id));
      },
    );
  });

  test('ends where events are turned off, and is not there', async () => {
    const stream = await tail();
    await closeFeed(app.context.db, new Date());
    await stream.ended;
    expect(stream.messages.at(-1)?.data).toContain('EVENTS_GONE');
    const off = await startApp({ databaseUrl: app.databaseUrl, settings: { EVENTS: 'off' } });
    expect((await fetch(`${off.url}/api/trpc/event.tail`)).status).toBe(404);
    await off.stop();
    await sleep(0);
  });
});
