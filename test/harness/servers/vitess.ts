import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, copyFile, link, mkdir, mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection, escapeId, type RowDataPacket } from 'mysql2/promise';
import { GUARD, startServer, type ThrowawayServer, type VitessProgram } from './servers.ts';
import { freePort } from '../free-ports.mjs';

// Vitess as a whole in one process (vtgate, a tablet for each keyspace, the topology in memory), over one MySQL. It is no
// cluster; what SQL it takes, how it holds sessions and transactions, and how it fails are those of one.

/** Databases of a run, at most, that tests use at the same time. Each takes the server 0.1 s to start, and 6 MB. */
const KEYSPACES = 48;
const START_TIMEOUT_MS = 120_000;

/** The environment variable that names the folder in which a test takes a keyspace of the run. */
export const KEYSPACES_VARIABLE = 'TEST_VITESS_KEYSPACES';

/** Likewise, the address of the MySQL below. */
export const BELOW_VARIABLE = 'TEST_VITESS_BELOW';

const TEXTS = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

/** It refuses to be root. */
export const nobody = (): { uid?: number; gid?: number } =>
  process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** The keyspaces by name: each unsharded, on the MySQL database of the same name. */
const topologyOf = (keyspaces: readonly string[]): string =>
  JSON.stringify({
    cells: ['test'],
    keyspaces: keyspaces.map((name) => ({
      name,
      // The primary alone. For the second, 0 would be taken for 1.
      replicaCount: 1,
      rdonlyCount: -1,
      shards: [{ name: '0', dbNameOverride: name }],
    })),
  });

interface Options {
  keyspaces: readonly string[];
  /** Where MySQL is, which `root` may log in to without a password. */
  mysqlPort: number;
  port: number;
  webPort: number;
}

/** The command line of vtcombo. */
export const vitessOptions = ({ keyspaces, mysqlPort, port, webPort }: Options): string[] => [
  `--json-topo=${topologyOf(keyspaces)}`,
  '--bind-address=127.0.0.1',
  `--port=${webPort}`,
  '--mysql-auth-server-impl=none',
  '--mysql-server-bind-address=127.0.0.1',
  `--mysql-server-port=${port}`,
  '--tablet-types-to-wait=PRIMARY',
  '--db-host=127.0.0.1',
  `--db-port=${mysqlPort}`,
  '--db-charset=utf8mb4',
  ...['app', 'dba', 'allprivs', 'repl', 'filtered'].map((account) => `--db-${account}-user=root`),
  '--mycnf-server-id=1',
  // The keys that tie our tables together are MySQL's to hold.
  '--foreign-key-mode=allow',
  // As many as the service opens, and none of the tests' own is to wait for them.
  '--queryserver-config-pool-size=40',
  '--queryserver-config-transaction-cap=40',
  // The service has the database give up what nobody waits for any more.
  '--allow-kill-statement',
  // A tenth of it is how often transactions are looked for whose time is over, also those that are not of this kind.
  '--queryserver-config-olap-transaction-timeout=10s',
  // A large import or a check reads more than 10 000 rows at once.
  '--queryserver-config-max-result-size=100000',
];

/** A copy of a program where whoever is no root can read it. */
export const programIn = async (folder: string, original: string): Promise<string> => {
  const program = join(folder, basename(original));
  await link(original, program).catch(() => copyFile(original, program));
  return program;
};

/** A folder that vtcombo may write to. */
export const vitessFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'content-gateway-vitess-'));
  const { uid, gid } = nobody();
  if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid);
  return folder;
};

/** How vtcombo is spawned. */
export const vitessProcess = (folder: string) => ({
  ...nobody(),
  cwd: folder,
  env: { PATH: process.env.PATH, VTROOT: folder, VTDATAROOT: folder },
});

/** Creates the databases of keyspaces in the MySQL below. */
export const createBelow = async (mysqlPort: number, keyspaces: readonly string[]): Promise<void> => {
  const connection = await createConnection({ host: '127.0.0.1', port: mysqlPort, user: 'root' });
  try {
    for (const name of keyspaces) {
      await connection.query(`CREATE DATABASE IF NOT EXISTS ${name} ${TEXTS}`);
    }
  } finally {
    await connection.end();
  }
};

/** What a tablet has to do itself: without a table, vtgate answers by itself. */
const WRITE_AND_READ = [
  'CREATE TABLE IF NOT EXISTS is_served (n INT PRIMARY KEY)',
  'REPLACE INTO is_served (n) VALUES (1)',
  'SELECT n FROM is_served',
  'DROP TABLE is_served',
];
const READ = ['SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()'];

/**
 * Resolves when a keyspace is written to and read by way of vtgate. @throws Error with `words()` and what it met last when
 * `isRunning` no more, or after two minutes
 */
