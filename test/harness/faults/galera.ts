import { execFile, execFileSync } from 'node:child_process';
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll } from '@jest/globals';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { untilUp } from './durable-server.ts';
import { freePorts } from '../free-ports.mjs';
import { type Guarded, isFrozen, startGuarded } from './guarded.ts';

declare global {
  /** The programs of a cluster, set by jest.config.mjs. */
  var TEST_GALERA: { binary: string; library: string };
}

/**
 * How long the others hold up their writes for a node that is gone, instead of 5 to 15 s. With less, nodes of a busy machine
 * suspect each other, too, and wait for all of them to be back.
 */
const SUSPECT =
  'evs.keepalive_period=PT0.3S;evs.inactive_check_period=PT0.5S;evs.suspect_timeout=PT3S;evs.inactive_timeout=PT9S';
const JOIN_TIMEOUT_MS = 240_000;

/** A MariaDB that is one of several which hold the same. */
export interface Node {
  /** `127.0.0.1:<port>` */
  host: string;
  /** Says what one status variable is, such as `wsrep_cluster_size`. Rejects when the node does not answer. */
  status(name: string): Promise<string>;
  freeze(): Promise<void>;
  thaw(): void;
  kill(): Promise<void>;
  /** After `kill`: joins the others again. */
  start(): Promise<void>;
  /** Cuts it off from the other nodes, though not from its clients; false lets it join them again. */
  isolate(isAlone: boolean): Promise<void>;
}

export interface Cluster {
  nodes: Node[];
  /** A value for DATABASE_URL that names the nodes in this order. */
  url(...order: readonly number[]): string;
  /** Resolves when so many nodes say that they are in step with each other. */
  untilSynced(size: number): Promise<void>;
  remove(): Promise<void>;
}

/** Galera's transfer of a whole state fails as root. */
const mysqlUser = (): { uid?: number; gid?: number } => {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'mysql'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
};

const clusters = new Set<Cluster>();
afterAll(() => Promise.all([...clusters].map((cluster) => cluster.remove())));

const run = promisify(execFile);

const SIZE = 3;

