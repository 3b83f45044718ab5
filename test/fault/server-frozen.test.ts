/**
 * @engines server
 * @tier fault
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openClient } from '../harness/app/client.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { type DurableServer, startDurableServer } from '../harness/faults/durable-server.ts';
import { startProber } from '../harness/faults/prober.ts';
import { startReaders } from '../harness/faults/readers.ts';
import { noteResult } from '../harness/faults/results.ts';
import { startTurns, turnsIn } from '../harness/faults/turns.ts';
import { audit, eachEnded, startTogglers, startWriters, strayOf } from '../harness/faults/writers.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { type Environment, type ServeProcess, startServe } from '../harness/app/program.ts';

// The database stands still, as a machine does whose disk hangs: it holds its connections, and says nothing.

const REQUEST_MS = 2000;
/** More would be another deadline than that of a request. */
const LONGEST = 2 * turnsIn(REQUEST_MS);
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
const refusals = globalThis.TEST_ENGINE.name === 'mariadb' ? 6 : 2;

describe('while the database stands still', () => {
  test('everyone is answered before it goes on, and all is well at once when it does', async () => {
    await start();
    const turns = await startTurns();
    const writers = startWriters(served.base, key, { count: 16, obedient: false });
    const togglers = await startTogglers(served.base, key, { count: 4, obedient: true });
    const readers = startReaders(served.base, everyKind());
    const health = startProber(`${served.base}/healthz`);
    const ready = startProber(`${served.base}/readyz`);
    await writers.succeeded(100);
    expect(ready.samples.map(({ status }) => status)).not.toContain(503);

    const frozenAt = performance.now();
    await server.freeze();
    const redAt = await ready.answered(503, frozenAt);
    await Promise.all([
      eachEnded(writers.attempts, 16, frozenAt, refusals),
      eachEnded(togglers.attempts, 4, frozenAt, 1),
      eachEnded(readers.attempts, 5, frozenAt, refusals),
    ]);
    const thawedAt = performance.now();
    server.thaw();
    await Promise.all([writers, togglers].map((one) => one.succeeded(1)));
    const writtenAt = performance.now();
    const greenAt = await ready.answered(200, thawedAt);
    await writers.succeeded(100);
    await Promise.all([writers, togglers, readers, health, ready].map((one) => one.stop()));

    const checked = await audit(server.url, writers, togglers);
    const all = [...writers.attempts, ...togglers.attempts, ...readers.attempts];
    noteResult({
      fault: `frozen (SIGSTOP) until each caller was refused ${refusals} times`,
      rounds: 1,
      load: '16 writers, 4 togglers, 5 readers',
      ...checked,
      seen: [
        `slowest answer ${Math.round(Math.max(...all.map(({ ms }) => ms)))} ms`,
        `/readyz red after ${Math.round(redAt - frozenAt)} ms, green ${Math.round(greenAt - thawedAt)} ms after`,
        `writes ${Math.round(writtenAt - thawedAt)} ms after`,
      ].join('; '),
    });
    // The fault hit: what was sent to a database that stood still was not done before it went on.
    const early = writers.attempts.filter(({ at, ms }) => at > frozenAt + 50 && at + ms < thawedAt);
    expect(early.filter(({ outcome }) => outcome === 'ok')).toEqual([]);

    expect(strayOf(all, ['ok', ...REFUSALS])).toEqual([]);
    expect(Math.max(...all.map(turns.during))).toBeLessThan(LONGEST);
    expect(checked).toMatchObject({ lost: 0, duplicated: 0 });
    for (const [from, to] of [
      [frozenAt, redAt],
      [thawedAt, writtenAt],
      [thawedAt, greenAt],
    ] as const)
      expect(turns.between(from, to)).toBeLessThan(LONGEST);
    // Nothing that a health check needs stands still.
    expect(health.samples.filter(({ status }) => status !== 200)).toEqual([]);
    const checks = health.samples.filter(({ at, ms }) => at > frozenAt && at + ms < thawedAt);
    expect(checks.length).toBeGreaterThan(turns.between(frozenAt, thawedAt) / 8);
    await withDatabase(server.url, expectExactCounts);
  });

  test('SIGTERM ends the service when its time is over, and loses nothing that was answered', async () => {
    const shutdownMs = 2000;
    await start({ SHUTDOWN_TIMEOUT_MS: String(shutdownMs), REQUEST_TIMEOUT_MS: '10000' });
    const turns = await startTurns();
    const client = openClient(served.base);
    const writers = startWriters(served.base, key, { count: 8, obedient: false });
    await writers.succeeded(50);
    // Views wait in memory.
    const [gameId] = writers.acknowledged.values();
    for (let view = 0; view < 5; view += 1) await client.call('game.getById', { id: gameId });
    client.close();
    await server.freeze();
    const asked = performance.now();
    await served.stop();
    const ended = performance.now();
    server.thaw();
    await writers.stop();

    const checked = await audit(server.url, writers);
    noteResult({
      fault: 'SIGTERM while the database is frozen',
      rounds: 1,
      load: '8 writers',
      ...checked,
      longestOutageMs: undefined,
      seen: `ended after ${Math.round(ended - asked)} ms, of ${shutdownMs} allowed`,
    });
    // The calls that it waits for would take longer.
    expect(turns.between(asked, ended)).toBeLessThan(2 * turnsIn(shutdownMs));
    expect(checked).toMatchObject({ lost: 0, duplicated: 0 });
    await withDatabase(server.url, expectExactCounts);
  });
});
