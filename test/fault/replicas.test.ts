/**
 * @engines mariadb
 * @tier fault
 */
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Diagnosis } from '../../src/admin/doctor/check.ts';
import type { Output } from '../harness/app/app.ts';
import { type Client, type Ending, openClient } from '../harness/app/client.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';
import { type Replication, startReplication } from '../harness/faults/replication.ts';
import { freePorts } from '../harness/free-ports.mjs';
import { aKey } from '../harness/http/load.ts';
import { until } from '../harness/until.ts';

// A replica that lags, or is gone, under calls without a key.

jest.setTimeout(600_000);

let replication: Replication;
let served: ServeProcess;
let metricsPort: number;
let [author, anyone]: Client[] = [];

beforeEach(async () => {
  replication = await startReplication({ isSemiSynchronous: false });
  [metricsPort = 0] = await freePorts(1);
});
afterEach(async () => {
  author?.close();
  anyone?.close();
  await served?.stop('SIGKILL');
  await replication.remove();
});

const textOf = (ending: Ending | undefined): string => {
  if (ending?.kind !== 'answered' || ending.status !== 200) throw new Error(`It failed: ${JSON.stringify(ending)}`);
  return ending.text;
};
const publish = async (title: string): Promise<void> => void textOf(await author?.call('game.create', { title }));
/** The newest title that calls without a key see. */
const newest = async (): Promise<string | undefined> => {
  const text = textOf(await anyone?.call('game.list', { limit: 1, page: 1 }));
  const { result } = JSON.parse(text) as { result: { data: { json: Output<'game.list'> } } };
  return result.data.json.items[0]?.title;
};
const logged = (words: string): Promise<void> =>
  until(() => served.log().includes(words), { seen: () => served.log() });
/** The greatest lag but that of the primary, which is no replica: in seconds, as Prometheus sees it. */
const lags = async (): Promise<number[]> => {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return Array.from(text.matchAll(/^content_gateway_database_replica_lag_seconds\{.*\} (\S+)$/gm), ([, value]) =>
    value === '+Inf' ? Infinity : Number(value),
  );
};
const doctor = async (): Promise<Diagnosis[]> => {
  const env = { DATABASE_URL: replication.url, DATABASE_READ_URL: replication.readUrl };
  const { stdout } = await runCli(['doctor', '--json'], { env });
  const lines = stdout.trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Diagnosis).filter(({ check }) => check.startsWith('replica '));
};

test('a replica that lags or is gone is left until it has caught up, and log, metrics and doctor tell of it', async () => {
  served = await startServe({
    url: replication.url,
    env: { DATABASE_READ_URL: replication.readUrl, METRICS_PORT: String(metricsPort), LOG_LEVEL: 'info' },
  });
  const key = await aKey(replication.url);
  [author, anyone] = [openClient(served.base, key), openClient(served.base)];
  // Nobody answers at the address of the other server, which is the primary.
  expect(served.log()).toContain('a replica cannot be reached, or is empty, and is not used');
  await publish('first');
  await until(async () => (await newest()) === 'first');
  const health = (await doctor()).map((one) => one.health);
  expect(health.toSorted()).toEqual(['ok', 'warning']);

  await replication.stopReplicating();
  await publish('second');
  await logged('a replica lags behind by more than REPLICA_MAX_LAG, and is not used');
  expect(await newest()).toBe('second');
  expect((await lags()).filter((lag) => lag > 5)).toHaveLength(2);
  expect(await doctor()).toContainEqual(
    expect.objectContaining({
      health: 'warning',
      message: expect.stringMatching(/does not replicate: Slave_\w+ is No/),
    }),
  );

  await replication.goOnReplicating();
  await logged('a replica has caught up: reads use it again');
  expect((await lags()).filter((lag) => lag <= 5)).toHaveLength(1);

  const lost = served.log().split('a replica cannot be reached').length;
  await replication.killReplica();
  await publish('third');
  await until(() => served.log().split('a replica cannot be reached').length > lost);
  expect(await newest()).toBe('third');
  expect(await lags()).toEqual([Infinity, Infinity]);
  expect((await doctor()).map((one) => one.message)).toEqual([
    'It cannot be reached, or is empty.',
    'It cannot be reached, or is empty.',
  ]);
  const caught = served.log().split('a replica has caught up').length;
  await replication.startReplica();
  await until(() => served.log().split('a replica has caught up').length > caught);
  await publish('fourth');
  await until(async () => (await newest()) === 'fourth');
});
