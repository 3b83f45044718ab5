/**
 * @engines sqlite server
 * @tier timing
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { startLiveness } from '../harness/faults/prober.ts';
import { quantile } from '../harness/quantile.mjs';
import { startReaders } from '../harness/faults/readers.ts';
import { noteResult } from '../harness/faults/results.ts';
import { stopAfterTest } from '../harness/faults/running.ts';
import { aKey } from '../harness/http/load.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';

// A crowd that asks for more than there is: 2,000 connections which ask for related games, and rest for 50 ms between two
// calls; when they are refused, for as long as they are told, or no longer than else.

const CONNECTIONS = 2000;
const CROWD_MS = 8000;
/** How long calls may wait for their turn, and for how long some wait that came before the throughput was known. */
const QUEUE_MS = 1000;
const FIRST_QUEUE_MS = 5000;
/** How long health checks are kept waiting. */
const QUICK_MS = 150;
/** How long anybody is kept waiting while so many arrive at once, each of whom has to be let in and heard. */
const ARRIVAL_MS = 1000;
/** How long who asks again at once waits to be refused again. */
const PACE_MS = 3000;
const CROWD = fileURLToPath(new URL('../harness/faults/crowd.mjs', import.meta.url));

// Two processes share the machine with this crowd; where a third one does, it is measured again.
jest.retryTimes(2, { logErrorsBeforeRetry: true });

let database: TestDatabase;
let served: ServeProcess;

describe('crowd of callers', () => {
  beforeEach(async () => {
    database = await createDatabase();
    await aKey(database.url);
    const seeded = await runCli(
      ['seed', '--games', '5000', '--images', '500', '--users', '100', '--random-seed', '1'],
      {
        env: { DATABASE_URL: database.url },
      },
    );
    expect(seeded).toMatchObject({ code: 0 });
    served = await startServe({
      url: database.url,
      env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off', MAX_QUEUE_MS: String(QUEUE_MS) },
    });
  });
  afterEach(async () => {
    await served.stop('SIGKILL');
    await database.drop();
  });

  interface CrowdResult {
    statuses: Record<string, number>;
    /** Connections that were made, and requests that broke. */
    connected: number;
    failed: number;
    refusedMs: { p50: number; p99: number };
    admittedMs: { p50: number; p99: number };
  }

  /** Resolves when the crowd has left. */
  const startCrowd = (manners: string): Promise<CrowdResult> => {
    const child = spawn(process.execPath, [CROWD, served.base, String(CONNECTIONS), String(CROWD_MS), manners], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    stopAfterTest(() => void child.kill('SIGKILL'));
    const lines = createInterface(child.stdout);
    const line = (isIt: (text: string) => boolean) =>
      new Promise<string>((resolve, reject) => {
        lines.on('line', (text) => {
          if (isIt(text)) resolve(text);
        });
        child.once('exit', (code) => reject(new Error(`The crowd ended with status ${code}.`)));
      });
    return line((text) => text.startsWith('{')).then((text) => JSON.parse(text) as CrowdResult);
  };

  test.each([
    { manners: 'obedient', mostMs: 2 * QUEUE_MS },
    { manners: 'disobedient', mostMs: PACE_MS },
  ])(
    `${CONNECTIONS} connections that ask for too much, $manners ones, wait a second or are refused early, and leave nothing behind`,
    async ({ manners, mostMs }) => {
      const live = await startLiveness(`${served.base}/healthz`);
      const result = await startCrowd(manners);
      const leftAt = performance.now();
      const lived = await live.stop();
      await sleep(Math.max(0, leftAt + 2000 - performance.now()));
      const after = startReaders(served.base, [
        { procedure: 'game.list', input: { limit: 20, page: 1 } },
        { procedure: 'game.list', input: { limit: 20, page: 1, search: 'dragon' } },
        { procedure: 'game.getTypeStats', input: {} },
      ]);
      await sleep(2000);
      await after.stop();

      const { statuses, failed, refusedMs, admittedMs } = result;
      const afterMs = quantile(
        after.attempts.map(({ ms }) => ms),
        0.99,
      );
      noteResult({
        fault: `${CONNECTIONS} connections ask for related games for ${CROWD_MS / 1000} s, ${manners}`,
        rounds: 1,
        load: `${CONNECTIONS} calls at once`,
        acknowledged: statuses['200'] ?? 0,
        lost: 0,
        duplicated: 0,
        seen: [
          `${statuses['200'] ?? 0} answered (p99 ${admittedMs.p99} ms), ${statuses['503'] ?? 0} refused (p50 ${refusedMs.p50} ms, p99 ${refusedMs.p99} ms)`,
          `${failed} broken`,
          `/healthz p90 ${Math.round(lived.p90)} ms, p99 ${Math.round(lived.p99)} ms, ${lived.failed} failed`,
          `2 s after: p99 ${Math.round(afterMs)} ms`,
        ].join('; '),
      });
      expect(result.connected).toBeGreaterThanOrEqual(CONNECTIONS);
      const answered = statuses['200'] ?? 0;
      expect(answered).toBeGreaterThan(300);
      // The service answers at most what it completes within the queue time, and refuses the other connections.
      const capacity = (answered / CROWD_MS) * QUEUE_MS;
      expect(statuses['503'] ?? 0).toBeGreaterThan(CONNECTIONS - 2 * capacity);
      expect(Object.keys(statuses).filter((status) => status !== '200' && status !== '503')).toEqual([]);
      expect(failed).toBe(0);
      // As the crowd measures, which is busy itself.
      expect(admittedMs.p50).toBeLessThan(2 * QUEUE_MS + lived.slackMs);
      expect(admittedMs.p99).toBeLessThan(FIRST_QUEUE_MS + lived.slackMs);
      expect(refusedMs.p50).toBeLessThan(mostMs + lived.slackMs);
      expect(lived).toMatchObject({ failed: 0 });
      expect(lived.p90).toBeLessThan(QUICK_MS + lived.slackMs);
      expect(lived.p99).toBeLessThan(ARRIVAL_MS + lived.slackMs);
      expect(after.attempts.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
      expect(afterMs).toBeLessThan(100 + lived.slackMs);
    },
  );
});
