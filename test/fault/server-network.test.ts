/**
 * @engines server
 * @tier fault
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { startProber } from '../harness/faults/prober.ts';
import { quantile } from '../harness/quantile.mjs';
import { type Readers, startReaders } from '../harness/faults/readers.ts';
import { noteResult } from '../harness/faults/results.ts';
import { startTurns, turnsIn } from '../harness/faults/turns.ts';
import {
  type Attempt,
  audit,
  type Callers,
  eachEnded,
  outcomesInWords,
  startWriters,
  strayOf,
} from '../harness/faults/writers.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { type Proxy, startProxy } from '../harness/servers/proxy.ts';

// The network between the service and its database falls silent, forgets connections, or gets slow.

const REQUEST_MS = 2000;
/** More would be another deadline than that of a request. */
const LONGEST = 2 * turnsIn(REQUEST_MS);
const [WRITERS, READERS] = [8, 3];
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
  const writers = (): Callers => startWriters(served.base, key, { count: WRITERS, obedient: false, restMs: 10 });

  /** How often one of these callers failed at most, of the requests that they sent after `since`. */
  const mostFailures = ({ attempts }: { attempts: readonly Attempt[] }, callers: number, since: number): number => {
    const failed = attempts.filter(({ outcome, at }) => outcome !== 'ok' && at > since);
    return Math.max(...Array.from({ length: callers }, (_, n) => failed.filter(({ caller }) => caller === n).length));
  };

  /** Resolves when each has ended so many requests that it sent after `since`. */
  const bothEnded = (write: Callers, read: Readers, since: number, times: number, count = WRITERS): Promise<unknown> =>
    Promise.all([eachEnded(write.attempts, count, since, times), eachEnded(read.attempts, READERS, since, times)]);

  test.each([
    ['falls silent, both ways, and goes on', true],
    ['forgets every connection, and says nothing', false],
  ])('a network that %s', async (what, isSilent) => {
    await start(REQUEST_MS);
    const turns = await startTurns();
    const [write, read] = [writers(), readers()];
    const health = startProber(`${served.base}/healthz`);
    const ready = startProber(`${served.base}/readyz`);
    await write.succeeded(100);
    const failedAt = performance.now();
    let redAt = failedAt;
    if (isSilent) {
      proxy.freeze();
      redAt = await ready.answered(503, failedAt);
      await bothEnded(write, read, failedAt, 2);
    } else proxy.forget();
    const mendedAt = performance.now();
    if (isSilent) proxy.thaw();
    await write.succeeded(100);
    await bothEnded(write, read, mendedAt, 20);
    await Promise.all([write, read, health, ready].map((one) => one.stop()));

    const attempts = [...write.attempts, ...read.attempts];
    const checked = await audit(database.url, write);
    const most = Math.max(mostFailures(write, WRITERS, mendedAt), mostFailures(read, READERS, mendedAt));
    noteResult({
      fault: `the network to the database ${what}`,
      rounds: 1,
      load: `${WRITERS} writers, ${READERS} readers`,
      ...checked,
      seen: `${outcomesInWords(attempts)}; each failed ${most} times at most afterwards`,
    });
    // The fault hit.
    expect(attempts.filter(({ outcome, at }) => outcome !== 'ok' && at < mendedAt + 100)).not.toEqual([]);

    expect(strayOf(attempts, ['ok', ...REFUSALS])).toEqual([]);
    expect(Math.max(...attempts.map(turns.during))).toBeLessThan(LONGEST);
    expect(turns.between(failedAt, redAt)).toBeLessThan(LONGEST);
    // A connection is known to be dead only when the time of those who asked on it is over.
    expect(most).toBeLessThanOrEqual(isSilent ? 1 : 3);
    expect(health.samples.filter(({ status }) => status !== 200)).toEqual([]);
    const [from, to] = [failedAt, performance.now()];
    const checks = health.samples.filter(({ at, ms }) => at > from && at + ms < to);
    expect(checks.length).toBeGreaterThan(turns.between(from, checks.at(-1)!.at) / 8);
    expect(checked).toMatchObject({ lost: 0, duplicated: 0 });
    await withDatabase(database.url, expectExactCounts);
  });

  test('a database that answers 200 ms later than usual makes everybody slower, and breaks nothing', async () => {
    // Writers of the same tags wait for each other.
    await start(60_000);
    const turns = await startTurns();
    const [write, read] = [
      startWriters(served.base, key, { count: 2, obedient: false, patienceMs: 60_000 }),
      readers(),
    ];
    await write.succeeded(20);
    proxy.delayReplies(200);
    const slowAt = performance.now();
    await bothEnded(write, read, slowAt, 3, 2);
    const quickAt = performance.now();
    proxy.delayReplies(0);
    // What was delayed is answered with those.
    await bothEnded(write, read, quickAt, 3, 2);
    const sinceAt = performance.now();
    await bothEnded(write, read, sinceAt, 20, 2);
    await Promise.all([write.stop(), read.stop()]);

    const attempts = [...write.attempts, ...read.attempts];
    const during = attempts.filter(({ at, ms }) => at > slowAt && at + ms < quickAt);
    const after = attempts.filter(({ at }) => at > sinceAt);
    const checked = await audit(database.url, write);
    noteResult({
      fault: 'each reply of the database 200 ms later, until each caller was answered three times',
      rounds: 1,
      load: `2 writers, ${READERS} readers`,
      ...checked,
      seen: `slowest ${Math.round(Math.max(...during.map(({ ms }) => ms)))} ms; ${during.length} answers`,
    });
    expect(Math.min(...during.map(({ ms }) => ms))).toBeGreaterThan(190);
    expect(strayOf(attempts, ['ok'])).toEqual([]);
    expect(checked).toMatchObject({ lost: 0, duplicated: 0 });
    // Nothing has piled up.
    const median = (some: readonly Attempt[]): number => quantile(some.map(turns.during), 0.5);
    expect(median(after)).toBeLessThan(median(during) / 2);
    await withDatabase(database.url, expectExactCounts);
  });
});