/** Starts a cluster with a database `content`. `given` are settings of each node, in place of the tests' own. */
export const startCluster = async (given: Readonly<Record<string, string>> = {}): Promise<Cluster> => {
  const { binary, library } = globalThis.TEST_GALERA;
  const user = mysqlUser();
  const folder = await mkdtemp(join(tmpdir(), 'content-gateway-galera-'));
  const ours = async (path: string): Promise<void> => {
    if (user.uid !== undefined && user.gid !== undefined) await chown(path, user.uid, user.gid);
  };
  await ours(folder);
  const ports = await freePorts(SIZE * 4);
  const portsOf = (index: number) => ({
    sql: ports[index * 4] ?? 0,
    group: ports[index * 4 + 1] ?? 0,
    transfer: ports[index * 4 + 2] ?? 0,
    increment: ports[index * 4 + 3] ?? 0,
  });
  const peers = Array.from({ length: SIZE }, (_, index) => `127.0.0.1:${portsOf(index).group}`);
  const init = join(folder, 'init.sql');
  await writeFile(
    init,
    [
      "CREATE USER IF NOT EXISTS root@'127.0.0.1';",
      "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;",
      'CREATE DATABASE IF NOT EXISTS content CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;',
    ].join('\n'),
  );

  const nodeOf = async (index: number): Promise<Node & { stop(): Promise<void> }> => {
    const { sql, group, transfer, increment } = portsOf(index);
    const home = join(folder, `node-${index}`);
    const data = join(home, 'data');
    await mkdir(home);
    await ours(home);
    const config = join(home, 'my.cnf');
    const settings: Record<string, string> = {
      datadir: data,
      tmpdir: home,
      socket: join(home, 'socket'),
      'pid-file': join(home, 'pid'),
      port: String(sql),
      'bind-address': '127.0.0.1',
      'skip-name-resolve': 'ON',
      'character-set-server': 'utf8mb4',
      max_connections: '200',
      performance_schema: 'OFF',
      innodb_flush_log_at_trx_commit: '2',
      innodb_buffer_pool_size: '32M',
      binlog_format: 'ROW',
      innodb_autoinc_lock_mode: '2',
      wsrep_on: 'ON',
      wsrep_provider: library,
      wsrep_cluster_address: `gcomm://${peers.join(',')}`,
      wsrep_node_address: `127.0.0.1:${group}`,
      wsrep_node_incoming_address: `127.0.0.1:${sql}`,
      wsrep_sst_receive_address: `127.0.0.1:${transfer}`,
      wsrep_sst_method: 'rsync',
      wsrep_provider_options: `"gmcast.listen_addr=tcp://127.0.0.1:${group};ist.recv_addr=127.0.0.1:${increment};gcache.size=16M;${SUSPECT}"`,
      ...given,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    await writeFile(config, ['[mysqld]', ...lines, ''].join('\n'));
    const options = [
      '--no-defaults',
      `--datadir=${data}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ];
    execFileSync('mariadb-install-db', [...options], {
      stdio: ['ignore', 'ignore', 'inherit'],
      // Servers that start remove what they find of others in a folder for all.
      env: { ...process.env, TMPDIR: home },
      ...user,
    });

    const query = async (text: string): Promise<RowDataPacket[]> => {
      const connection = await createConnection({ host: '127.0.0.1', port: sql, user: 'root', connectTimeout: 1000 });
      try {
        const [rows] = await connection.query<RowDataPacket[]>({ sql: text, timeout: 2000 });
        return rows;
      } finally {
        connection.destroy();
      }
    };
    let running: Guarded | undefined;
    const start = async (more: readonly string[] = []): Promise<void> => {
      running = await startGuarded(binary, [`--defaults-file=${config}`, ...more], user);
      await untilUp(running, sql);
    };
    const kill = async (): Promise<void> => {
      if (!running?.isRunning()) return;
      running.signal('SIGKILL');
      await running.ended;
    };
    /** Where it ended, which it has forgotten after a crash: packages ask it so before each start. */
    const position = async (): Promise<string[]> => {
      const { stderr } = await run(binary, [`--defaults-file=${config}`, '--wsrep-recover'], user);
      const [, recovered] = /Recovered position:\s*(\S+)/.exec(stderr) ?? [];
      return recovered === undefined ? [] : [`--wsrep-start-position=${recovered}`];
    };
    if (index === 0) await start(['--wsrep-new-cluster', `--init-file=${init}`]);
    let isNew = index > 0;
    return {
      host: `127.0.0.1:${sql}`,
      status: async (name) => String((await query(`SHOW STATUS LIKE '${name}'`))[0]?.Value),
      freeze: async () => {
        running?.signal('SIGSTOP');
        for (let n = 0; n < 100 && !isFrozen(running?.pid ?? 0); n += 1) await sleep(10);
        if (!isFrozen(running?.pid ?? 0)) throw new Error('The node does not stand still.');
      },
      thaw: () => running?.signal('SIGCONT'),
      kill,
      start: async () => {
        const more = isNew ? [] : await position();
        isNew = false;
        await start(more);
      },
      isolate: async (isAlone) => {
        await query(`SET GLOBAL wsrep_provider_options = 'gmcast.isolate=${isAlone ? 1 : 0}'`);
      },
      stop: kill,
    };
  };

  const nodes: (Node & { stop(): Promise<void> })[] = [];
  const inStep = async (wanted: number): Promise<boolean> => {
    const states = await Promise.all(
      nodes.map(async (node) => {
        try {
          const state = await node.status('wsrep_local_state_comment');
          return state === 'Synced' && (await node.status('wsrep_cluster_size')) === String(wanted);
        } catch {
          return false;
        }
      }),
    );
    return states.filter(Boolean).length >= wanted;
  };
  const cluster: Cluster = {
    nodes,
    url: (...order) => `mariadb://root@${order.map((index) => nodes[index]?.host).join(',')}/content`,
    untilSynced: async (wanted) => {
      const deadline = Date.now() + JOIN_TIMEOUT_MS;
      while (!(await inStep(wanted))) {
        if (Date.now() > deadline) throw new Error(`There are not ${wanted} nodes in step after a minute.`);
        await sleep(100);
      }
    },
    remove: async () => {
      clusters.delete(cluster);
      await Promise.all(nodes.map((node) => node.stop()));
      await rm(folder, { recursive: true, force: true });
    },
  };
  clusters.add(cluster);
  for (let index = 0; index < SIZE; index += 1) {
    const node = await nodeOf(index);
    nodes.push(node);
    if (index > 0) await node.start();
  }
  await cluster.untilSynced(SIZE);
  return cluster;
};
