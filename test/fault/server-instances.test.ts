/**
 * @engines server
 * @tier fault
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openClient, reasonIn } from '../harness/app/client.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { type Balancer, startBalancer } from '../harness/faults/balancer.ts';
import { freePorts } from '../harness/free-ports.mjs';
import { startReaders } from '../harness/faults/readers.ts';
import { noteResult } from '../harness/faults/results.ts';
import { startTurns, turnsIn } from '../harness/faults/turns.ts';
import { audit, startTogglers, startWriters, strayOf } from '../harness/faults/writers.ts';
import { until } from '../harness/until.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';

// Two instances on one database.

/** How long an instance that is told to stop still answers those who have not heard of it. */
const SHUTDOWN_DELAY_MS = '2000';

let database: TestDatabase;
let key: string;
let ports: number[];
let served: ServeProcess[];
let balancer: Balancer | undefined;

const start = (port: number): Promise<ServeProcess> =>
  startServe({
    url: database.url,
    env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off', SHUTDOWN_DELAY_MS, PORT: String(port) },
  });

describe('several instances', () => {
  beforeEach(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    ports = await freePorts(2);
    served = await Promise.all(ports.map(start));
  });
  afterEach(async () => {
    await balancer?.close();
    balancer = undefined;
    await Promise.all(served.map((one) => one.stop('SIGKILL')));
    await database.drop();
  });

  test('a key that is revoked stops working within a second on each instance', async () => {
    const turns = await startTurns();
    const clients = served.map(({ base }) => openClient(base, key));
    for (const client of clients) expect(reasonIn(await client.call('user.me', {}))).toBe('ok');
    const env = { DATABASE_URL: database.url };
    const listed = await runCli(['keys', 'list'], { env });
    const [id] = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/.exec(listed.stdout) ?? [];
    // In use on both all the while, so that each has it in memory.
    const uses = clients.map(async (client) => {
      let reason = 'ok';
      while (reason === 'ok') reason = reasonIn(await client.call('user.me', {}));
      return { reason, at: performance.now() };
    });
    const revoked = await runCli(['keys', 'revoke', id ?? ''], { env });
    const revokedAt = performance.now();
    expect(revoked).toMatchObject({ code: 0 });
    const ends = await Promise.all(uses);
    for (const client of clients) client.close();
    noteResult({
      fault: 'a key is revoked, two instances',
      rounds: 1,
      load: '2 callers',
      acknowledged: 0,
      lost: 0,
      duplicated: 0,
      seen: `refused ${ends.map(({ at }) => `${Math.max(0, Math.round(at - revokedAt))} ms`).join(' and ')} after`,
    });
    for (const { reason, at } of ends) {
      expect(reason).toBe('KEY_REVOKED');
      expect(turns.between(revokedAt, at)).toBeLessThan(turnsIn(1000));
    }
  });

  test('a rolling restart behind a balancer that looks who is ready fails no request', async () => {
    balancer = await startBalancer(ports);
    const writers = startWriters(balancer.url, key, { count: 8, obedient: false });
    const togglers = await startTogglers(balancer.url, key, { count: 2, obedient: false });
    const readers = startReaders(
      balancer.url,
      [
        { procedure: 'game.list', input: { limit: 20, page: 1 } },
        { procedure: 'user.me', input: {}, key },
      ],
      { restMs: 1 },
    );
    const rounds = 2;
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, port] of ports.entries()) {
        await writers.succeeded(50);
        expect(await served[index]!.stop('SIGTERM')).toBe(0);
        await writers.succeeded(20);
        served[index] = await start(port);
        await until(() => balancer?.ready() === ports.length);
      }
    }
    await writers.succeeded(50);
    await Promise.all([writers.stop(), togglers.stop(), readers.stop()]);

    const attempts = [...writers.attempts, ...togglers.attempts, ...readers.attempts];
    const checked = await audit(database.url, writers, togglers);
    noteResult({
      fault: 'rolling restart of two instances (SIGTERM)',
      rounds,
      load: '8 writers, 2 togglers, 2 readers',
      ...checked,
      seen: `${attempts.length} requests`,
    });
    // A busy machine may answer a look too late, too.
    expect(balancer.left()).toBeGreaterThanOrEqual(rounds * ports.length);
    expect(strayOf(attempts, ['ok'])).toEqual([]);
    expect(checked).toMatchObject({ histories: [], lost: 0, duplicated: 0, unacknowledged: 0 });
    await withDatabase(database.url, expectExactCounts);
  });
});
