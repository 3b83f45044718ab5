import { execFile, execFileSync } from 'node:child_process';
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { untilUp } from '../faults/durable-server.ts';
import { type Guarded, isFrozen, startGuarded } from '../faults/guarded.ts';
import { freePorts } from '../free-ports.mjs';
import { nobody, programIn, untilServed } from '../servers/vitess.ts';
import { until } from '../until.ts';

// A cluster of Vitess as others run it: a topology in etcd, vtctld, vtgate, and for each shard a tablet with a MySQL of its
// own. It has no replicas, so that it fits two cores: what fails is started again on the same files.

/** The keyspace that holds all tables at first, and the one of two shards for those of the records. */
const KEYSPACE = 'content';
export const RECORDS = 'content_records';

/** What distributed transactions ask of MySQL, and what moves rows from one keyspace to another. */
const MYSQL = [
  '--skip-name-resolve',
  '--bind-address=127.0.0.1',
  '--character-set-server=utf8mb4',
  '--collation-server=utf8mb4_bin',
  '--max-connections=500',
  '--performance-schema=OFF',
  '--innodb-flush-log-at-trx-commit=2',
  '--sync-binlog=0',
  '--innodb-buffer-pool-size=64M',
  '--gtid-mode=ON',
  '--enforce-gtid-consistency=ON',
  '--log-bin=binlog',
  '--log-replica-updates=ON',
];

/** A part of the cluster that can fail. */
export interface Part {
  /** kill -9. */
  kill(): Promise<void>;
  /** After `kill`, on the same files; resolves when it takes work. */
  start(): Promise<void>;
  /** SIGSTOP; resolves when it stands still. */
  freeze(): Promise<void>;
  /** SIGCONT. */
  thaw(): void;
}

interface Shard {
  /** It starts together with its tablet. */
  mysql: Part;
  tablet: Part;
}

export interface VitessCluster {
  /** A value for DATABASE_URL. */
  url: string;
  /** `127.0.0.1:<port>` of vtctld. */
  control: string;
  /** The path of `vtctldclient`. */
  client: string;
  vtgate: Part;
  /** That of the unsharded keyspace, then the two of the records. */
  shards: [Shard, Shard, Shard];
  /** Runs a command of `vtctldclient`, and returns what it prints. */
  command(...args: readonly string[]): Promise<string>;
  /** Runs a statement on the MySQL of a shard. */
  below(shard: number, sql: string): Promise<unknown>;
  remove(): Promise<void>;
}

const run = promisify(execFile);
const clusters = new Set<VitessCluster>();
afterAll(() => Promise.all([...clusters].map((cluster) => cluster.remove())));

/** A program that can be killed and started again. */
const partOf = (start: () => Promise<Guarded>, untilReady: (running: Guarded) => Promise<void>) => {
  let running: Guarded | undefined;
  const part: Part = {
    kill: async () => {
      if (!running?.isRunning()) return;
      running.signal('SIGKILL');
      await running.ended;
    },
    start: async () => {
      running = await start();
      await untilReady(running);
    },
    freeze: async () => {
      const { pid = 0 } = running ?? {};
      running?.signal('SIGSTOP');
      await until(() => isFrozen(pid));
    },
    thaw: () => running?.signal('SIGCONT'),
  };
  return part;
};

