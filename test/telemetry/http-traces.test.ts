/**
 * @engines sqlite
 * @tier long
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { type Collector, startCollector } from '../harness/servers/otlp.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { freePort } from '../harness/free-ports.mjs';

// Traces where nobody wants them, where nobody takes them, and with several workers.

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

let database: TestDatabase;
let served: ServeProcess;
let collector: Collector | undefined;
describe('HTTP traces', () => {
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(async () => {
    await served.stop('SIGKILL');
    await collector?.close();
    collector = undefined;
    await database.drop();
  });

  interface Line {
    msg: string;
    pid: number;
    requestId?: string;
    traceId?: string;
    spans?: number;
    err?: { code?: string };
  }
  const lines = (): Line[] =>
    served
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line);

  const list = async (headers: Record<string, string> = {}): Promise<number> => {
    const response = await fetch(`${served.base}/api/trpc/game.list`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Connection: 'close', ...headers },
      body: JSON.stringify({ json: { page: 1, limit: 1 } }),
    });
    await response.arrayBuffer();
    return response.status;
  };

  const asModule = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
  const HOOK = `import { writeSync } from 'node:fs';
    export const load = (url, context, next) => {
      writeSync(2, 'loaded ' + url + '\\n');
      return next(url, context);
    };`;
  /** Has Node tell on the standard error of each module that it loads. */
  const TELLING = {
    NODE_OPTIONS: `--import=${asModule(`import { register } from 'node:module'; register(${JSON.stringify(asModule(HOOK))});`)}`,
  };
  const loaded = (): boolean => /\bsrc\/telemetry\/tracing\/|@opentelemetry\/sdk-trace/.test(served.log());

  test('by default nothing of OpenTelemetry is loaded, and log lines have the ids of traces', async () => {
    served = await startServe({ url: database.url, env: TELLING });
    await list({ traceparent: TRACEPARENT, 'X-Request-Id': 'known' });
    await list({ traceparent: TRACEPARENT.replace('00-', 'ff-'), 'X-Request-Id': 'wrong' });
    await list({ 'X-Request-Id': 'none' });
    expect(await served.stop()).toBe(0);
    const ids = lines().flatMap(({ msg, requestId, traceId }) => (msg === 'request' ? [[requestId, traceId]] : []));
    expect(ids).toEqual([
      ['known', TRACE],
      ['wrong', undefined],
      ['none', undefined],
    ]);
    expect(served.log()).toMatch(/^loaded file:.*\/src\/app\/context\.[jt]s$/m);
    expect(loaded()).toBe(false);
  });

  test('each worker sends what it recorded, the supervisor nothing', async () => {
    collector = await startCollector();
    const env = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces` };
    served = await startServe({ url: database.url, env: { ...env, WORKERS: '2' } });
    const workers = (): number[] => [...new Set(lines().flatMap(({ msg, pid }) => (msg === 'request' ? [pid] : [])))];
    let sent = 0;
    // Until both have answered; the log is written now and then.
    while (workers().length < 2) {
      expect(await list()).toBe(200);
      sent += 1;
    }
    expect(await served.stop()).toBe(0);
    expect(collector.spans.filter(({ kind }) => kind === 'server')).toHaveLength(sent);
    expect(collector.headers.length).toBeGreaterThanOrEqual(2);
  });

  test('a collector that is away harms nothing, and is told of once', async () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
      OTEL_BSP_SCHEDULE_DELAY: '10',
    };
    served = await startServe({ url: database.url, env });
    const told = (): Line[] => lines().filter(({ msg }) => msg === 'traces could not be sent, and are lost');
    while (told().length === 0) expect(await list()).toBe(200);
    for (let n = 0; n < 50; n += 1) expect(await list()).toBe(200);
    expect(await served.stop()).toBe(0);
    expect(told()).toMatchObject([{ err: { code: 'ECONNREFUSED' }, spans: expect.any(Number) }]);
    expect(lines().filter(({ msg }) => msg === 'OpenTelemetry')).toEqual([]);
  });

  test('a collector that never answers does not keep the service from stopping', async () => {
    collector = await startCollector({ isSilent: true });
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_TIMEOUT: '1000000' };
    served = await startServe({ url: database.url, env });
    expect(await list()).toBe(200);
    expect(await served.stop()).toBe(0);
    expect(collector.bodies).toHaveLength(1);
    expect(lines().at(-1)?.msg).toBe('stopped');
  });
});