export const untilServed = async (
  { port, keyspace }: { port: number; keyspace: string },
  { isRunning, words }: { isRunning(): boolean; words(): string },
  statements: readonly string[] = WRITE_AND_READ,
): Promise<void> => {
  const deadline = Date.now() + START_TIMEOUT_MS;
  let fault: unknown;
  while (isRunning() && Date.now() < deadline) {
    try {
      const connection = await createConnection({ host: '127.0.0.1', port, user: 'root', database: keyspace });
      try {
        for (const sql of statements) await connection.query(sql);
      } finally {
        connection.destroy();
      }
      return;
    } catch (error) {
      fault = error;
      await sleep(100);
    }
  }
  throw new Error(`Vitess does not serve ${keyspace}:\n${words()}`, { cause: fault });
};

/** A Vitess for as long as this process lives, with empty keyspaces in store. */
export const startVitess = async ({
  vtcombo,
  mysql,
}: VitessProgram): Promise<ThrowawayServer & { keyspaces: string; below: string }> => {
  const below = await startServer('mysql', mysql, { options: ['--max-connections=4000'] });
  const folder = await vitessFolder();
  const names = Array.from({ length: KEYSPACES }, (_, n) => `test_${n}`);
  const mysqlPort = Number(new URL(below.url).port);
  await createBelow(mysqlPort, names);
  const [port, webPort] = [await freePort(), await freePort()];
  const program = await programIn(folder, vtcombo);
  const options = vitessOptions({ keyspaces: names, mysqlPort, port, webPort });
  const guard = spawn('sh', ['-c', GUARD, 'guard', folder, ':', program, ...options], {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
    ...vitessProcess(folder),
  });
  let words = '';
  guard.stderr.setEncoding('utf8').on('data', (chunk: string) => (words = (words + chunk).slice(-4000)));
  const ended = once(guard, 'exit');
  const stop = async (): Promise<void> => {
    guard.stdin.end();
    await ended;
    await below.stop();
  };
  const taken = join(folder, 'taken');
  await mkdir(taken);
  try {
    const state = { isRunning: () => guard.exitCode === null, words: () => words };
    await Promise.all(names.map((keyspace) => untilServed({ port, keyspace }, state)));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `mysql://root@127.0.0.1:${port}`, keyspaces: taken, below: below.url, stop };
};

/** Where a database of the tests is stored: that of a keyspace in the MySQL below, of the same name. */
export const beneath = (url: string): URL => {
  const below = process.env[BELOW_VARIABLE];
  const stored = new URL(below ?? url);
  stored.pathname = new URL(url).pathname;
  return stored;
};

/** Takes an empty keyspace of the Vitess at `port` for oneself, among all of the run: whoever makes its folder has it. */
export const takeKeyspace = async (port: number): Promise<{ name: string; giveBack(): Promise<void> }> => {
  const folder = process.env[KEYSPACES_VARIABLE];
  if (!folder) throw new Error('No Vitess was started for this run: see test/harness/jest/setup/vitess.ts');
  for (let n = 0; n < KEYSPACES; n += 1) {
    const [name, mine] = [`test_${n}`, join(folder, `test_${n}`)];
    const isMine = await mkdir(mine).then(
      () => true,
      () => false,
    );
    if (isMine) {
      await untilServed({ port, keyspace: name }, { isRunning: () => true, words: () => '' }, READ);
      return { name, giveBack: () => emptyKeyspace(name).then(() => rmdir(mine)) };
    }
  }
  throw new Error(`The tests use more than ${KEYSPACES} keyspaces at once: some are not given back.`);
};

/**
 * Drops all that is in a keyspace: in the MySQL below, since Vitess makes and drops no databases while it runs. The database
 * stays: a tablet that connects anew and does not find it takes MySQL for gone, and serves nobody for some seconds.
 */
const emptyKeyspace = async (name: string): Promise<void> => {
  const below = new URL(process.env[BELOW_VARIABLE] ?? '');
  const connection = await createConnection({ host: below.hostname, port: Number(below.port), user: below.username });
  try {
    // What a service that was killed has left behind in a tablet ends by itself.
    await connection.query('SET SESSION lock_wait_timeout = 60, foreign_key_checks = 0');
    for (const [kind, type] of [
      ['VIEW', 'VIEW'],
      ['TABLE', 'BASE TABLE'],
    ]) {
      const [rows] = await connection.query<RowDataPacket[]>(
        'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ? AND table_type = ?',
        [name, type],
      );
      const names = rows.map((row) => `${name}.${escapeId(String(row['name']))}`);
      if (names.length > 0) await connection.query(`DROP ${kind} ${names.join(', ')}`);
    }
    await connection.query(`ALTER DATABASE ${name} ${TEXTS}`);
  } finally {
    await connection.end();
  }
};
