/**
 * @engines sqlite
 * @tier long
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { procedures, reasons } from '../../contract/index.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { aKey } from '../harness/http/load.ts';
import { freePorts } from '../harness/free-ports.mjs';
import { until } from '../harness/until.ts';
import { type Sample, samplesOf, sumsBy } from '../harness/documents/metrics.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';

// The metrics of a service with two workers, each on a port of its own, beside what was sent.

// Processes that start take long where many others do.
const WORKERS = 2;
const PORTS = [0, 1, 2] as const;

let database: TestDatabase;
let key: string;
let served: ServeProcess;
let port: number;

describe('HTTP metrics', () => {
  beforeAll(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    [port = 0] = await freePorts(PORTS.length);
    const env = {
      WORKERS: String(WORKERS),
      METRICS_PORT: String(port),
      METRICS_HOST: '127.0.0.1',
      LOG_LEVEL: 'info',
      // What is sent at once is no overload, however slow the machine.
      REQUEST_TIMEOUT_MS: '25000',
    };
    served = await startServe({ url: database.url, env });
  });
  afterAll(async () => {
    await served.stop('SIGKILL');
    await database.drop();
  });

  const scrape = async (n: number): Promise<Sample[]> => {
    const response = await fetch(`http://127.0.0.1:${port + n}/metrics`);
    expect(response.status).toBe(200);
    return samplesOf(await response.text());
  };

  /** The samples of both workers. */
  const scrapeWorkers = async (): Promise<Sample[][]> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        // The second one starts when the first one listens.
        return await Promise.all([scrape(1), scrape(2)]);
      } catch (error) {
        if (attempt === 1000) throw error;
        await sleep(50);
      }
    }
  };

  /** Sends a request on a connection of its own, so that it may meet either worker. */
  const send = async (path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<number> => {
    const response = await fetch(`${served.base}${path}`, {
      ...init,
      headers: { Connection: 'close', ...init.headers },
    });
    await response.arrayBuffer();
    return response.status;
  };
  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<number> =>
    send(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const call = (id: string, json: unknown, headers?: Record<string, string>): Promise<number> =>
    post(`/api/trpc/${id}`, { json }, headers);

  const PAGE = { limit: 1, page: 1 };
  const NOBODY = '019a3c5e-9f30-7c63-9d30-7b2eac4f8003';
  const tag = (name: string) => ({ title: name, description: 'x', gameType: 'ADV', isFree: true });

  test('count over all workers exactly what was sent', async () => {
    await scrapeWorkers();
    const owner = { Authorization: `Bearer ${key}` };
    const kinds: [times: number, make: (n: number) => Promise<number>][] = [
      [40, () => call('game.list', PAGE)],
      [15, () => send(`/api/trpc/game.list?input=${encodeURIComponent(JSON.stringify({ json: PAGE }))}`)],
      [12, () => call('game.list', { limit: 'many' })],
      [11, () => call('game.getById', { id: NOBODY })],
      [10, () => call('game.create', tag('x'))],
      [9, () => call('game.create', tag('x'), { Authorization: 'Bearer nonsense' })],
      [8, (n) => call('game.create', tag(`game ${n}`), owner)],
      // A name that a caller makes up.
      [7, (n) => call(`game.made${n}`, {})],
      [6, () => post('/api/trpc/game.list', '{')],
      // A batch counts as its calls, each by what became of it.
      [
        5,
        () =>
          post('/api/trpc/game.list,game.getById,game.no?batch=1', { 0: { json: PAGE }, 1: { json: { id: NOBODY } } }),
      ],
      // None of the calls that may be made is.
      [4, () => post('/api/trpc/game.list,image.list?batch=1', '{')],
      [
        3,
        (n) => {
          const message = {
            jsonrpc: '2.0',
            id: n,
            method: 'tools/call',
            params: { name: 'image_list', arguments: PAGE },
          };
          return post('/mcp', message, { Accept: 'application/json, text/event-stream' });
        },
      ],
      [2, () => send('/healthz')],
      [2, () => send('/no/such/page')],
    ];
    const all = kinds.flatMap(([times, make]) => Array.from({ length: times }, (_, n) => () => make(n)));
    // In a mixed order, some at a time.
    const mixed = all.map((make, index) => ({ make, at: (index * 7919) % all.length })).toSorted((a, b) => a.at - b.at);
    const rest = mixed.values();
    const runner = async (): Promise<void> => {
      for (const { make } of rest) await make();
    };
    await Promise.all(Array.from({ length: 8 }, runner));

    const expected = {
      'game.list 200': 40 + 15 + 5,
      'game.list 400 VALIDATION_FAILED': 12,
      'game.list 400 MALFORMED_JSON': 6 + 4,
      'image.list 400 MALFORMED_JSON': 4,
      'game.getById 404 GAME_NOT_FOUND': 11 + 5,
      'game.create 401 KEY_MISSING': 10,
      'game.create 401 KEY_MALFORMED': 9,
      'game.create 200': 8,
      'unknown 404 PROCEDURE_NOT_FOUND': 7 + 5,
      'image.list 200': 3,
    };
    const seen = await scrapeWorkers();
    const sums = (name: string, ...labels: string[]) => sumsBy(seen.flat(), name, ...labels);
    expect(sums('calls_total', 'procedure', 'status', 'reason')).toEqual(expected);
    const calls = Object.values(expected).reduce((a, b) => a + b, 0);
    // Each of them took a time.
    const timed = Object.values(sums('call_duration_seconds_count', 'procedure')).reduce((a, b) => a + b, 0);
    expect(timed).toBe(calls);
    // Both had some of them, and the supervisor none.
    for (const one of seen) expect(sumsBy(one, 'calls_total')).not.toEqual({});
    const supervisor = await scrape(0);
    expect(sumsBy(supervisor, 'calls_total')).toEqual({});
    expect(sumsBy(supervisor, 'build_info', 'engine')).toEqual({ sqlite: 1 });

    // A request is over a moment after its answer.
    const requests = { trpc: 40 + 15 + 12 + 11 + 10 + 9 + 8 + 7 + 6 + 5 + 4, mcp: 3, health: 2, site: 2 };
    const requestsSeen = async () => sumsBy((await scrapeWorkers()).flat(), 'http_requests_total', 'route');
    for (let attempt = 0; attempt < 100; attempt += 1) {
      if (JSON.stringify(await requestsSeen()) === JSON.stringify(requests)) break;
      await sleep(20);
    }
    expect(await requestsSeen()).toEqual(requests);
  });

  test('have no label with what a caller sent', async () => {
    const known: Record<string, readonly string[]> = {
      procedure: [...procedures.map(({ id }) => id), 'unknown'],
      reason: ['', ...reasons],
      route: ['trpc', 'stream', 'mcp', 'health', 'site', 'none'],
    };
    const samples = (await scrapeWorkers()).flat();
    for (const [label, values] of Object.entries(known)) {
      const seen = new Set(samples.map(({ labels }) => labels[label]).filter((value) => value !== undefined));
      expect([label, [...seen].filter((value) => !values.includes(value))]).toEqual([label, []]);
    }
    // The ways that calls end, and 17 bounds of each histogram: beyond this, somebody has found a way to make more.
    expect(samples.length / WORKERS).toBeLessThan(100 * procedures.length);
  });

  test('a worker that is replaced has its port, and the supervisor knows', async () => {
    const pidOf = (line: string) => JSON.parse(line) as { pid: number; msg: string; port: number };
    const first = served
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map(pidOf)
      .find(({ msg, port: at }) => msg === 'metrics' && at === port + 1);
    process.kill(first!.pid, 'SIGKILL');
    const startOf = async (): Promise<number | undefined> =>
      (await scrape(1).catch((): Sample[] => [])).find(({ name }) => name === 'process_start_time_seconds')?.value;
    for (let attempt = 0; attempt < 1000 && (await startOf()) === undefined; attempt += 1) await sleep(50);
    expect(await startOf()).toBeDefined();
    expect(sumsBy(await scrape(0), 'worker_exits_total')).toEqual({ '': 1 });
  });

  test.each([
    ['GET', '/', 404],
    ['GET', '/metrics/', 404],
    ['POST', '/metrics', 405],
    ['HEAD', '/metrics', 200],
  ])('%s %s', async (method, path, status) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    expect(response.status).toBe(status);
    if (status === 200) expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  });

  test.each([
    [{ WORKERS: '1' }, 'is in use on 127.0.0.1'],
    [{ WORKERS: '3', METRICS_PORT: '65533' }, 'leaves too few for 3 workers: it must be at most 65532'],
    [{ WORKERS: '3', METRICS_PORT: '1999', PORT: '2000' }, 'takes the ports up to 2002 with those of 3 workers'],
  ])('a port that cannot be had stops the start', async (variables, fault) => {
    const env = {
      DATABASE_URL: database.url,
      HOST: '127.0.0.1',
      PORT: '0',
      METRICS_PORT: String(port),
      METRICS_HOST: '127.0.0.1',
      LOG_LEVEL: 'silent',
      ...variables,
    };
    const { code, stdout, stderr } = await runCli(['serve'], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`error: METRICS_PORT "${env.METRICS_PORT}" ${fault}`);
  });

  test('connections to its port that say nothing are closed in time, and never too many', async () => {
    let closed = 0;
    const told = new Set<Socket>();
    const sockets = Array.from({ length: 300 }, () =>
      connect(port, '127.0.0.1')
        .on('data', function (this: Socket) {
          told.add(this);
        })
        .on('error', () => undefined)
        .on('close', () => (closed += 1)),
    );
    await until(() => closed === sockets.length);
    // Those beyond 200 are closed at once, the others with an answer, when their time is up.
    expect(told.size).toBeGreaterThan(0);
    expect(told.size).toBeLessThanOrEqual(200);
    expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(200);
  });

  test('stops with the service', async () => {
    expect(await served.stop()).toBe(0);
    await expect(scrape(0)).rejects.toThrow('fetch failed');
  });
});
