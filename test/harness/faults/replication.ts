import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { type Proxy, startProxy } from '../servers/proxy.ts';
import { until } from '../until.ts';
import { type DurableServer, startDurableServer } from './durable-server.ts';

// Two MariaDB servers, of which one replicates the other, and takes its place when it is lost.

const run = promisify(execFile);
/** Longer than any fault: a primary that waits for its replica does not go on without it. */
const ACKNOWLEDGEMENT_MS = 600_000;

/** Of a dump: they say at which place of the log it was made. */
const HEAD_BYTES = 5000;

const optionsOf = (id: number, isSemiSynchronous: boolean): string[] => [
  `--server-id=${id}`,
  '--log-bin=binlog',
  '--binlog-format=ROW',
  '--log-slave-updates=ON',
  // Until a primary is chosen, also after a crash.
  '--read-only=ON',
  ...(isSemiSynchronous
    ? [
        '--rpl-semi-sync-slave-enabled=ON',
        '--rpl-semi-sync-master-wait-point=AFTER_SYNC',
        `--rpl-semi-sync-master-timeout=${ACKNOWLEDGEMENT_MS}`,
      ]
    : []),
];

interface Member {
  server: DurableServer;
  port: number;
  /** What calls without a key read, if it is a replica: as long as it is none, it is cut. */
  reads: Proxy;
}

export interface Replication {
  /** A value for DATABASE_URL: both servers. */
  url: string;
  /** A value for DATABASE_READ_URL: whichever is a replica. */
  readUrl: string;
  /** Kills the primary, lets the replica take its place, and makes a replica of the former anew. */
  failOver(): Promise<void>;
  /** Kills the replica. */
  killReplica(): Promise<void>;
  /** Starts a killed replica again, and resolves when it has caught up. */
  startReplica(): Promise<void>;
  /** Kills the replica, and starts it again. */
  loseReplica(downMs: number): Promise<void>;
  /** Has the replica get no changes, until it goes on. */
  stopReplicating(): Promise<void>;
  /** Resolves when the replica has caught up. */
  goOnReplicating(): Promise<void>;
  /** Has the replica get changes and not apply them, for a while. Returns whether there were some. */
  lag(ms: number): Promise<boolean>;
  remove(): Promise<void>;
}

const query = async (port: number, ...statements: readonly string[]): Promise<RowDataPacket[]> => {
  const connection = await createConnection({ host: '127.0.0.1', port, user: 'root', multipleStatements: true });
  try {
    let rows: RowDataPacket[] = [];
    for (const sql of statements) [rows] = await connection.query<RowDataPacket[]>(sql);
    return rows;
  } finally {
    connection.destroy();
  }
};

const variable = async (port: number, name: string): Promise<string> =>
  String((await query(port, `SELECT @@GLOBAL.${name} AS value`))[0]?.['value']);
const status = async (port: number, name: string): Promise<string> =>
  String((await query(port, `SHOW GLOBAL STATUS LIKE '${name}'`))[0]?.['Value']);

