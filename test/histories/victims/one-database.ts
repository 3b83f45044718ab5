import { rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, engine, type TestDatabase } from '../../harness/app/database.ts';
import { type DurableServer, startDurableServer } from '../../harness/faults/durable-server.ts';
import { buildReleased, releasedVersions } from '../../harness/released.mjs';
import { type RedisServer, startRedis } from '../../harness/servers/redis.ts';
import { fillDisk, mountSmallDisk, type SmallDisk } from '../../harness/servers/small-disk.ts';
import { until } from '../../harness/until.ts';
import { type Instance, PAUSE_MS, startInstance } from './instance.ts';
import { inTurns, type StartVictim } from './victim.ts';

// Instances of the service on one database: a file, or one server.

const DOWN_MS = 300;
/** The last is beyond the time that a call and its statements may take. */
const SILENCES_MS = [500, 1500, 7000];
/** Seconds that a clock is off. */
const STEPS = [-90, 120, -5, 0];
/** How long the version before answers. */
const OLDER_MS = 1000;
/** In MiB. What is on it takes memory, and no more. */
const ROOMY = 8192;
const MIB = 2 ** 20;
/** Limits that no client reaches. */
const AMPLE = ['read', 'anonymous', 'write', 'search', 'work'].map((name) => `${name}=1000000`).join(',');

/** The nemeses on an engine, in the order in which `all` takes turns. */
export const nemesesOfOne = (name: string): readonly string[] => [
  'kill',
  ...(name === 'sqlite' ? ['disk'] : ['database', 'network', 'instances']),
  'pause',
  'clock',
  'redis',
  'older',
];

/** The last release. */
const older = (): string => buildReleased(releasedVersions.at(-1)).program;

/** The database, and what else the instances have. */
interface Parts {
  server: DurableServer | undefined;
  disk: SmallDisk | undefined;
  redis: RedisServer | undefined;
  /** One or two. */
  instances: readonly Instance[];
}

const waysToHarm = ({ server, disk, redis, instances }: Parts): Record<string, () => Promise<void>> => {
  const next = inTurns(instances);
  const silence = inTurns(SILENCES_MS);
  const step = inTurns(STEPS);
  const isCut = inTurns([true, false]);
  const isKilled = inTurns([true, true, false, false]);
  const isFirst = inTurns([true, false]);

  const kill = async (): Promise<void> => {
    const instance = next();
    await instance.kill();
    await instance.start();
  };
  return {
    kill,
    pause: async () => {
      await next().pause();
      if (!server) return;
      await server.freeze();
      await sleep(PAUSE_MS);
      server.thaw();
    },
    instances: async () => {
      if (isKilled()) await kill();
      else await next().pause();
    },
    database: async () => {
      await server?.kill();
      await sleep(DOWN_MS);
      await server?.start();
    },
    network: async () => {
      const { proxy } = next();
      const isGone = isCut();
      if (isGone) await proxy?.cut();
      else proxy?.freeze();
      await sleep(isGone ? DOWN_MS : silence());
      if (isGone) await proxy?.restore();
      else proxy?.thaw();
    },
    disk: async () => {
      if (!disk) return;
      const { bsize, blocks, bfree } = statfsSync(disk.folder);
      disk.resize(Math.ceil(((blocks - bfree) * bsize) / MIB) + 2);
      const filler = join(disk.folder, 'filler');
      fillDisk(filler);
      await sleep(PAUSE_MS);
      rmSync(filler);
      disk.resize(ROOMY);
    },
    clock: async () => {
      const instance = next();
      const seconds = step();
      await instance.setClock(seconds);
      const isSet = async (): Promise<boolean> =>
        Math.abs((await instance.time()) - Date.now() - seconds * 1000) < 2000;
      await until(isSet);
    },
    redis: async () => {
      if (!redis) return;
      const isThere = async (expected: boolean): Promise<void> => {
        const holds = async (instance: Instance) => (await instance.metric('redis_available')) === Number(expected);
        for (const instance of instances) await until(() => holds(instance));
      };
      if (isFirst()) {
        await redis.kill();
        await isThere(false);
        await redis.restart();
      } else {
        redis.child.kill('SIGSTOP');
        await isThere(false);
        redis.child.kill('SIGCONT');
      }
      await isThere(true);
    },
    older: async () => {
      const instance = next();
      await instance.stop();
      await instance.start(older());
      await sleep(OLDER_MS);
      await instance.stop();
      await instance.start();
    },
  };
};

const createOn = async (disk: SmallDisk | undefined): Promise<TestDatabase> => {
  if (!disk) return createDatabase();
  return { url: `sqlite:${join(disk.folder, 'content.db')}`, drop: async () => disk.remove() };
};

export const startOneDatabase: StartVictim = async ({ nemeses, prepare, env }) => {
  const has = (name: string): boolean => nemeses.includes(name);
  if (has('older')) older();
  const disk = has('disk') ? mountSmallDisk(ROOMY) : undefined;
  if (has('disk') && !disk) throw new Error('The nemesis disk mounts a disk, which takes root.');
  const server = engine === 'sqlite' ? undefined : await startDurableServer();
  const database = server ? undefined : await createOn(disk);
  const url = server?.url ?? database!.url;
  await prepare(url);
  const redis = has('redis') ? await startRedis() : undefined;
  const options = {
    url,
    env: { ...env, ...(redis && { REDIS_URL: redis.url, RATE_LIMIT: AMPLE }) },
    hasProxy: has('network'),
    hasClock: has('clock'),
  };
  const instances: Instance[] = [];
  for (let n = 0; n < (has('instances') ? 2 : 1); n += 1) instances.push(await startInstance(options));
  return {
    bases: instances.map(({ base }) => base),
    url,
    nemeses: waysToHarm({ server, disk, redis, instances }),
    remove: async () => {
      for (const instance of instances) await instance.remove();
      await server?.remove();
      await database?.drop();
      await redis?.kill();
    },
  };
};
