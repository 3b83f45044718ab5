import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { until } from '../../harness/until.ts';
import { type Part, RECORDS, startVitessCluster } from '../../harness/vitess/cluster.ts';
import { startInstance } from './instance.ts';
import { inTurns, type StartVictim } from './victim.ts';

// One instance on a cluster of Vitess whose records are on two shards, which commits them together.

const run = promisify(execFile);
const DOWN_MS = 500;

export const VITESS_NEMESES = ['mysql', 'tablet', 'vtgate', 'kill'];

export const startVitessShards: StartVictim = async ({ prepare, env }) => {
  const cluster = await startVitessCluster();
  await prepare(cluster.url);
  await run(process.execPath, [
    'deploy/vitess/prepare.mjs',
    '--server',
    cluster.control,
    '--vtctldclient',
    cluster.client,
  ]);
  const move = ['MoveTables', '--workflow=records', `--target-keyspace=${RECORDS}`];
  const tables = ['games', 'image_posts'].flatMap((table) => {
    const one = table.replace(/s$/, '');
    return [table, ...['tags', 'favorites', 'reactions'].map((name) => `${one}_${name}`)];
  });
  await cluster.command(...move, 'create', '--source-keyspace=content', `--tables=${tables.join(',')}`);
  await until(async () => {
    const status = await cluster.command(...move, 'status');
    return status.match(/Status: Running\. VStream Lag: 0s/g)?.length === 2;
  });
  await cluster.command(...move, 'switchtraffic');
  await cluster.command(...move, 'complete', '--keep-routing-rules');
  const instance = await startInstance({ url: cluster.url, env: { ...env, AUTO_MIGRATE: 'false' } });
  const shard = inTurns(cluster.shards);
  const failing = async (part: Part): Promise<void> => {
    await part.kill();
    await sleep(DOWN_MS);
    await part.start();
  };
  return {
    bases: [instance.base],
    url: cluster.url,
    nemeses: {
      mysql: () => failing(shard().mysql),
      tablet: () => failing(shard().tablet),
      vtgate: () => failing(cluster.vtgate),
      kill: async () => {
        await instance.kill();
        await instance.start();
      },
    },
    remove: async () => {
      await instance.remove();
      await cluster.remove();
    },
  };
};