/** Starts a cluster with two keyspaces: `KEYSPACE`, unsharded, and `RECORDS`, empty, of two shards. */
export const startVitessCluster = async (): Promise<VitessCluster> => {
  const { name, server } = globalThis.TEST_ENGINE;
  if (name !== 'vitess' || !server.etcd)
    throw new Error('A cluster needs Vitess, and etcd: apt-get install etcd-server');
  const { programs, mysql, etcd } = server;
  const folder = await mkdtemp(join(tmpdir(), 'content-gateway-vitess-'));
  const { uid, gid } = nobody();
  const ours = async (path: string): Promise<void> => {
    if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
  };
  await ours(folder);
  const [etcdPort, peerPort, controlPort, controlWeb, gatePort, gateWeb, gateGrpc, ...ports] = await freePorts(7 + 9);
  const path = (program: string): Promise<string> => programIn(folder, join(programs, program));
  const [vtctld, client, vtgate, vttablet] = await Promise.all([
    path('vtctld'),
    path('vtctldclient'),
    path('vtgate'),
    path('vttablet'),
  ]);
  const as = { ...nobody(), cwd: folder, env: { PATH: process.env.PATH, VTROOT: folder, VTDATAROOT: folder } };
  const topology = [
    '--topo-implementation=etcd2',
    `--topo-global-server-address=127.0.0.1:${etcdPort}`,
    '--topo-global-root=/vitess/global',
  ];
  const running: Part[] = [];
  const started = async (part: Part): Promise<Part> => {
    running.push(part);
    await part.start();
    return part;
  };
  const control = `127.0.0.1:${controlPort}`;
  const command = async (...args: readonly string[]): Promise<string> =>
    (await run(client, ['--server', control, ...args], as)).stdout;
  /** Resolves when a command succeeds. */
  const untilDone = (...args: readonly string[]): Promise<void> =>
    until(
      () =>
        command(...args).then(
          () => true,
          () => false,
        ),
      { withinMs: 180_000 },
    );

  const client1 = `http://127.0.0.1:${etcdPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  await started(
    partOf(
      () =>
        startGuarded(
          etcd,
          [
            `--data-dir=${join(folder, 'etcd')}`,
            `--listen-client-urls=${client1}`,
            `--advertise-client-urls=${client1}`,
            `--listen-peer-urls=${peer}`,
            `--initial-advertise-peer-urls=${peer}`,
            `--initial-cluster=default=${peer}`,
          ],
          as,
        ),
      () =>
        until(
          () =>
            fetch(`${client1}/health`).then(
              ({ ok }) => ok,
              () => false,
            ),
          { withinMs: 180_000 },
        ),
    ),
  );
  await run(
    client,
    [
      '--server=internal',
      ...topology,
      'AddCellInfo',
      '--root=/vitess/test',
      `--server-address=127.0.0.1:${etcdPort}`,
      'test',
    ],
    as,
  );
  await started(
    partOf(
      () =>
        startGuarded(
          vtctld,
          [
            ...topology,
            '--cell=test',
            '--service-map=grpc-vtctl,grpc-vtctld',
            '--bind-address=127.0.0.1',
            '--grpc-bind-address=127.0.0.1',
            `--port=${controlWeb}`,
            `--grpc-port=${controlPort}`,
          ],
          as,
        ),
      () => untilDone('GetCellInfoNames'),
    ),
  );
  await command('CreateKeyspace', '--durability-policy=none', KEYSPACE);
  await command('CreateKeyspace', '--durability-policy=none', RECORDS);

  const places = [
    { keyspace: KEYSPACE, shard: '0' },
    { keyspace: RECORDS, shard: '-80' },
    { keyspace: RECORDS, shard: '80-' },
  ];
  const shardOf = async ({ keyspace, shard }: { keyspace: string; shard: string }, index: number) => {
    const home = join(folder, `mysql-${index}`);
    const data = join(home, 'data');
    const [sqlPort = 0, webPort, grpcPort] = ports.slice(index * 3);
    await mkdir(home);
    execFileSync('cp', ['-R', mysql.template ?? '', data], { stdio: ['ignore', 'ignore', 'inherit'] });
    // Each server has a name of its own in the positions of its log.
    await rm(join(data, 'auto.cnf'), { force: true });
    const init = join(home, 'init.sql');
    await writeFile(
      init,
      [
        "CREATE USER IF NOT EXISTS root@'127.0.0.1';",
        "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;",
        // A tablet for a MySQL that it does not manage asks for a password.
        "CREATE USER IF NOT EXISTS vt@'%' IDENTIFIED BY 'vt';",
        "GRANT ALL ON *.* TO vt@'%' WITH GRANT OPTION;",
        `CREATE DATABASE IF NOT EXISTS ${keyspace} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;`,
      ].join('\n'),
    );
    const socket = join(home, 'socket');
    const database = await started(
      partOf(
        () =>
          startGuarded(mysql.binary, [
            '--no-defaults',
            ...(process.getuid?.() === 0 ? ['--user=root'] : []),
            `--datadir=${data}`,
            `--tmpdir=${home}`,
            `--socket=${socket}`,
            `--pid-file=${join(home, 'pid')}`,
            `--port=${sqlPort}`,
            `--init-file=${init}`,
            `--server-id=${index + 1}`,
            ...MYSQL,
          ]),
        (process) => untilUp(process, sqlPort),
      ),
    );
    const alias = `test-${100 + index}`;
    const accounts = ['app', 'dba', 'allprivs', 'repl', 'filtered'];
    const tablet = await started(
      partOf(
        () =>
          startGuarded(
            vttablet,
            [
              ...topology,
              `--tablet-path=${alias}`,
              `--init-keyspace=${keyspace}`,
              `--init-shard=${shard}`,
              `--init-db-name-override=${keyspace}`,
              '--init-tablet-type=replica',
              '--unmanaged',
              // By a network that loses a connection, MySQL would roll back what a distributed transaction has prepared.
              `--db-socket=${socket}`,
              ...accounts.flatMap((account) => [`--db-${account}-user=vt`, `--db-${account}-password=vt`]),
              '--db-charset=utf8mb4',
              '--tablet-hostname=127.0.0.1',
              '--bind-address=127.0.0.1',
              '--grpc-bind-address=127.0.0.1',
              `--port=${webPort}`,
              `--grpc-port=${grpcPort}`,
              '--service-map=grpc-queryservice,grpc-tabletmanager,grpc-updatestream',
              '--queryserver-config-pool-size=40',
              '--queryserver-config-transaction-cap=40',
              '--queryserver-config-max-result-size=100000',
              '--queryserver-config-olap-transaction-timeout=10s',
              // What a coordinator has left undecided is decided after this.
              '--twopc-abandon-age=1s',
              '--health-check-interval=1s',
            ],
            as,
          ),
        async () => {
          await untilDone('TabletExternallyReparented', alias);
        },
      ),
    );
    // Vitess restores what a MySQL had prepared when a tablet starts on one that takes writes, and in no other order.
    const below: Part = {
      ...database,
      start: async () => {
        await tablet.kill();
        await database.start();
        await tablet.start();
      },
    };
    return { mysql: below, tablet, sqlPort };
  };
  const shards = await Promise.all(places.map(shardOf));

  const gate = await started(
    partOf(
      () =>
        startGuarded(
          vtgate,
          [
            ...topology,
            '--cell=test',
            '--cells-to-watch=test',
            '--tablet-types-to-wait=PRIMARY',
            '--tablet-refresh-interval=1s',
            '--bind-address=127.0.0.1',
            '--grpc-bind-address=127.0.0.1',
            `--port=${gateWeb}`,
            `--grpc-port=${gateGrpc}`,
            `--mysql-server-port=${gatePort}`,
            '--mysql-server-bind-address=127.0.0.1',
            '--mysql-auth-server-impl=none',
            '--service-map=grpc-vtgateservice',
            '--foreign-key-mode=allow',
            '--allow-kill-statement',
            '--transaction-mode=TWOPC',
          ],
          as,
        ),
      (process) =>
        untilServed({ port: gatePort ?? 0, keyspace: KEYSPACE }, process, ['SELECT 1 FROM dual', 'SHOW TABLES']),
    ),
  );

  const cluster: VitessCluster = {
    url: `mysql://root@127.0.0.1:${gatePort}/${KEYSPACE}`,
    control,
    client,
    vtgate: gate,
    shards: shards as unknown as VitessCluster['shards'],
    command,
    below: async (shard, sql) => {
      const connection = await createConnection({ host: '127.0.0.1', port: shards[shard]?.sqlPort ?? 0, user: 'root' });
      try {
        const [rows] = await connection.query(sql);
        return rows;
      } finally {
        await connection.end();
      }
    },
    remove: async () => {
      clusters.delete(cluster);
      await Promise.all(running.map((part) => part.kill()));
      await rm(folder, { recursive: true, force: true });
    },
  };
  clusters.add(cluster);
  return cluster;
};
