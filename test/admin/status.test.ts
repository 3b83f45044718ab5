/**
 * @engines sqlite
 * @tier fast
 */
import { request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { statusDocuments } from '../../src/admin/status/documents.ts';
import type { Status } from '../../src/admin/status/status.ts';
import { createLog } from '../../src/app/log.ts';
import { metricSources } from '../../src/app/context.ts';
import { type MetricsServer, serveMetrics } from '../../src/http/server/metrics-server.ts';
import { Metrics } from '../../src/telemetry/metrics/metrics.ts';
import { freePort } from '../harness/free-ports.mjs';
import { startApp, type TestUser } from '../harness/app/app.ts';
import { runCommand } from '../harness/app/command.ts';

const metrics = new Metrics();
const app = await startApp({ observer: metrics.observer, settings: { SLOW_REQUEST_MS: '1' } });
const { context } = app;
const port = await freePort();
const base = `http://127.0.0.1:${port}`;
let server: MetricsServer;
let caller: TestUser;

/** Asks the metrics' port under a name. */
const ask = async (path: string, { host = `127.0.0.1:${port}`, method = 'GET', more = {} } = {}) => {
  const sent = request({ host: '127.0.0.1', port, path, method, headers: { host, ...more } }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await readText(response) };
};

beforeAll(async () => {
  metrics.addSources(metricSources(context));
  const sources = { context, metrics, requests: context.requests };
  const log = createLog('silent', { write: () => undefined });
  server = await serveMetrics(metrics, { host: '127.0.0.1', port }, log, statusDocuments(sources, String));
  caller = await app.aUser({ nickname: '<b>bold</b>' });
  await app.aGame({}, caller);
  await app.fail('game.getById', { id: 'none' }, 404, caller.key);
  await context.auth.uses?.flush();
  context.lifecycle.registry.start();
});

afterAll(async () => {
  await server.close();
  await app.stop();
});

describe('status of a running process', () => {
  test('has calls, connections, failures, keys, migrations and what the doctor says, as JSON', async () => {
    const { status, headers, body } = await ask('/admin.json');
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    const found = JSON.parse(body) as Status;
    expect(found.limiters.find(({ name }) => name === 'game.record')).toMatchObject({ used: 0, waiting: 0 });
    expect(found.pools.length).toBeGreaterThan(1);
    expect(found.failures.find(({ reason }) => reason === 'GAME_NOT_FOUND')).toMatchObject({
      total: 1,
      last: [{ procedure: 'game.getById', status: 404, requestId: expect.any(String) }],
    });
    expect(found.slowRequests.length).toBeGreaterThan(0);
    expect(found.keys).toEqual([
      { id: caller.keyId, name: expect.any(String), nickname: caller.nickname, calls: 2, clients: ['unnamed'] },
    ]);
    expect(found.migrations.pending).toEqual([]);
    expect(found.doctor.map(({ check }) => check)).toEqual(expect.arrayContaining(['migrations', 'consistency']));
    expect(body).not.toContain(caller.key);
  });

  test('is a page without scripts, in which names are text', async () => {
    const { status, headers, body } = await ask('/admin');
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'self';/);
    expect(body).toContain('&lt;b&gt;bold&lt;/b&gt;');
    expect(body).not.toContain('<b>bold');
    expect(body).not.toContain('<script');
    expect((await ask('/admin.css')).headers['content-type']).toBe('text/css; charset=utf-8');
  });

  test('answers to an address or localhost only: the name of a page elsewhere may lead here', async () => {
    for (const host of ['evil.example', `evil.example:${port}`]) {
      expect((await ask('/admin.json', { host })).status).toBe(403);
      // A page whose name leads here; a scraper may use any name.
      expect((await ask('/metrics', { host, more: { 'Accept-Language': 'en' } })).status).toBe(403);
      expect((await ask('/metrics', { host })).status).toBe(200);
    }
    for (const host of [`localhost:${port}`, '[::1]:9464', '10.0.0.7']) {
      expect((await ask('/admin.json', { host })).status).toBe(200);
    }
  });

  test('cannot be written, and is not on the port of the service', async () => {
    expect((await ask('/admin', { method: 'POST' })).status).toBe(405);
    expect((await ask('/other')).body).toBe(
      'Metrics are at /metrics, /admin, /admin.json, /favicon.ico, /admin.css.\n',
    );
    for (const path of ['/admin', '/admin.json', '/admin.css']) expect((await app.http.get(path)).status).toBe(404);
  });

  test('is had by the command, too', async () => {
    const { code, stdout } = await runCommand(['status', '--url', base, '--json'], {});
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ migrations: { pending: [] }, maintenance: null });
    expect((await runCommand(['status', '--url', base], {})).stdout).toMatch(/^limiters +\[\{/m);
    expect(await runCommand(['status'], {})).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('METRICS_PORT is not set'),
    });
  });
});
