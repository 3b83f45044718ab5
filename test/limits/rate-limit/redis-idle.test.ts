/**
 * @engines sqlite
 * @tier fast
 * @needs redis
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Redis } from '../../../src/limits/rate-limit/stores/redis.ts';
import { Metrics } from '../../../src/telemetry/metrics/metrics.ts';
import { samplesOf } from '../../harness/documents/metrics.ts';
import { type RedisServer, startRedis } from '../../harness/servers/redis.ts';
import { until } from '../../harness/until.ts';

/** The silence after which a connection is replaced, shortened. */
const SILENT_MS = 400;

let server: RedisServer;
let redis: Redis | undefined;
let lines: string[];

beforeEach(async () => {
  server = await startRedis();
  lines = [];
});
afterEach(async () => {
  redis?.close();
  await server.kill();
});

const open = async (url = server.url): Promise<Redis> => {
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) });
  return (redis = await Redis.open(url, log, { patienceMs: 50, silentMs: SILENT_MS }));
};

/** The ids of the connections of the service: a replaced one has a new id. */
const connections = async (): Promise<string[]> =>
  [...(await server.command('CLIENT LIST')).matchAll(/^(?:\$\d+\r\n)?id=(\d+).* cmd=(?!client)/gm)].map(
    ([, id = '']) => id,
  );

describe('a Redis that no call needs for several times the silence of a connection', () => {
  test('is not given up', async () => {
    const idle = await open();
    const before = await connections();
    await sleep(4 * SILENT_MS);
    expect([idle.isConnected, idle.losses, lines]).toEqual([true, 0, []]);
    expect([before.length, await connections()]).toEqual([1, before]);
  });

  test('is not given up by a user who may not ping', async () => {
    await server.command('ACL SETUSER gateway on >secret ~* +@scripting +set');
    const idle = await open(server.url.replace('://', '://gateway:secret@'));
    await sleep(2 * SILENT_MS);
    expect([idle.isConnected, lines]).toEqual([true, []]);
  });

  test('is given up when it is frozen, once, and taken back', async () => {
    const idle = await open();
    const metrics = new Metrics();
    const none = {
      buffers: {},
      tails: { size: 0 },
      webhooks: { counts: { delivered: 0, failed: 0 }, lagSeconds: undefined },
      lookUps: {},
    };
    metrics.addSources({ engine: 'sqlite', database: { latest: {}, replicaLags: new Map() }, redis: idle, ...none });
    const measured = async (): Promise<number[]> =>
      samplesOf(await metrics.text()).flatMap(({ name, value }) => (name.includes('_redis_') ? [value] : []));
    expect(await measured()).toEqual([1, 0]);
    server.child.kill('SIGSTOP');
    await until(() => !idle.isConnected);
    expect(await measured()).toEqual([0, 1]);
    await sleep(2 * SILENT_MS);
    server.child.kill('SIGCONT');
    await until(() => idle.isConnected);
    expect(await measured()).toEqual([1, 1]);
    expect(lines).toEqual([expect.stringContaining('Redis is away'), expect.stringContaining('Redis is back')]);
  });
});
