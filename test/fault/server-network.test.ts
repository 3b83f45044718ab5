/**
 * @engines server
 * @tier timing
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { startLiveness, startProber } from '../harness/faults/prober.ts';
import { quantile } from '../harness/quantile.mjs';
import { type Readers, startReaders } from '../harness/faults/readers.ts';
import { noteResult } from '../harness/faults/results.ts';
import { type Attempt, audit, type Callers, outcomesOf, startWriters, strayOf } from '../harness/faults/writers.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { type Proxy, startProxy } from '../harness/servers/proxy.ts';

// The network between the service and its database falls silent, forgets connections, or gets slow.

const REQUEST_MS = 2000;
const GRACE_MS = 500;
const REFUSALS = ['TIMEOUT', 'OVERLOADED', 'DATABASE_UNAVAILABLE', 'OUTCOME_UNKNOWN'];

let database: TestDatabase;
let key: string;
let proxy: Proxy;
let served: ServeProcess;

describe('network to the database', () => {
  beforeEach(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    proxy = await startProxy(database.url);
  });

  const start = async (requestMs: number): Promise<void> => {
    served = await startServe({
      url: proxy.url,
      env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off', REQUEST_TIMEOUT_MS: String(requestMs) },
    });
  };
  afterEach(async () => {
    await served.stop('SIGKILL');
    await proxy.close();
    await database.drop();
  });

  const readers = (): Readers =>
    startReaders(served.base, [
      { procedure: 'game.list', input: { limit: 20, page: 1 } },
      { procedure: 'image.list', input: { limit: 20, page: 1 } },
      { procedure: 'user.me', input: {}, key },
    ]);
  const writers = (): Callers => startWriters(served.base, key, { count: 8, obedient: false, restMs: 10 });

  /** When the last request ended that met the fault, from `since` on. */
  const lastFailureAfter = (attempts: readonly Attempt[], since: number): number =>
    Math.max(0, ...attempts.filter(({ outcome }) => outcome !== 'ok').map(({ at, ms }) => at + ms - since));

  const faults: [string, (network: Proxy) => unknown, (network: Proxy) => unknown, number][] = [
    ['falls silent for 5 s, both ways, and goes on', (network) => network.freeze(), (network) => network.thaw(), 5000],
    ['forgets every connection, and says nothing', (network) => network.forget(), () => undefined, 0],
  ];
  test.each(faults)('a network that %s', async (what, fail, mend, ms) => {
    await start(REQUEST_MS);
    const [write, read] = [writers(), readers()];
    const live = await startLiveness(`${served.base}/healthz`);
    const ready = startProber(`${served.base}/readyz`);
    await write.succeeded(100);
    const failedAt = performance.now();
    fail(proxy);
    const redAfter = ms > 0 ? await ready.until(503, failedAt, ms) : 0;
    await sleep(Math.max(0, failedAt + ms - performance.now()));
    const mendedAt = performance.now();
    mend(proxy);
    await write.succeeded(100);
    await sleep(Math.max(0, mendedAt + REQUEST_MS + 2000 - performance.now()));
    await Promise.all([write.stop(), read.stop()]);
    const lived = await live.stop();
    await ready.stop();

    const attempts = [...write.attempts, ...read.attempts];
    const checked = await audit(database.url, write);
    const normalAfter = lastFailureAfter(attempts, mendedAt);
    noteResult({
      fault: `the network to the database ${what}`,
      rounds: 1,
      load: '8 writers, 3 readers',
      ...checked,
      seen: [
        ...Object.entries(outcomesOf(attempts)).map(([outcome, count]) => `${outcome} ${count}`),
        `last failure ${Math.round(normalAfter)} ms after`,
      ].join(', '),
    });
    // The fault hit.
    expect(attempts.filter(({ outcome, at }) => outcome !== 'ok' && at < mendedAt + 100)).not.toEqual([]);

    expect(strayOf(attempts, ['ok', ...REFUSALS], REQUEST_MS + GRACE_MS + lived.slackMs)).toEqual([]);
    expect(redAfter).toBeLessThan(2000 + lived.slackMs);
    // A connection is known to be dead only when the time of those who asked on it is over.
    expect(normalAfter).toBeLessThan((ms > 0 ? 2000 : 2 * REQUEST_MS + GRACE_MS) + lived.slackMs);
    expect(lived.failed).toBe(0);
    expect(lived.p99).toBeLessThan(100 + lived.slackMs);
    expect(checked).toMatchObject({ lost: 0, duplicated: 0 });
    await withDatabase(database.url, expectExactCounts);
  });

  test('a database that answers 200 ms later than usual makes everybody slower, and breaks nothing', async () => {
    const requestMs = 10_000;
    await start(requestMs);
    const live = await startLiveness(`${served.base}/healthz`);
    const [write, read] = [writers(), readers()];
    await write.succeeded(100);
    const slowAt = performance.now();
    proxy.delayReplies(200);
    await sleep(8000);
    const quickAt = performance.now();
    proxy.delayReplies(0);
    await sleep(4000);
    await Promise.all([write.stop(), read.stop()]);
    const lived = await live.stop();

    const attempts = [...write.attempts, ...read.attempts];
    const during = attempts.filter(({ at, ms }) => at > slowAt && at + ms < quickAt);
    const after = attempts.filter(({ at }) => at > quickAt + 2000);
    const p50 = quantile(
      during.map(({ ms }) => ms),
      0.5,
    );
    const checked = await audit(database.url, write);
    noteResult({
      fault: 'each reply of the database 200 ms later, for 8 s',
      rounds: 1,
      load: '8 writers, 3 readers',
      ...checked,
      seen: `p50 ${Math.round(p50)} ms, slowest ${Math.round(Math.max(...during.map(({ ms }) => ms)))} ms; ${during.length} answers`,
    });
    expect(p50).toBeGreaterThan(200);
    expect(strayOf(attempts, ['ok'], requestMs)).toEqual([]);
    expect(checked).toMatchObject({ lost: 0, duplicated: 0 });
    // Nothing has piled up.
    expect(
      quantile(
        after.map(({ ms }) => ms),
        0.99,
      ),
    ).toBeLessThan(Math.max(p50, 200 + lived.slackMs));
    await withDatabase(database.url, expectExactCounts);
  });
});
