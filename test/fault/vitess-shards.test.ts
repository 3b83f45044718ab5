/**
 * @engines vitess
 * @tier fault
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { differenceOf } from '../../openapi/kit/conformance/findings/finding.ts';
import { idFromBytes } from '../../src/db/values.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { runCommand } from '../harness/app/command.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { blocksOf } from '../harness/documents/guide.ts';
import { startReaders } from '../harness/faults/readers.ts';
import { audit, type Callers, startTogglers, startWriters } from '../harness/faults/writers.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { runVerify } from '../harness/http/verify.ts';
import { until } from '../harness/until.ts';
import { RECORDS, startVitessCluster, type VitessCluster } from '../harness/vitess/cluster.ts';

// The way of docs/scaling.md from one MySQL to two shards, under load; then parts of the cluster fail within a commit. Histories
// kill each of its parts at any time.

const run = promisify(execFile);
/** The commands of the guide, step by step. */
const [PREPARE = '', COPY = '', COMPARE = '', SWITCH = ''] = blocksOf(readFileSync('docs/scaling.md', 'utf8'))
  .filter(({ language }) => language === 'bash')
  .map(({ text }) => text);

const WORKFLOW = ['--workflow=records', `--target-keyspace=${RECORDS}`];

let cluster: VitessCluster;
let key: string;
let served: ServeProcess;
let callers: Callers[] = [];

