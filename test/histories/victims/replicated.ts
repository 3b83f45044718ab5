import { startReplication } from '../../harness/faults/replication.ts';
import { startInstance } from './instance.ts';
import type { StartVictim } from './victim.ts';

// One instance on a MariaDB and its replica, which takes its place, and which calls without a key read.

const LAG_MS = 1000;
const DOWN_MS = 300;

export const REPLICATED_NEMESES = ['failover', 'lag', 'replica', 'kill'];

export const startReplicated =
  (isSemiSynchronous: boolean): StartVictim =>
  async ({ prepare, env }) => {
    const replication = await startReplication({ isSemiSynchronous });
    await prepare(replication.url);
    const { url, readUrl } = replication;
    const instance = await startInstance({ url, env: { ...env, DATABASE_READ_URL: readUrl } });
    return {
      bases: [instance.base],
      url,
      hasReplicas: true,
      nemeses: {
        failover: () => replication.failOver(),
        lag: async () => {
          if (!(await replication.lag(LAG_MS))) throw new Error('The replica did not lag behind.');
        },
        replica: () => replication.loseReplica(DOWN_MS),
        kill: async () => {
          await instance.kill();
          await instance.start();
        },
      },
      remove: async () => {
        await instance.remove();
        await replication.remove();
      },
    };
  };
