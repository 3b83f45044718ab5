/**
 * @engines sqlite
 * @tier long
 * @needs redis
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as conventions from '@opentelemetry/semantic-conventions';
import { type Client, openClient } from '../harness/app/client.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { aKey } from '../harness/http/load.ts';
import { type Collector, type Span, startCollector } from '../harness/servers/otlp.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { type Proxy, startProxy } from '../harness/servers/proxy.ts';
import { type RedisServer, startRedis } from '../harness/servers/redis.ts';

// What the program tells a collector of what it asks Redis.

const PASSWORD = 'hush-hush';
/** How long it waits for Redis: beyond a quarter of a second, it does without after the first answer that is late. */
const PATIENCE_MS = 400;
const DELAY_MS = 60;

let database: TestDatabase;
let redis: RedisServer;
let proxy: Proxy;
let collector: Collector;
let served: ServeProcess;

/** The spans of what a call with this name asked Redis, the first one first. */
const asked = ({ traceId }: { traceId: string }): Span[] => {
  const spans = collector.spans.filter((span) => span.traceId === traceId);
  const call = spans.find(({ kind }) => kind === 'internal');
  return spans
    .filter(({ parentId, attributes }) => parentId === call?.spanId && attributes['db.system.name'] === 'redis')
    .toSorted((a, b) => (a.start < b.start ? -1 : 1));
};
const namesOf = (spans: readonly Span[]): string[] => spans.map(({ name }) => name);
const msOf = ({ start, end }: Span): number => Number(end - start) / 1e6;

