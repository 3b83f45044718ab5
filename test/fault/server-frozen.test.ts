/**
 * @engines server
 * @tier timing
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openClient } from '../harness/app/client.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { type DurableServer, startDurableServer } from '../harness/faults/durable-server.ts';
import { startLiveness, startProber } from '../harness/faults/prober.ts';
import { startReaders } from '../harness/faults/readers.ts';
import { noteResult } from '../harness/faults/results.ts';
import { audit, type Callers, startTogglers, startWriters, strayOf } from '../harness/faults/writers.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { type Environment, type ServeProcess, startServe } from '../harness/app/program.ts';

// The database stands still, as a machine does whose disk hangs: it holds its connections, and says nothing.

const REQUEST_MS = 2000;
/** What a request may take beyond its deadline. */
const GRACE_MS = 500;
const REFUSALS = ['TIMEOUT', 'OVERLOADED', 'DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN'];

let server: DurableServer;
let key: string;
let served: ServeProcess;

beforeEach(async () => {
  server = await startDurableServer();
  key = await aKey(server.url);
});
afterEach(async () => {
  server.thaw();
  await served.stop('SIGKILL');
  await server.remove();
});

const start = async (env: Environment = {}): Promise<void> => {
  served = await startServe({
    url: server.url,
    env: { LOG_LEVEL: 'warn', RATE_LIMIT: 'off', REQUEST_TIMEOUT_MS: String(REQUEST_MS), ...env },
  });
};

/** Callers of every kind: with a key and without, of lists and of records. */
const everyKind = (): Parameters<typeof startReaders>[1] => [
  { procedure: 'game.list', input: { limit: 20, page: 1 } },
  { procedure: 'game.list', input: { limit: 20, page: 1, search: 'a' }, key },
  { procedure: 'user.me', input: {}, key },
  { procedure: 'image.list', input: { limit: 20, page: 1 } },
  { procedure: 'user.search', input: { query: 'a', limit: 1 }, key },
];

// Once for longer than a driver waits for a connection by default.
const frozenMs = globalThis.TEST_ENGINE.name === 'mariadb' ? 11_000 : 4000;

describe('while the database stands still', () => {
  test(`for ${frozenMs} ms, everyone is answered in time, and all is well at once when it goes on`, async () => {
    await start();
    const writers = startWriters(served.base, key, { count: 16, obedient: false });
    const togglers = await startTogglers(served.base, key, { count: 4, obedient: true });
    const readers = startReaders(served.base, everyKind());
    const live = await startLiveness(`${served.base}/healthz`);
    const ready = startProber(`${served.base}/readyz`);
    const callers: Callers[] = [writers, togglers];
    await writers.succeeded(100);
    expect(ready.samples.map(({ status }) => status)).not.toContain(503);

    const frozenAt = performance.now();
    await server.freeze();
    const redAfter = await ready.until(503, frozenAt, frozenMs);
    await sleep(Math.max(0, frozenAt + frozenMs - performance.now()));
    const thawedAt = performance.now();
    server.thaw();
    await Promise.all(callers.map((one) => one.succeeded(1)));
    const writesAfter = performance.now() - thawedAt;
    const greenAfter = await ready.until(200, thawedAt, 10_000);
    await writers.succeeded(100);
    await Promise.all([...callers.map((one) => one.stop()), readers.stop()]);
    const lived = await live.stop();
    await ready.stop();

    const checked = await audit(server.url, ...callers);
    const slowest = Math.max(...[...writers.attempts, ...togglers.attempts, ...readers.attempts].map(({ ms }) => ms));
    noteResult({
      fault: `frozen (SIGSTOP) for ${frozenMs / 1000} s`,
      rounds: 1,
      load: '16 writers, 4 togglers, 5 readers',
      ...checked,
      seen: [
        `slowest answer ${Math.round(slowest)} ms`,
        `/readyz red after ${Math.round(redAfter)} ms, green ${Math.round(greenAfter)} ms after`,
        `writes ${Math.round(writesAfter)} ms after`,
        `/healthz p99 ${Math.round(lived.p99)} ms`,
      ].join('; '),
    });
    // The fault hit.
    expect(
      writers.attempts.filter(({ outcome, at, ms }) => outcome === 'ok' && at > frozenAt + 50 && at + ms < thawedAt),
    ).toEqual([]);
    expect(checked.longestOutageMs).toBeGreaterThan(frozenMs - 500);

    const all = [...writers.attempts, ...togglers.attempts, ...readers.attempts];
    expect(strayOf(all, ['ok', ...REFUSALS], REQUEST_MS + GRACE_MS + lived.slackMs)).toEqual([]);
    expect(checked).toMatchObject({ lost: 0, duplicated: 0 });
    expect(redAfter).toBeLessThan(2000 + lived.slackMs);
    expect(lived.failed).toBe(0);
    expect(lived.p99).toBeLessThan(100 + lived.slackMs);
    expect(writesAfter).toBeLessThan(2000 + lived.slackMs);
    expect(greenAfter).toBeLessThan(2000 + lived.slackMs);
    await withDatabase(server.url, expectExactCounts);
  });

  test('SIGTERM ends the service when its time is over, and loses nothing that was answered', async () => {
    const shutdownMs = 2000;
    await start({ SHUTDOWN_TIMEOUT_MS: String(shutdownMs), REQUEST_TIMEOUT_MS: '10000' });
    const client = openClient(served.base);
    const writers = startWriters(served.base, key, { count: 8, obedient: false });
    await writers.succeeded(50);
    // Views wait in memory.
    const [gameId] = writers.acknowledged.values();
    for (let view = 0; view < 5; view += 1) await client.call('game.getById', { id: gameId });
    client.close();
    await server.freeze();
    const asked = performance.now();
    const ended = await Promise.race([served.stop(), sleep(shutdownMs + 5000, 'still alive')]);
    const took = performance.now() - asked;
    server.thaw();
    await served.stop('SIGKILL');
    await writers.stop();

    const checked = await audit(server.url, writers);
    noteResult({
      fault: 'SIGTERM while the database is frozen',
      rounds: 1,
      load: '8 writers',
      ...checked,
      longestOutageMs: undefined,
      seen: `ended after ${Math.round(took)} ms, of ${shutdownMs} allowed`,
    });
    expect(ended).not.toBe('still alive');
    expect(took).toBeLessThan(shutdownMs + 1000);
    expect(checked).toMatchObject({ lost: 0, duplicated: 0 });
    await withDatabase(server.url, expectExactCounts);
  });
});
