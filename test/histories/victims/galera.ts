import { setTimeout as sleep } from 'node:timers/promises';
import { type Node, startCluster } from '../../harness/faults/galera.ts';
import { startInstance } from './instance.ts';
import { inTurns, type StartVictim } from './victim.ts';

// A Galera cluster of three nodes on one machine, below one instance, or below two that prefer different nodes.

const DOWN_MS = 500;
/** Longer than it takes the others to go on without a node. */
const AWAY_MS = 5000;

export const GALERA_NEMESES = ['node', 'partition', 'frozen', 'crash', 'kill'];

/** The nodes in the order in which each instance prefers them. */
const ORDERS = [
  [0, 1, 2],
  [1, 2, 0],
];

/** `settings` are those of each node. */
export const startGalera =
  (writers: 1 | 2, settings: Readonly<Record<string, string>> = {}): StartVictim =>
  async ({ prepare, env }) => {
    const cluster = await startCluster({ innodb_flush_log_at_trx_commit: '1', ...settings });
    await prepare(cluster.url(0));
    const instances = await Promise.all(
      ORDERS.slice(0, writers).map((order) => startInstance({ url: cluster.url(...order), env })),
    );
    const next = inTurns(instances);
    /** The node that has most connections. */
    const writtenTo = async (): Promise<Node> => {
      const counts = await Promise.all(cluster.nodes.map((node) => node.status('Threads_connected')));
      const most = Math.max(...counts.map(Number));
      return cluster.nodes[counts.map(Number).indexOf(most)]!;
    };
    return {
      bases: instances.map(({ base }) => base),
      url: cluster.url(0, 1, 2),
      nemeses: {
        node: async () => {
          const node = await writtenTo();
          await node.kill();
          await sleep(DOWN_MS);
          await node.start();
          await cluster.untilSynced(3);
        },
        partition: async () => {
          const node = await writtenTo();
          await node.isolate(true);
          await sleep(AWAY_MS);
          await node.isolate(false);
          await cluster.untilSynced(3);
        },
        frozen: async () => {
          const node = await writtenTo();
          await node.freeze();
          await sleep(AWAY_MS);
          node.thaw();
          await cluster.untilSynced(3);
        },
        // All at once; together they find out which of them has got furthest.
        crash: async () => {
          await Promise.all(cluster.nodes.map((node) => node.kill()));
          await Promise.all(cluster.nodes.map((node) => node.start()));
          await cluster.untilSynced(3);
        },
        kill: async () => {
          const instance = next();
          await instance.kill();
          await instance.start();
        },
      },
      remove: async () => {
        await Promise.all(instances.map((instance) => instance.remove()));
        await cluster.remove();
      },
    };
  };