/** A place in somebody's trace, and the header that tells of it. */
const aPlace = () => {
  const traceId = randomBytes(16).toString('hex');
  return { traceId, traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` };
};
const places = {
  first: aPlace(),
  second: aPlace(),
  create: aPlace(),
  view: aPlace(),
  search: aPlace(),
  late: aPlace(),
  without: aPlace(),
  refused: aPlace(),
  broken: aPlace(),
};
const crowd = Array.from({ length: 40 }, aPlace);

const LIST = { limit: 1, page: 1 };

const isBack = async (times: number): Promise<void> => {
  while (served.log().split('Redis is back').length <= times) await sleep(20);
};

/** Makes the calls, each of which succeeds, whatever becomes of Redis. */
const callAll = async (key: string): Promise<void> => {
  const nobody = openClient(served.base);
  const author = openClient(served.base, key);
  const call = async (client: Client, place: { traceparent: string }, ...what: Parameters<Client['call']>) => {
    const ending = await client.call(what[0], what[1], { traceparent: place.traceparent });
    expect(ending).toMatchObject({ kind: 'answered', status: 200 });
    return ending.kind === 'answered' ? ending.text : '';
  };
  const list = (place: { traceparent: string }): Promise<string> => call(nobody, place, 'game.list', LIST);

  await list(places.first);
  await list(places.second);
  const made = await call(author, places.create, 'game.create', { title: 'x' });
  const { id } = (JSON.parse(made) as { result: { data: { json: { id: string } } } }).result.data.json;
  await call(nobody, places.view, 'game.getById', { id });
  const clients = crowd.map(() => openClient(served.base));
  await Promise.all(
    clients.map((client, n) =>
      call(client, crowd[n]!, 'game.list', { ...LIST, limit: (n % 5) + 1 }).finally(client.close),
    ),
  );

  proxy.delayReplies(DELAY_MS);
  await call(nobody, places.search, 'game.list', { ...LIST, search: 'x' });
  proxy.delayReplies(0);
  // What was asked in the background is answered first: any answer says that Redis lives.
  await sleep(3 * DELAY_MS);

  proxy.freeze();
  await list(places.late);
  await list(places.without);
  proxy.thaw();
  await isBack(1);

  const client = createClient({ url: redis.url });
  await client.connect();
  await client.configSet('maxmemory', '1');
  await list(places.refused);
  await client.configSet('maxmemory', '0');
  client.destroy();
  await isBack(2);

  proxy.freeze();
  const waiting = list(places.broken);
  await sleep(DELAY_MS);
  await proxy.cut();
  await waiting;
  nobody.close();
  author.close();
};

describe('Redis traces', () => {
  beforeAll(async () => {
    database = await createDatabase();
    const key = await aKey(database.url);
    collector = await startCollector();
    redis = await startRedis({ password: PASSWORD });
    proxy = await startProxy(redis.url);
    served = await startServe({
      url: database.url,
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        RATE_LIMIT: 'on',
        REDIS_URL: `${proxy.url}/3`,
        REDIS_TIMEOUT_MS: String(PATIENCE_MS),
        LOG_LEVEL: 'warn',
      },
    });
    await callAll(key);
    // What is left is sent before it ends.
    expect(await served.stop()).toBe(0);
  });
  afterAll(async () => {
    await served.stop('SIGKILL');
    await proxy.close();
    await redis.kill();
    await collector.close();
    await database.drop();
  });

  test('each round trip to Redis is one span below its call', () => {
    const { hostname, port } = new URL(proxy.url);
    const attributes = {
      'db.system.name': 'redis',
      'db.namespace': '3',
      'server.address': hostname,
      'server.port': Number(port),
    };
    // At first, Redis does not know the script.
    expect(asked(places.first)).toMatchObject([
      {
        name: 'EVALSHA',
        kind: 'client',
        status: 'error',
        attributes: { 'error.type': 'NOSCRIPT', 'db.response.status_code': 'NOSCRIPT' },
      },
      { name: 'SCRIPT LOAD', status: 'unset' },
      { name: 'EVALSHA', status: 'unset' },
    ]);
    const [one, ...others] = asked(places.second);
    expect(others).toEqual([]);
    expect(one).toMatchObject({ name: 'EVALSHA', kind: 'client', status: 'unset', events: [] });
    expect(one?.attributes).toEqual({ ...attributes, 'db.operation.name': 'EVALSHA' });
    // Whose key it is, is charged by its address until the key is known; then the key pays.
    expect(namesOf(asked(places.create))).toEqual(['EVALSHA', 'EVALSHA']);
    expect(namesOf(asked(places.view))).toEqual(['EVALSHA', 'SET']);
  });

  test('in a crowd, each belongs to the call that waits for it', () => {
    for (const place of crowd) expect(namesOf(asked(place))).toEqual(['EVALSHA']);
  });

  test('what is told Redis in the background belongs to no call', () => {
    const search = asked(places.search);
    expect(namesOf(search)).toEqual(['EVALSHA', 'EVALSHA']);
    // Long enough for what was charged meanwhile to go out.
    for (const span of search) expect(msOf(span)).toBeGreaterThanOrEqual(DELAY_MS);
  });

  test('a command without an answer in time fails at the timeout, and none is sent while Redis is away', () => {
    const late = asked(places.late);
    expect(late).toMatchObject([{ name: 'EVALSHA', status: 'error', attributes: { 'error.type': 'TIMEOUT' } }]);
    expect(late[0]?.attributes).not.toHaveProperty(['db.response.status_code']);
    expect(msOf(late[0]!)).toBeGreaterThanOrEqual(PATIENCE_MS - 5);
    expect(asked(places.without)).toEqual([]);
  });

  test('a command that Redis refuses fails with its code, one whose connection breaks with that of the client', () => {
    expect(asked(places.refused)).toMatchObject([
      { name: 'EVALSHA', status: 'error', attributes: { 'error.type': 'OOM', 'db.response.status_code': 'OOM' } },
    ]);
    const broken = asked(places.broken);
    expect(broken).toMatchObject([
      { name: 'EVALSHA', status: 'error', attributes: { 'error.type': 'SocketClosedUnexpectedlyError' } },
    ]);
  });

  test('attributes are those of the stable conventions, and nothing that is sent holds a password, key or value', () => {
    const known = new Set<unknown>(Object.values(conventions).filter((one) => typeof one === 'string'));
    const spans = collector.spans.filter(({ attributes }) => attributes['db.system.name'] === 'redis');
    expect(spans.length).toBeGreaterThan(crowd.length);
    const names = new Set(spans.flatMap(({ attributes }) => Object.keys(attributes)));
    expect([...names].filter((name) => !known.has(name))).toEqual([]);
    expect(spans.filter(({ statusMessage }) => statusMessage !== '')).toEqual([]);
    const sent = Buffer.concat(collector.bodies).toString('latin1');
    for (const secret of [PASSWORD, 'content-gateway:{', 'maxmemory'])
      expect([secret, sent.includes(secret)]).toEqual([secret, false]);
  });
});
