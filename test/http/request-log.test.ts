/**
 * @engines sqlite
 * @tier fast
 */
import { renameSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startApp } from '../harness/app/app.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { until } from '../harness/until.ts';
import { PLANTED } from '../harness/documents/secrets.ts';

// What the log of the real program looks like, and what it tells of slow requests.

const JSON_TYPE = { 'Content-Type': 'application/json' };

interface Slow {
  msg: string;
  procedure?: string;
  requestId: string;
  ms: number;
  sqlCount: number;
  sqlMs: number;
  statements: { ms: number; text: string }[];
}
const slowLines = (log: string): Slow[] =>
  log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Slow)
    .filter(({ msg }) => msg === 'slow request');

let database: TestDatabase;
let served: ServeProcess;
describe('the log of the program', () => {
  beforeEach(async () => {
    database = await createDatabase({ migrated: true });
  });
  afterEach(async () => {
    await served.stop('SIGKILL');
    await database.drop();
  });

  test('as LOG_FORMAT=pretty, it is lines for people, without colors where no terminal shows them', async () => {
    served = await startServe({ url: database.url, env: { LOG_FORMAT: 'pretty' } });
    for (const path of ['/docs/', '/assets/site.css', '/docs/none.css', '/readyz', '/healthz'])
      await fetch(served.base + path, { headers: { 'X-Request-Id': 'unread' } });
    await fetch(`${served.base}/api/trpc/game.list`, { method: 'POST', body: '{"json":{}}', headers: JSON_TYPE });
    expect(await served.stop()).toBe(0);
    const lines = served.log().trimEnd().split('\n');
    expect(lines.filter((line) => !/^\[\d\d:\d\d:\d\d\.\d{3}\] (INFO|WARN): \S/.test(line))).toEqual([]);
    const requests = lines.flatMap((line) => / INFO: ((?:GET|POST) .*) \d+ ms$/.exec(line)?.[1] ?? []);
    expect(requests).toEqual([
      'GET /docs/ 200',
      'GET /docs/none.css 404 ROUTE_NOT_FOUND',
      'POST /api/trpc/game.list 400 VALIDATION_FAILED',
    ]);
    expect(served.log()).not.toContain('unread');
    expect(lines.at(-1)).toMatch(/INFO: stopped$/);
  });

  test('health checks are for debugging, a change of /readyz is told once, and SLOW_REQUEST_MS=0 tells of no request', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'content-gateway-ready-')), 'content.db');
    served = await startServe({ url: `sqlite:${file}`, env: { SLOW_REQUEST_MS: '0' } });
    const ask = async (times: number): Promise<number[]> => {
      const statuses: number[] = [];
      for (let n = 0; n < times; n += 1) statuses.push((await fetch(`${served.base}/readyz`)).status);
      return statuses;
    };
    expect(await ask(5)).toEqual([200, 200, 200, 200, 200]);
    await fetch(`${served.base}/healthz`);
    await fetch(`${served.base}/docs/`);
    renameSync(file, `${file}.away`);
    await until(async () => (await ask(2)).every((status) => status === 503));
    renameSync(`${file}.away`, file);
    await until(async () => (await ask(2)).every((status) => status === 200));
    expect(await served.stop()).toBe(0);
    rmSync(dirname(file), { recursive: true });
    const lines = served
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { msg: string; cause?: string });
    const told = lines.filter(({ msg }) => ['request', 'ready', 'not ready'].includes(msg));
    expect(told.map(({ msg, cause }) => [msg, cause])).toEqual([
      ['ready', undefined],
      // The page, which is no health check.
      ['request', undefined],
      ['not ready', 'unreachable'],
      ['ready', undefined],
    ]);
    expect(slowLines(served.log())).toEqual([]);
    expect(lines[0]).toMatchObject({ msg: 'starting', version: expect.any(String), build: expect.any(String) });
  });
});

test('a slow request is told with its statements and their times, and none of their values', async () => {
  const app = await startApp({ settings: { SLOW_REQUEST_MS: '1' } });
  const { key } = await app.aUser();
  const wanted = ['game.create', 'game.list', 'user.me'] as const;
  const isTold = (id: string): boolean =>
    slowLines(app.log()).some(({ procedure, sqlCount }) => procedure === id && sqlCount > 0);
  // One may take less than a millisecond.
  for (let n = 0; !wanted.every(isTold); n += 1) {
    await app.call('game.create', { title: `${PLANTED} ${n}`, tagNames: [`${PLANTED}-${n}`] }, key);
    await app.call('game.list', { limit: 1 + (n % 50), page: 1, search: `${PLANTED} ${n}` }, key);
    await app.call('user.me', {}, key);
  }
  const lines = slowLines(app.log());
  for (const { ms, requestId, statements: sql, sqlCount } of lines) {
    expect(ms).toBeGreaterThanOrEqual(1);
    expect(requestId).not.toBe('');
    expect(sql.length).toBeLessThanOrEqual(Math.min(sqlCount, 10));
    expect(sql.map((one) => one.ms)).toEqual(sql.map((one) => one.ms).toSorted((a, b) => b - a));
  }
  const texts = lines.flatMap(({ statements }) => statements.map(({ text }) => text));
  expect(texts).toContainEqual(expect.stringMatching(/^SELECT .* FROM /));
  expect(texts).toContainEqual(expect.stringMatching(/^INSERT .*INTO games /));
  // Nor does any line hold a value: `stop` looks for it.
  await app.stop();
});
