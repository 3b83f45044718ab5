/**
 * @engines mariadb
 * @tier fault
 * @needs galera
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { expectExactCounts } from '../harness/app/counts.ts';
import { type Cluster, startCluster } from '../harness/faults/galera.ts';
import { noteResult } from '../harness/faults/results.ts';
import {
  type Attempt,
  audit,
  type Callers,
  outcomesOf,
  startTogglers,
  startWriters,
} from '../harness/faults/writers.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';

// A cluster of three that each take writes. Two instances of the service prefer two different nodes, so that what they
// write conflicts, and nodes fail one after the other.

let cluster: Cluster;
let key: string;
let served: ServeProcess[] = [];
let callers: Callers[] = [];

describe('Galera cluster', () => {
  beforeAll(async () => {
    cluster = await startCluster();
    key = await aKey(cluster.url(0));
  });
  beforeEach(async () => {
    const env = { LOG_LEVEL: 'error', RATE_LIMIT: 'off', AUTO_MIGRATE: 'false' };
    served = [
      await startServe({ url: cluster.url(0, 1, 2), env }),
      await startServe({ url: cluster.url(1, 2, 0), env }),
    ];
  });
  afterEach(async () => {
    await Promise.all(served.map((one) => one.stop('SIGKILL')));
    served = [];
  });
  afterAll(() => cluster.remove());

  /** Callers of each instance, and some of both in turns: of the same tags and the same author, whose counters conflict. */
  const startCallers = async (): Promise<void> => {
    const bases = served.map(({ base }) => base);
    callers = [
      startWriters(bases[0]!, key, { count: 4, obedient: true, patienceMs: 15_000 }),
      startWriters(bases[1]!, key, { count: 4, obedient: true, patienceMs: 15_000 }),
      await startTogglers(bases, key, { count: 4, obedient: true, patienceMs: 15_000 }),
    ];
    await Promise.all(callers.map((one) => one.succeeded(5)));
  };

  const check = async (fault: string, healthy: number, seen: string): Promise<void> => {
    await Promise.all(callers.map((one) => one.succeeded(5)));
    await Promise.all(callers.map((one) => one.stop()));
    const checked = await audit(cluster.url(healthy), ...callers);
    const attempts: readonly Attempt[] = callers.flatMap((one) => one.attempts);
    const outcomes = outcomesOf(attempts);
    noteResult({
      fault: `Galera: ${fault}`,
      rounds: 1,
      load: '2 instances, 8 writers, 4 togglers',
      ...checked,
      seen: [seen, ...Object.entries(outcomes).map(([outcome, count]) => `${outcome} ${count}`)].join(', '),
    });
    expect(checked).toMatchObject({ histories: [], lost: 0, duplicated: 0, unacknowledged: 0 });
    expect(Object.keys(outcomes)).not.toContain('INTERNAL');
    await withDatabase(cluster.url(healthy), expectExactCounts);
  };

  test('conflicts between writers on two nodes are seen by nobody', async () => {
    const failures = async (): Promise<number> => {
      const counts = await Promise.all(
        cluster.nodes.map(async (node) => [
          Number(await node.status('wsrep_local_cert_failures')),
          Number(await node.status('wsrep_local_bf_aborts')),
        ]),
      );
      return counts.flat().reduce((sum, count) => sum + count, 0);
    };
    const before = await failures();
    await startCallers();
    await sleep(4000);
    await Promise.all(callers.map((one) => one.stop()));
    const conflicts = (await failures()) - before;
    const attempts = callers.flatMap((one) => one.attempts);
    expect(conflicts).toBeGreaterThan(5);
    expect(Object.keys(outcomesOf(attempts))).toEqual(['ok']);
    const checked = await audit(cluster.url(2), ...callers);
    noteResult({
      fault: 'Galera: writers of the same counters on two nodes',
      rounds: 1,
      load: '2 instances, 8 writers, 4 togglers',
      ...checked,
      seen: `${conflicts} conflicts between the nodes`,
    });
    expect(checked).toMatchObject({ histories: [], lost: 0, duplicated: 0, unacknowledged: 0 });
    await withDatabase(cluster.url(2), expectExactCounts);
  });

  test('a node that is killed, and joins again, costs nothing that was answered', async () => {
    await startCallers();
    await cluster.nodes[0]!.kill();
    await Promise.all(callers.map((one) => one.succeeded(20)));
    expect(await cluster.nodes[1]!.status('wsrep_cluster_size')).toBe('2');
    const began = performance.now();
    await cluster.nodes[0]!.start();
    await cluster.untilSynced(3);
    await check(
      'a node killed (kill -9), and joined again',
      0,
      `joined after ${Math.round(performance.now() - began)} ms`,
    );
  });

  test('a node that stands still, and goes on, costs nothing that was answered', async () => {
    await startCallers();
    await cluster.nodes[0]!.freeze();
    await Promise.all(callers.map((one) => one.succeeded(20)));
    expect(await cluster.nodes[1]!.status('wsrep_cluster_size')).toBe('2');
    cluster.nodes[0]!.thaw();
    await cluster.untilSynced(3);
    await check('a node frozen (SIGSTOP), and gone on', 0, 'in step again');
  });

  test('a node that is cut off from the others, and finds them again, costs nothing that was answered', async () => {
    await startCallers();
    await cluster.nodes[0]!.isolate(true);
    await Promise.all(callers.map((one) => one.succeeded(20)));
    expect(await cluster.nodes[1]!.status('wsrep_cluster_size')).toBe('2');
    expect(await cluster.nodes[0]!.status('wsrep_cluster_status')).not.toBe('Primary');
    await cluster.nodes[0]!.isolate(false);
    await cluster.untilSynced(3);
    await check('a node cut off from the others, and joined again', 0, 'in step again');
  });
});
