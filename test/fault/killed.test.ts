/**
 * @engines all
 * @tier fault
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, engine } from '../harness/app/database.ts';
import { startDurableServer } from '../harness/faults/durable-server.ts';
import { freePorts } from '../harness/free-ports.mjs';
import { noteResult } from '../harness/faults/results.ts';
import { audit, type Callers, startTogglers, startWriters } from '../harness/faults/writers.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';

// kill -9 while everybody writes.

const ROUNDS = 3;
const WRITERS = 32;

let served: ServeProcess | undefined;
describe('killed processes', () => {
  afterEach(() => served?.stop('SIGKILL'));

  const start = async (url: string, port: number): Promise<ServeProcess> => {
    served = await startServe({
      url,
      env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off', REQUEST_TIMEOUT_MS: '5000', PORT: String(port) },
    });
    return served;
  };

  /** Requests that were under way at a moment, of those that have ended. */
  const underWayAt = (callers: readonly Callers[], moment: number): number =>
    callers.flatMap(({ attempts }) => attempts).filter(({ at, ms }) => at < moment && at + ms > moment).length;

  const load = async ({ base }: ServeProcess, key: string): Promise<Callers[]> => [
    startWriters(base, key, { count: WRITERS - 4, obedient: true }),
    await startTogglers(base, key, { count: 4, obedient: true }),
  ];

  const killRounds = async (callers: readonly Callers[], kill: () => Promise<void>): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await Promise.all(callers.map((one) => one.succeeded(20)));
      const at = performance.now();
      await kill();
      await Promise.all(callers.map((one) => one.succeeded(20)));
      expect(underWayAt(callers, at)).toBeGreaterThan(0);
    }
    await Promise.all(callers.map((one) => one.stop()));
  };

  const check = async (url: string, what: string, callers: readonly Callers[]): Promise<void> => {
    const checked = await audit(url, ...callers);
    noteResult({ fault: `kill -9 of ${what}`, rounds: ROUNDS, load: `${WRITERS} writers`, ...checked });
    expect(checked).toMatchObject({ histories: [], lost: 0, duplicated: 0, unacknowledged: 0 });
    await withDatabase(url, expectExactCounts);
  };

  test('kill -9 of the service under load loses and doubles nothing that was answered', async () => {
    const database = await createDatabase();
    const key = await aKey(database.url);
    const [port = 0] = await freePorts(1);
    const callers = await load(await start(database.url, port), key);
    await killRounds(callers, async () => {
      await served?.stop('SIGKILL');
      await start(database.url, port);
    });
    await check(database.url, 'the service', callers);
    await served?.stop('SIGKILL');
    await database.drop();
  });

  if (engine !== 'sqlite') {
    describe('kill -9 of the database under load', () => {
      test('loses and doubles nothing that was answered, and needs no restart of the service', async () => {
        const server = await startDurableServer();
        const key = await aKey(server.url);
        const callers = await load(await start(server.url, 0), key);
        await killRounds(callers, async () => {
          await server.kill();
          await sleep(300);
          await server.start();
        });
        await check(server.url, 'the database', callers);
        await served?.stop('SIGKILL');
        await server.remove();
      });
    });
  }
});
