/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import express from 'express';
import supertest from 'supertest';
import { createApp } from '../../src/app/app.ts';
import { IdempotentReplay } from '../../src/auth/idempotency/call.ts';
import { BodyReader } from '../../src/http/message/body.ts';
import { jsonOf } from '../../src/http/message/reply.ts';
import { Calls } from '../../src/rpc/call.ts';
import { type Procedure, replyOf } from '../../src/rpc/procedures.ts';
import { trpcTransport } from '../../src/rpc/trpc/api.ts';
import { type Observer, unobserved } from '../../src/base/observer.ts';
import { startApp } from '../harness/app/app.ts';
import { fill } from '../harness/app/overload.ts';
import { shelfProcedures } from '../harness/documents/deprecated.ts';
import { until } from '../harness/until.ts';

// What the headers say to callers of a contract in which something is deprecated.

const app = await startApp();
const { context } = app;
const seen = new Set<string>();
const served = new Map(
  shelfProcedures.map((procedure) => {
    const { output } = procedure.example;
    const handle: Procedure['handle'] = async (_input, { idempotent }) => {
      const key = idempotent?.callHash.toString('hex') ?? '';
      if (seen.has(key)) throw new IdempotentReplay(jsonOf(replyOf(procedure, output)).toString());
      if (idempotent) seen.add(key);
      return output;
    };
    return [procedure.id, { ...procedure, handle }];
  }),
);
const shared: string[] = [];
const observer = {
  calls: {
    begin: () => unobserved,
    replayed: () => undefined,
    shared: (outcome: string) => void shared.push(outcome),
  },
} as unknown as Observer;
const calls = new Calls({ ...context, observer }, served);
const tail = { tails: context.tails, places: context.tailPlaces, stopping: context.lifecycle.stopping.signal };
const http = supertest(createApp(context, express().use(trpcTransport(calls, new BodyReader(), context, tail))));

const link = (id: string): string => `</docs/#/shelf/${id}>; rel="deprecation"; type="text/html"`;
const nothing = { deprecation: undefined, sunset: undefined, link: undefined };
const ofOperation = {
  deprecation: '@1769904000',
  sunset: 'Tue, 01 Sep 2026 00:00:00 GMT',
  link: link('shelf.all'),
};
const ofMember = (id: string) => ({
  deprecation: '@1767225600',
  sunset: 'Thu, 01 Oct 2026 00:00:00 GMT',
  link: link(id),
});
const ofValue = { deprecation: '@1772323200', sunset: undefined, link: link('shelf.list') };

/** The status of a reply, and its headers on deprecation. */
const told = ({ status, headers }: supertest.Response) => {
  const { deprecation, sunset, link: links } = headers as Record<string, string | undefined>;
  return { status, deprecation, sunset, link: links };
};
const post = (ids: string, body: unknown, headers: Record<string, string> = {}) =>
  http
    .post(`/api/trpc/${ids}`)
    .set(headers)
    .send(body as object);

describe('the headers on deprecation', () => {
  afterAll(() => app.stop());

  test('are on each reply of an operation, of whatever status, and on no other', async () => {
    expect(told(await post('shelf.all', {}))).toEqual({ status: 200, ...ofOperation });
    expect(told(await post('shelf.all', { json: { x: 1 } }))).toEqual({ status: 400, ...ofOperation });
    expect(told(await post('shelf.all', {}, { Authorization: 'Bearer x' }))).toEqual({ status: 401, ...ofOperation });
    expect(told(await post('shelf.count', {}))).toEqual({ status: 200, ...nothing });
  });

  test('tell a member or a value where it was sent, and no default', async () => {
    const list = async (json: unknown) => told(await post('shelf.list', { json }));
    expect(await list({})).toEqual({ status: 200, ...nothing });
    expect(await list({ order: 'latest', filters: [{ name: 'newest' }] })).toEqual({ status: 200, ...nothing });
    expect(await list({ order: 'newest' })).toEqual({ status: 200, ...ofValue });
    expect(await list({ filters: [{}, { label: 'a' }] })).toEqual({ status: 200, ...ofMember('shelf.list') });
    expect(await list({ filters: { label: 'a' } })).toEqual({ status: 400, ...nothing });
    expect(await list({ filters: [{ label: 1 }] })).toEqual({ status: 400, ...ofMember('shelf.list') });
    // Of several, the first date of each kind.
    expect(await list({ order: 'newest', filters: [{ label: 'a' }] })).toEqual({
      status: 200,
      ...ofMember('shelf.list'),
    });
  });

  test('are on reads by GET, also on those not modified', async () => {
    const get = (etag: string) => http.get('/api/trpc/shelf.all').query({ input: '{}' }).set({ 'If-None-Match': etag });
    const first = await get('"x"');
    expect(told(first)).toEqual({ status: 200, ...ofOperation });
    expect(told(await get(first.headers['etag'] as string))).toEqual({ status: 304, ...ofOperation });
  });

  test('are each caller’s own where reads are shared', async () => {
    const asked = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? {} : { order: 'newest' }));
    const limiter = context.protection.overload.limiterFor(calls.find('shelf.list'), 'read');
    let end!: () => void;
    const crowd = fill(limiter, new Promise<void>((resolve) => (end = resolve)));
    shared.length = 0;
    const replies = Promise.all(asked.map((json) => post('shelf.list', { json })));
    await until(() => shared.length === asked.length);
    end();
    await crowd;
    expect(shared.filter((outcome) => outcome === 'joined')).toHaveLength(6);
    expect((await replies).map(told)).toEqual(
      asked.map(({ order }) => ({ status: 200, ...(order ? ofValue : nothing) })),
    );
  });

  test.each([undefined, 'application/jsonl'])('are those of all calls of a batch, as %s', async (accept) => {
    const batch = (ids: string, inputs: unknown[]) =>
      post(`${ids}?batch=1`, { ...inputs }, accept === undefined ? {} : { 'trpc-accept': accept });
    expect(told(await batch('shelf.count,shelf.list', [{}, { json: {} }]))).toEqual({ status: 200, ...nothing });
    const inputs = [{}, { json: { order: 'newest' } }, {}];
    expect(told(await batch('shelf.count,shelf.list,shelf.all', inputs))).toEqual({
      status: 200,
      ...ofOperation,
      link: `${link('shelf.all')}, ${link('shelf.list')}`,
    });
  });

  test('are on replayed answers, too', async () => {
    const { key } = await app.aUser();
    const add = (json: unknown) =>
      post('shelf.add', { json }, { Authorization: `Bearer ${key}`, 'Idempotency-Key': 'one' });
    const input = { name: 'a', label: null };
    expect(told(await add(input))).toEqual({ status: 200, ...ofMember('shelf.add') });
    const again = await add(input);
    expect(told(again)).toEqual({ status: 200, ...ofMember('shelf.add') });
    expect(again.headers['idempotency-replayed']).toBe('true');
  });

  test('may be read by scripts of other origins', async () => {
    const { headers } = await post('shelf.all', {}, { Origin: 'https://example.com' });
    const exposed = String(headers['access-control-expose-headers']).split(',');
    expect(exposed).toEqual(expect.arrayContaining(['Deprecation', 'Link', 'Sunset']));
  });
});