describe('Vitess with two shards', () => {
  beforeAll(async () => {
    cluster = await startVitessCluster();
    key = await aKey(cluster.url);
    await runCommands(PREPARE);
  });
  beforeEach(async () => {
    served = await startServe({
      url: cluster.url,
      env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off', AUTO_MIGRATE: 'false' },
    });
    const options = { count: 4, obedient: true, patienceMs: 15_000 };
    callers = [
      startWriters(served.base, key, options),
      startWriters(served.base, key, options),
      await startTogglers(served.base, key, options),
    ];
    await Promise.all(callers.map((one) => one.succeeded(5)));
  });
  afterEach(() => served.stop('SIGKILL'));
  afterAll(() => cluster.remove());

  /** Lets callers go on for a while, stops them, and holds what they were told against what is stored. */
  const check = async (): Promise<void> => {
    await Promise.all(callers.map((one) => one.succeeded(5)));
    await Promise.all(callers.map((one) => one.stop()));
    // What was prepared is committed or undone everywhere.
    await until(async () => (await undecided()) === 0, { withinMs: 60_000 });
    const checked = await audit(cluster.url, ...callers);
    expect(checked).toMatchObject({ histories: [], lost: 0, duplicated: 0, unacknowledged: 0 });
    const failed = callers.flatMap((one) => one.attempts).filter(({ outcome }) => outcome === 'INTERNAL');
    expect(failed.length > 0 ? served.log() : '').toBe('');
    await withDatabase(cluster.url, expectExactCounts);
  };

  /** The number that a statement returns as `n`, from the MySQL of a shard. */
  const onShard = async (shard: number, sql: string): Promise<number> =>
    Number(((await cluster.below(shard, sql)) as { n: number | string }[])[0]?.n);

  const rowsOf = (shard: number): Promise<number> => onShard(shard, `SELECT COUNT(*) AS n FROM ${RECORDS}.games`);

  /** Some games that are stored on a shard. */
  const gamesOn = async (shard: number): Promise<string[]> => {
    const rows = (await cluster.below(shard, `SELECT id FROM ${RECORDS}.games LIMIT 30`)) as { id: Buffer }[];
    return rows.map(({ id }) => idFromBytes(id));
  };

  /** How many distributed transactions the tablets have noted that are not decided or not done. */
  const undecided = async (): Promise<number> => {
    const sql = 'SELECT (SELECT COUNT(*) FROM _vt.dt_state) + (SELECT COUNT(*) FROM _vt.redo_state) AS n';
    const counts = await Promise.all([0, 1, 2].map((shard) => onShard(shard, sql)));
    return counts.reduce((sum, n) => sum + n, 0);
  };

  /** Runs commands of the guide as they stand, with the addresses of this cluster. */
  const runCommands = async (text: string): Promise<void> => {
    const define = `vtctldclient() { ${cluster.client} --server ${cluster.control} "$@"; }`;
    const commands = text.replaceAll(
      '--server localhost:15999',
      `--server ${cluster.control} --vtctldclient ${cluster.client}`,
    );
    const env = { ...process.env, DATABASE_URL: cluster.url, AUTO_MIGRATE: 'false' };
    await run('bash', ['-ec', `${define}\n${commands}`], { env });
  };

  test('is reached from one MySQL under load, and loses nothing', async () => {
    await runCommands(COPY);
    const status = () => cluster.command('MoveTables', ...WORKFLOW, 'status');
    const isCopied = async () => (await status()).match(/Status: Running\. VStream Lag: 0s/g)?.length === 2;
    await until(isCopied, { withinMs: 60_000, everyMs: 200 });
    await runCommands(COMPARE);
    const differences = ['VDiff', ...WORKFLOW, 'show', 'last'];
    expect(await cluster.command(...differences)).toMatch(/HasMismatch:\s+false/);
    await runCommands(SWITCH);
    await Promise.all(callers.map((one) => one.succeeded(50)));
    await check();
    const [left, right] = [await rowsOf(1), await rowsOf(2)];
    expect(Math.min(left, right)).toBeGreaterThan((left + right) / 4);
  });

  test('answers as the contract says', async () => {
    await Promise.all(callers.map((one) => one.stop()));
    const { results } = await runVerify({ baseUrl: served.base, key });
    expect(results.flatMap(({ findings }) => findings.map(differenceOf))).toEqual([]);
    expect(results.filter(({ outcome }) => outcome === 'passed').length).toBeGreaterThan(1300);
  });

  test('goes on with the records of a shard while the other one is gone', async () => {
    const [gone, living] = [await gamesOn(1), await gamesOn(2)];
    expect(Math.min(gone.length, living.length)).toBeGreaterThan(20);
    await cluster.shards[1].mysql.kill();
    const readers = (ids: readonly string[]) =>
      startReaders(
        served.base,
        ids.slice(0, 8).map((id) => ({ procedure: 'game.getById' as const, input: { id } })),
      );
    const [lost, kept] = [readers(gone), readers(living)];
    const lists = startReaders(served.base, [{ procedure: 'game.list', input: { limit: 20, page: 1 } }]);
    await Promise.all([sleep(4000), until(() => kept.attempts.length > 100, { withinMs: 60_000 })]);
    await Promise.all([lost.stop(), kept.stop(), lists.stop()]);
    await cluster.shards[1].mysql.start();
    expect(new Set(kept.attempts.map(({ outcome }) => outcome))).toEqual(new Set(['ok']));
    // A list that lacks a shard is no list.
    for (const { attempts } of [lost, lists]) {
      const outcomes = new Set(attempts.map(({ outcome }) => outcome));
      expect(['DATABASE_UNAVAILABLE', 'TIMEOUT', 'OVERLOADED']).toEqual(expect.arrayContaining([...outcomes]));
    }
    await check();
  });

  /** Has the tablet of a shard stand still while it holds a prepared transaction, which then stays so. */
  const freezeWhilePrepared = async (): Promise<void> => {
    const { tablet } = cluster.shards[1];
    const isPrepared = async (): Promise<boolean> => {
      await tablet.freeze();
      if ((await onShard(1, 'SELECT COUNT(*) AS n FROM _vt.redo_state')) > 0) return true;
      tablet.thaw();
      return false;
    };
    await until(isPrepared, { withinMs: 60_000 });
  };

  const ROUNDS_WITHIN_A_COMMIT = 3;

  test('finishes what was being committed when vtgate was killed', async () => {
    for (let round = 0; round < ROUNDS_WITHIN_A_COMMIT; round += 1) {
      await freezeWhilePrepared();
      await cluster.vtgate.kill();
      cluster.shards[1].tablet.thaw();
      await cluster.vtgate.start();
      await until(async () => (await undecided()) === 0, { withinMs: 60_000 });
      await Promise.all(callers.map((one) => one.succeeded(10)));
    }
    await check();
  });

  test('restores what was prepared on a shard whose MySQL was killed', async () => {
    const { mysql } = cluster.shards[1];
    for (let round = 0; round < ROUNDS_WITHIN_A_COMMIT; round += 1) {
      await freezeWhilePrepared();
      await mysql.kill();
      await mysql.start();
      await Promise.all(callers.map((one) => one.succeeded(10)));
    }
    await check();
  });

  test('is what "reconcile" finds everything right in', async () => {
    await Promise.all(callers.map((one) => one.stop()));
    const outcome = await runCommand(['reconcile'], { env: { DATABASE_URL: cluster.url } });
    expect(outcome).toEqual({ code: 0, stdout: expect.stringContaining('Everything is right'), stderr: '' });
  });
});
