/**
 * @engines all
 * @tier fast
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createTRPCClient, httpSubscriptionLink, TRPCClientError } from '@trpc/client';
import { EventSource } from 'eventsource';
import superjson from 'superjson';
import { MAX_TAILS } from '../../contract/index.ts';
import type { AppRouter } from '../../openapi/trpc.ts';
import { closeFeed } from '../../src/outbox/feed.ts';
import { type Output, startApp, type TestApp } from '../harness/app/app.ts';
import { type EventStream, eventsIn, openEventStream } from '../harness/http/event-stream.ts';
import { until } from '../harness/until.ts';

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
    const last = stream.messages.at(-2);
    const following = await app.call('event.list', { after: last?.id });
    expect(following.items).toEqual(items.slice(2));
  });

  test('begins where it is told, catches up, and goes on', async () => {
    const author = await app.aUser();
    const after = await latest();
    const ids: string[] = [];
    const { items } = await app.call(
      'game.batchCreate',
      { games: Array.from({ length: 80 }, () => ({ title: 'many' })) },
      author.key,
    );
    ids.push(...items.map(({ id }) => id));
    await app.context.lifecycle.relay.moveNow();
    const [all, resumed, some] = await Promise.all([
      tail({ input: { after } }),
      // A browser sends the header; tRPC's clients send a member.
      tail({ input: { after: 'x', lastEventId: 'y' }, lastEventId: after }),
      tail({ input: { lastEventId: after, start: 'earliest' } }),
    ]);
    for (let n = 0; n < 5; n += 1) ids.push((await app.aGame({}, author)).id);
    for (const stream of [all, resumed, some]) {
      await untilIts(stream, 85);
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
    const posted = await fetch(`${app.url}/api/trpc/event.tail`, { method: 'POST' });
    expect([posted.headers.get('allow'), ...(await reasonOf(posted))]).toEqual(['GET', 405, 'METHOD_NOT_SUPPORTED']);

    const stream = await tail({ input: { after: 'x' } });
    await stream.ended;
    const failure = stream.messages.at(-1);
    expect([stream.response.statusCode, failure?.event]).toEqual([200, 'serialized-error']);
    expect(JSON.parse(failure?.data ?? '')).toMatchObject({
      json: { data: { reason: 'CURSOR_INVALID', path: 'event.tail', httpStatus: 404 } },
    });
    expect(stream.retry()).toBe(60_000);
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
      return stream.messages[0]?.event === 'connected' && stream.messages.length === 1;
    });
    // A tail counts as a call when it is opened only.
    expect((await limited.http.post('/api/trpc/game.getTypeStats').send({})).status).toBe(200);
    for (const stream of open) stream.close();
    await until(() => limited.context.tails.size === 0);
    await limited.stop();
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