/** Starts a primary and its replica, semi-synchronous or not. */
export const startReplication = async ({ isSemiSynchronous }: { isSemiSynchronous: boolean }): Promise<Replication> => {
  const memberOf = async (id: number): Promise<Member> => {
    const server = await startDurableServer(optionsOf(id, isSemiSynchronous));
    const port = Number(new URL(server.url).port);
    const reads = await startProxy(server.url);
    await reads.cut();
    return { server, port, reads };
  };
  const folder = await mkdtemp(join(tmpdir(), 'content-gateway-replication-'));
  let [primary, replica] = [await memberOf(1), await memberOf(2)];
  const urlOf = (hosts: readonly string[]): string => `mariadb://root@${hosts.join(',')}/content`;
  const url = urlOf([primary, replica].map(({ server }) => new URL(server.url).host));
  const readUrl = urlOf([primary, replica].map(({ reads }) => new URL(reads.url).host));

  const waitsForReplica = async (waits: boolean): Promise<void> => {
    if (isSemiSynchronous) await query(primary.port, `SET GLOBAL rpl_semi_sync_master_enabled = ${waits ? 1 : 0}`);
  };
  const isInStep = async (): Promise<boolean> =>
    (await variable(replica.port, 'gtid_slave_pos')) === (await variable(primary.port, 'gtid_binlog_pos')) ||
    (await query(replica.port, 'SHOW SLAVE STATUS'))[0]?.['Seconds_Behind_Master'] === 0;
  const untilReplicating = async (): Promise<void> => {
    await until(isInStep);
    if (!isSemiSynchronous) return;
    await waitsForReplica(true);
    await until(async () => (await status(primary.port, 'Rpl_semi_sync_master_clients')) === '1');
    // As long as the replica has not caught up, the primary does not wait for it.
    await until(async () => (await status(primary.port, 'Rpl_semi_sync_master_status')) === 'ON');
  };

  /** Makes a server whose data is of no use a replica of the primary, from a dump. */
  const rebuild = async (): Promise<void> => {
    const dump = join(folder, 'dump.sql');
    const login = (port: number): string[] => ['--no-defaults', '--host=127.0.0.1', `--port=${port}`, '--user=root'];
    const what = [
      '--single-transaction',
      '--master-data=2',
      '--gtid',
      `--result-file=${dump}`,
      '--databases',
      'content',
    ];
    await run('mariadb-dump', [...login(primary.port), ...what]);
    await query(
      replica.port,
      'STOP SLAVE',
      'RESET SLAVE ALL',
      'SET SESSION sql_log_bin = 0',
      'DROP DATABASE IF EXISTS content',
    );
    await run('mariadb', [...login(replica.port), '--init-command=SET sql_log_bin = 0', '-e', `source ${dump}`]);
    const head = await text(createReadStream(dump, { end: HEAD_BYTES }));
    const [, file, place] = /MASTER_LOG_FILE='([^']*)', MASTER_LOG_POS=(\d+)/.exec(head) ?? [];
    const [row] = await query(primary.port, `SELECT BINLOG_GTID_POS('${file}', ${place}) AS position`);
    const position = String(row?.['position']);
    await query(
      replica.port,
      'RESET MASTER',
      `SET GLOBAL gtid_slave_pos = '${position}'`,
      `CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ${primary.port}, MASTER_USER = 'root',
        MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1`,
      'START SLAVE',
    );
    await untilReplicating();
    await replica.reads.restore();
  };

  await query(primary.port, 'SET GLOBAL read_only = OFF');
  await rebuild();
  const killReplica = (): Promise<void> => replica.server.kill();
  const startReplica = async (): Promise<void> => {
    await replica.server.start();
    await untilReplicating();
  };
  return {
    url,
    readUrl,
    failOver: async () => {
      await primary.server.kill();
      // All that it has got.
      await query(replica.port, 'STOP SLAVE IO_THREAD');
      await until(async () => {
        const [state] = await query(replica.port, 'SHOW SLAVE STATUS');
        return state?.['Gtid_IO_Pos'] === (await variable(replica.port, 'gtid_slave_pos'));
      });
      await replica.reads.cut();
      await query(replica.port, 'STOP SLAVE', 'RESET SLAVE ALL', 'SET GLOBAL read_only = OFF');
      [primary, replica] = [replica, primary];
      await replica.server.start();
      await rebuild();
    },
    killReplica,
    startReplica,
    loseReplica: async (downMs) => {
      await killReplica();
      await sleep(downMs);
      await startReplica();
    },
    stopReplicating: async () => {
      await query(replica.port, 'STOP SLAVE');
    },
    goOnReplicating: async () => {
      await query(replica.port, 'START SLAVE');
      await until(isInStep);
    },
    lag: async (ms) => {
      await query(replica.port, 'STOP SLAVE SQL_THREAD');
      await sleep(ms);
      const isBehind =
        (await variable(replica.port, 'gtid_slave_pos')) !== (await variable(primary.port, 'gtid_binlog_pos'));
      await query(replica.port, 'START SLAVE SQL_THREAD');
      await until(isInStep);
      return isBehind;
    },
    remove: async () => {
      for (const { server, reads } of [primary, replica]) {
        await reads.close();
        await server.remove();
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
};
