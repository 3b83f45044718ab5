/**
 * @engines sqlite server
 * @tier fast
 * @serverTier long
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as conventions from '@opentelemetry/semantic-conventions';
import { release } from '../../src/base/version.ts';
import { openClient } from '../harness/app/client.ts';
import { createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { aKey } from '../harness/http/load.ts';
import { type Sample, samplesOf, sumsBy } from '../harness/documents/metrics.ts';
import { type Collector, type Span, startCollector } from '../harness/servers/otlp.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { PLANTED } from '../harness/documents/secrets.ts';
import { freePort } from '../harness/free-ports.mjs';

// What the program tells a collector of the requests that it answers.

const NOBODY = '019a3c5e-9f30-7c63-9d30-7b2eac4f8003';

let database: TestDatabase;
let collector: Collector;
let served: ServeProcess;
let key: string;
let port: number;
let metrics: Sample[];
describe('database traces', () => {
  beforeAll(async () => {
    database = await createDatabase({ migrated: true });
    key = await aKey(database.url);
    collector = await startCollector();
  });
  afterAll(async () => {
    await served.stop('SIGKILL');
    await collector.close();
    await database.drop();
  });

  /** A place in somebody's trace, and the header that tells of it. */
  const aPlace = ({ isRecorded = true } = {}) => {
    const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
    return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${isRecorded ? '01' : '00'}` };
  };
  const place = aPlace();
  const unrecorded = aPlace({ isRecorded: false });
  const randomKey = randomUUID();
  let statuses: number[];
  const repeated = aPlace();
  const crowd = Array.from({ length: 140 }, () => aPlace());

  const spansOf = ({ traceId }: { traceId: string }): Span[] =>
    collector.spans.filter((span) => span.traceId === traceId);
  const below = (parent: Span): Span[] =>
    collector.spans
      .filter(({ parentId }) => parentId === parent.spanId)
      .toSorted((a, b) => (a.start < b.start ? -1 : 1));

  beforeAll(async () => {
    port = await freePort();
    const metricsPort = await freePort();
    const env = {
      METRICS_PORT: String(metricsPort),
      METRICS_HOST: '127.0.0.1',
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}/`,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=ours',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=overruled',
      OTEL_SERVICE_NAME: 'games',
      LOG_LEVEL: 'info',
      SLOW_REQUEST_MS: '1',
      REQUEST_TIMEOUT_MS: '25000',
    };
    served = await startServe({ url: database.url, env });
    const client = openClient(served.base, key);
    const made = await client.batch(
      [
        ['game.create', { title: `${PLANTED} 1`, tagNames: [PLANTED] }],
        ['game.getById', { id: NOBODY }],
      ],
      { traceparent: place.traceparent, tracestate: 'congo=t61rcWkgMzE', 'X-Request-Id': 'of-the-batch' },
    );
    expect(made).toMatchObject({ kind: 'answered', status: 207 });
    await client.get(`/api/trpc/game.getById?input=${encodeURIComponent(JSON.stringify({ json: { id: PLANTED } }))}`);
    await client.get(`/api/trpc/game.list/${key}`);
    await fetch(`${served.base}/healthz`, { headers: { 'X-Request-Id': 'health' } });
    await client.call('game.getById', { id: NOBODY }, { traceparent: unrecorded.traceparent });
    for (const { traceparent } of [aPlace(), repeated]) {
      const headers = {
        traceparent,
        tracestate: `congo=${key}`,
        'X-Request-Id': key,
        'User-Agent': `${key}/1`,
        'Idempotency-Key': randomKey,
      };
      expect(await client.call('game.create', { title: 'x' }, headers)).toMatchObject({ status: 200 });
    }
    // More than there is room for at once, so that they wait for each other, and some may be refused.
    const answers = crowd.map(async ({ traceparent }, n) => {
      const [id, json] = n % 2 === 0 ? ['game.create', { title: 'x' }] : ['game.getById', { id: randomUUID() }];
      const response = await fetch(`${served.base}/api/trpc/${id}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}`, traceparent },
        body: JSON.stringify({ json }),
      });
      await response.arrayBuffer();
      return response.status;
    });
    statuses = await Promise.all(answers);
    client.close();
    metrics = samplesOf(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text());
    // What is left is sent before it ends.
    expect(await served.stop()).toBe(0);
  });

  test('a batch is one span below its caller’s, with one for each call and those of its statements', () => {
    const [request, ...others] = spansOf(place).filter(({ kind }) => kind === 'server');
    expect(others).toEqual([]);
    expect(request).toMatchObject({
      name: 'POST /api/trpc/{procedures}',
      parentId: place.spanId,
      traceState: 'congo=t61rcWkgMzE',
      // That one of its calls failed, by its caller's fault, is none of the server's.
      status: 'unset',
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/api/trpc/{procedures}',
        'http.response.status_code': 207,
        'url.path': '/api/trpc/game.create,game.getById',
        'url.scheme': 'http',
        'network.protocol.version': '1.1',
        'server.address': '127.0.0.1',
        'server.port': port,
        'content_gateway.request_id': 'of-the-batch',
      },
      resource: {
        'service.name': 'games',
        'service.version': release,
        'service.instance.id': expect.stringMatching(/^[\da-f-]{36}$/),
        'host.name': hostname(),
        'process.pid': served.child.pid,
        'deployment.environment.name': 'test',
        'telemetry.sdk.language': 'nodejs',
      },
    });
    const calls = below(request!);
    expect(calls).toHaveLength(2);
    const [create, getById] = ['game.create', 'game.getById'].map((id) => calls.find(({ name }) => name === id));
    expect(create).toMatchObject({
      name: 'game.create',
      kind: 'internal',
      status: 'unset',
      attributes: { 'rpc.system.name': 'trpc', 'rpc.method': 'game.create' },
    });
    expect(getById).toMatchObject({
      name: 'game.getById',
      kind: 'internal',
      status: 'error',
      attributes: { 'rpc.method': 'game.getById', 'error.type': 'GAME_NOT_FOUND' },
    });

    const statements = below(create!);
    const summaries = statements.map(({ name }) => name);
    expect(summaries).toEqual(expect.arrayContaining(['INSERT games', 'INSERT tags']));
    expect(summaries.at(-1)).toBe('COMMIT');
    expect(below(getById!).map(({ name }) => name)).toEqual(['SELECT games']);
    const server = engine === 'sqlite' ? {} : { 'server.address': '127.0.0.1', 'server.port': expect.any(Number) };
    const namespace = engine === 'sqlite' ? {} : { 'db.namespace': new URL(database.url).pathname.slice(1) };
    for (const { kind, status, attributes, start, end } of statements) {
      expect({ kind, status, attributes }).toEqual({
        kind: 'client',
        status: 'unset',
        attributes: {
          'db.system.name': engine,
          ...namespace,
          ...server,
          'db.operation.name': expect.stringMatching(/^[A-Z]+$/),
          'db.query.summary': expect.any(String),
          'db.query.text': expect.stringMatching(/^[A-Z]/),
        },
      });
      expect(start >= create!.start && end <= create!.end && start <= end).toBe(true);
    }
    expect(statements.find(({ name }) => name === 'INSERT games')?.attributes['db.query.text']).toMatch(
      /VALUES \(\?, …\)/,
    );
  });

  test('statements belong to the call that asked for them, also in a crowd', () => {
    let committed = 0;
    expect(statuses).toEqual(expect.arrayContaining([200, 404]));
    for (const [n, one] of crowd.entries()) {
      const [request, ...others] = spansOf(one).filter(({ kind }) => kind === 'server');
      expect([request?.parentId, others.length]).toEqual([one.spanId, 0]);
      const [call, ...more] = below(request!);
      // What a busy service refuses on arrival begins no call.
      if (statuses[n] === 503 && !call) continue;
      expect([call?.name, more.length]).toEqual([n % 2 === 0 ? 'game.create' : 'game.getById', 0]);
      const statements = below(call!);
      // A call that gives up does not wait for the database.
      if (statuses[n] === 503) continue;
      expect(statements.filter(({ start, end }) => start < call!.start || end > call!.end)).toEqual([]);
      if (n % 2 > 0) continue;
      const own = statements.map(({ name }) => name).filter((name) => name === 'INSERT games' || name === 'COMMIT');
      // Creations that meet are stored together, by the one that has waited longest, and again where others made a tag.
      if (own.length > 0) committed += 1;
      expect([n, [...new Set(own)]]).toEqual([
        n,
        own.length > 0 && statuses[n] === 200 ? ['INSERT games', 'COMMIT'] : [],
      ]);
    }
    expect(committed).toBeGreaterThan(0);
    // All of a trace hang together, and nothing is recorded that belongs to no request.
    const ids = new Set(collector.spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`));
    const isRooted = ({ traceId, parentId, kind }: Span): boolean =>
      kind === 'server' || ids.has(`${traceId} ${parentId}`);
    expect(collector.spans.filter((span) => !isRooted(span))).toEqual([]);
  });

  test('a call that is answered as before says so', () => {
    expect(spansOf(repeated).find(({ kind }) => kind === 'internal')).toMatchObject({
      name: 'game.create',
      status: 'unset',
      attributes: { 'content_gateway.replayed': true },
    });
  });

  test('metrics count the same beside them', () => {
    const calls = sumsBy(metrics, 'calls_total', 'procedure');
    // In the batch, one by an id of nobody, one that nobody records, and half of the crowd.
    expect(calls['game.getById']).toBe(3 + crowd.length / 2);
    const { length: recorded } = collector.spans.filter(({ name }) => name === 'game.getById');
    const { length: begun } = statuses.filter((status, n) => n % 2 > 0 && status !== 503);
    expect(recorded).toBeGreaterThanOrEqual(2 + begun);
    expect(recorded).toBeLessThanOrEqual(2 + crowd.length / 2);
    const count = (name: string): number => sumsBy(metrics, name)[''] ?? 0;
    const { length: statements } = collector.spans.filter(({ kind }) => kind === 'client');
    expect(statements).toBeGreaterThan(0);
    expect(count('database_statement_duration_seconds_count')).toBeGreaterThanOrEqual(statements);
    expect(count('http_request_duration_seconds_count')).toBe(7 + crowd.length);
  });

  test('whoever records nothing of a trace is not overruled, and health is nobody’s trace', () => {
    expect(spansOf(unrecorded)).toEqual([]);
    expect(collector.spans.filter(({ attributes }) => attributes['url.path'] === '/healthz')).toEqual([]);
  });

  test('attributes are those of the stable conventions, or ours', () => {
    const known = new Set<unknown>(Object.values(conventions).filter((one) => typeof one === 'string'));
    const names = new Set(collector.spans.flatMap(({ attributes }) => Object.keys(attributes)));
    expect([...names].filter((name) => !known.has(name) && !name.startsWith('content_gateway.'))).toEqual([]);
  });

  test('nothing that is sent holds a key or a value of a caller', () => {
    expect(collector.headers[0]).toMatchObject({ 'x-tenant': 'ours', 'content-encoding': 'gzip' });
    const sent = Buffer.concat(collector.bodies).toString('latin1');
    expect(sent).toContain('/api/trpc/game.list/cgk_');
    for (const secret of [PLANTED, key, NOBODY, key.slice(5)])
      expect([secret, sent.includes(secret)]).toEqual([secret, false]);
    expect(collector.spans.filter(({ statusMessage }) => statusMessage !== '')).toEqual([]);
  });

  test('each line of the log that tells of a request has the id of its trace', () => {
    const lines = served
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { msg: string; requestId?: string; traceId?: string });
    const told = lines.filter(({ requestId }) => requestId !== undefined);
    const ids = told.map(({ traceId }) => traceId);
    expect(told.filter(({ msg, traceId }) => msg === 'request' && traceId === place.traceId)).toHaveLength(1);
    // Of those that are refused before anything is done for them, the log only has how many they are.
    const answered = crowd.filter((_, n) => statuses[n] !== 503).map(({ traceId }) => traceId);
    expect(ids).toEqual(expect.arrayContaining(answered));
    // Those as well that came without; but not of health, which nobody traces.
    expect(told.filter(({ requestId, traceId }) => requestId !== 'health' && traceId === undefined)).toEqual([]);
    expect(told.some(({ msg }) => msg === 'slow request')).toBe(true);
    const exported = new Set(collector.spans.map(({ traceId }) => traceId));
    exported.add(unrecorded.traceId);
    expect(ids.filter((id) => id !== undefined && !exported.has(id))).toEqual([]);
  });
});
