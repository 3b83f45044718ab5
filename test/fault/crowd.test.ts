/**
 * @engines sqlite server
 * @tier fault
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { startProber } from '../harness/faults/prober.ts';
import { quantile } from '../harness/quantile.mjs';
import { stopAfterTest } from '../harness/faults/running.ts';
import { controlUrl, startTurns, TURN_MS, turnsIn } from '../harness/faults/turns.ts';
import { openClient, reasonIn } from '../harness/app/client.ts';
import { aKey } from '../harness/http/load.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';

// A crowd that asks for more than there is: 2,000 connections which ask for related games, and rest for 50 ms between two
// calls; when they are refused, for as long as they are told, or no longer than else.

const CONNECTIONS = 2000;
/** After how many replies they leave, of which so many are no refusals. */
const REPLIES = 2 * CONNECTIONS;
const ADMITTED = 300;
/** How long calls may wait for their turn, and for how long some wait that came before the throughput was known. */
const QUEUE_MS = 1000;
const FIRST_QUEUE_MS = 5000;
/** How long who asks again at once waits to be refused again. */
const PACE_MS = 3000;
/** How often one caller asks before and after the crowd. */
const ALONE = 60;
const CROWD = fileURLToPath(new URL('../harness/faults/crowd.mjs', import.meta.url));

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
    /** In turns: all that passed, and how many until calls were refused, or answered. */
    turns: number;
    refused: { p50: number; p99: number };
    admitted: { p50: number; p99: number };
  }

  /** Resolves when the crowd has left. */
  const startCrowd = async (manners: string): Promise<CrowdResult> => {
    const args = [CROWD, served.base, CONNECTIONS, REPLIES, ADMITTED, await controlUrl(), TURN_MS, manners].map(String);
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    stopAfterTest(() => void child.kill('SIGKILL'));
    return JSON.parse(await text(child.stdout)) as CrowdResult;
  };

  /** The outcomes of one caller's calls. */
  const askAlone = async (): Promise<string[]> => {
    const client = openClient(served.base);
    const outcomes: string[] = [];
    for (let n = 0; n < ALONE; n += 1) {
      outcomes.push(reasonIn(await client.call('game.list', { limit: 20, page: 1 + n })));
      outcomes.push(reasonIn(await client.call('game.list', { limit: 20, page: 1 + n, search: 'dragon' })));
      outcomes.push(reasonIn(await client.call('game.getTypeStats', {})));
    }
    client.close();
    return outcomes;
  };

  test.each([
    { manners: 'obedient', longestMs: 2 * QUEUE_MS },
    { manners: 'disobedient', longestMs: PACE_MS },
  ])(
    `${CONNECTIONS} connections that ask for too much, $manners ones, wait a second or are refused early, and leave nothing behind`,
    async ({ manners, longestMs }) => {
      const turns = await startTurns();
      const beganAt = performance.now();
      await askAlone();
      const health = startProber(`${served.base}/healthz`);
      const cameAt = performance.now();
      const result = await startCrowd(manners);
      const leftAt = performance.now();
      await health.stop();
      const outcomes = await askAlone();
      const slower = turns.between(leftAt, performance.now()) / turns.between(beganAt, cameAt);

      const { statuses, failed, refused, admitted } = result;
      const looks = health.samples.map(turns.during);
      const [answers, refusals] = [statuses['200'] ?? 0, statuses['503'] ?? 0];
      expect(result.connected).toBeGreaterThanOrEqual(CONNECTIONS);
      expect(Object.keys(statuses).toSorted()).toEqual(['200', '503']);
      expect(failed).toBe(0);
      // The service answers what it completes within the queue time, and refuses the other connections.
      const capacity = (answers / result.turns) * turnsIn(QUEUE_MS);
      expect(refusals).toBeGreaterThan(CONNECTIONS - 2 * capacity);
      expect(admitted.p50).toBeLessThan(turnsIn(2 * QUEUE_MS));
      expect(admitted.p99).toBeLessThan(turnsIn(FIRST_QUEUE_MS));
      expect(refused.p50).toBeLessThan(turnsIn(longestMs));
      expect(health.samples.filter(({ status }) => status !== 200)).toEqual([]);
      // Health checks wait for no turn of a call.
      expect(quantile(looks, 0.5)).toBeLessThan(Math.max(turnsIn(QUEUE_MS) / 4, admitted.p50 / 2));
      expect(outcomes.filter((outcome) => outcome !== 'ok')).toEqual([]);
      // Behind a queue that stands it would be twenty times.
      expect(slower).toBeLessThan(6);
    },
  );
});
