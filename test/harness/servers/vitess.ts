import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, copyFile, link, mkdir, mkdtemp, readFile, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, createConnection, escapeId, type RowDataPacket } from 'mysql2/promise';
import { GUARD, startServer, type ThrowawayServer, type VitessProgram } from './servers.ts';
import { freePort } from '../free-ports.mjs';

// Vitess as a whole in one process (vtgate, a tablet for each shard, the topology in memory), over one MySQL. It is no
// cluster; what SQL it takes, how it holds sessions and transactions, and how it fails are those of one. Since its shards
// share what a tablet notes of distributed transactions, it commits them one shard after the other.

/** Databases of a run, at most, that tests use at the same time. Each shard takes the server 0.1 s to start, and 6 MB. */
const DATABASES = 32;
/** Of which so many are empty keyspaces without shards, for tests that migrate. */
const EMPTY_DATABASES = 12;
const START_TIMEOUT_MS = 480_000;

/** The environment variable that names the folder in which a test takes a keyspace of the run. */
export const KEYSPACES_VARIABLE = 'TEST_VITESS_KEYSPACES';

/** Likewise, the address of the MySQL below. */
export const BELOW_VARIABLE = 'TEST_VITESS_BELOW';

const TEXTS = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

/** It refuses to be root. */
export const nobody = (): { uid?: number; gid?: number } =>
  process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** The definition of the sharded tables that ships. */
const VSCHEMA = 'deploy/vitess/vschema.json';

/** The keyspace of the records of a database, and where its two shards are stored. */
const recordsOf = (name: string): string => `${name}_records`;
const shardsOf = (name: string): [string, string] => [`${name}_low`, `${name}_high`];

const keyspaceOf = (name: string, shards: Record<string, string>) => ({
  name,
  // The primary alone. For the second, 0 would be taken for 1.
  replicaCount: 1,
  rdonlyCount: -1,
  shards: Object.entries(shards).map(([shard, database]) => ({ name: shard, dbNameOverride: database })),
});

/** Databases by name: each an unsharded keyspace of that name. Those of `sharded` have their records in another, of two shards. */
interface Databases {
  names: readonly string[];
  sharded: { names: readonly string[]; tables: readonly string[] };
}

const topologyOf = ({ names, sharded }: Databases): string =>
  JSON.stringify({
    cells: ['test'],
    keyspaces: [
      ...[...names, ...sharded.names].map((name) => keyspaceOf(name, { '0': name })),
      ...sharded.names.map((name) => {
        const [low, high] = shardsOf(name);
        return keyspaceOf(recordsOf(name), { '-80': low, '80-': high });
      }),
    ],
    // The tables are found at the address of the unsharded keyspace, as after MoveTables.
    routingRules: {
      rules: sharded.names.flatMap((name) =>
        sharded.tables.map((table) => ({
          fromTable: `${name}.${table}`,
          toTables: [`${recordsOf(name)}.${table}`],
        })),
      ),
    },
  });

interface Options extends Databases {
  /** A folder of `<keyspace>/vschema.json`. */
  schemaFolder: string;
  /** Where MySQL is, which `root` may log in to without a password. */
  mysqlPort: number;
  port: number;
  webPort: number;
}

/** The command line of vtcombo. */
const vitessOptions = ({ schemaFolder, mysqlPort, port, webPort, ...databases }: Options): string[] => [
  `--json-topo=${topologyOf(databases)}`,
  `--schema-dir=${schemaFolder}`,
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
const vitessFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'content-gateway-vitess-'));
  const { uid, gid } = nobody();
  if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid);
  return folder;
};

/** How vtcombo is spawned. */
const vitessProcess = (folder: string) => ({
  ...nobody(),
  cwd: folder,
  env: { PATH: process.env.PATH, VTROOT: folder, VTDATAROOT: folder },
});

/** Runs `act` on a connection to the MySQL below. */
const onBelow = async <T>(mysqlPort: number, act: (connection: Connection) => Promise<T>): Promise<T> => {
  const connection = await createConnection({ host: '127.0.0.1', port: mysqlPort, user: 'root' });
  try {
    return await act(connection);
  } finally {
    await connection.end();
  }
};

/** Creates databases in the MySQL below. */
const createBelow = (mysqlPort: number, names: readonly string[]): Promise<void> =>
  onBelow(mysqlPort, async (connection) => {
    for (const name of names) await connection.query(`CREATE DATABASE IF NOT EXISTS ${name} ${TEXTS}`);
  });

/** A database that is migrated, of which those with shards are copies. */
const TEMPLATE = 'template_of_all';

const tablesIn = async (connection: Connection, database: string): Promise<string[]> => {
  const [rows] = await connection.query<RowDataPacket[]>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ? AND table_type = 'BASE TABLE'",
    [database],
  );
  return rows.map((row) => String(row['name']));
};

/** Creates the tables of databases with shards, as they are after MoveTables: those of the records without foreign keys. */
const createTables = async (mysqlPort: number, names: readonly string[], sharded: readonly string[]): Promise<void> => {
  execFileSync(process.execPath, ['dist/src/cli.js', 'migrate'], {
    env: { ...process.env, DATABASE_URL: `mysql://root@127.0.0.1:${mysqlPort}/${TEMPLATE}` },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await onBelow(mysqlPort, async (connection) => {
    await connection.query('SET SESSION foreign_key_checks = 0');
    const others = (await tablesIn(connection, TEMPLATE)).filter((table) => !sharded.includes(table));
    const statements: string[] = [];
    for (const table of others) {
      const [[row]] = await connection.query<RowDataPacket[]>(`SHOW CREATE TABLE ${TEMPLATE}.${table}`);
      statements.push(String(row?.['Create Table']));
    }
    for (const name of names) {
      await connection.query(`USE ${name}`);
      for (const sql of statements) await connection.query(sql);
      for (const shard of shardsOf(name)) {
        for (const table of sharded) await connection.query(`CREATE TABLE ${shard}.${table} LIKE ${TEMPLATE}.${table}`);
      }
      await refill(connection, name);
    }
  });
};

/** Empties a migrated database with shards, but for the rows that migrations leave. */
const refill = async (connection: Connection, name: string): Promise<void> => {
  await connection.query('SET SESSION lock_wait_timeout = 60, foreign_key_checks = 0');
  for (const database of [name, ...shardsOf(name)]) {
    for (const table of await tablesIn(connection, database)) await connection.query(`TRUNCATE ${database}.${table}`);
  }
  for (const table of ['migrations', 'counters', 'search_kinds', 'event_feed']) {
    await connection.query(`INSERT INTO ${name}.${table} SELECT * FROM ${TEMPLATE}.${table}`);
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
/** By a change of any table, tablets tell vtgate of the columns of all, after a while, and sometimes only the second time. */
const statementsOnShards = (name: string): string[] => [
  ...[name, recordsOf(name)].flatMap((keyspace) => [
    `CREATE TABLE IF NOT EXISTS ${keyspace}.is_served (n INT PRIMARY KEY)`,
    `DROP TABLE ${keyspace}.is_served`,
  ]),
  'SELECT SLEEP(1) FROM dual',
  // They fail where vtgate knows no columns.
  'SELECT * FROM tags ORDER BY 1 LIMIT 1',
  'SELECT * FROM games ORDER BY id LIMIT 1',
];

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

/** A Vitess for as long as this process lives, with databases in store. */
export const startVitess = async ({
  vtcombo,
  mysql,
}: VitessProgram): Promise<ThrowawayServer & { keyspaces: string; below: string }> => {
  const below = await startServer('mysql', mysql, { options: ['--max-connections=4000'] });
  const folder = await vitessFolder();
  const tables = Object.keys((JSON.parse(await readFile(VSCHEMA, 'utf8')) as { tables: object }).tables);
  const sharded = { names: namesOf(isSharded), tables };
  const names = namesOf((n) => !isSharded(n));
  const mysqlPort = Number(new URL(below.url).port);
  await createBelow(mysqlPort, [TEMPLATE, ...names, ...sharded.names.flatMap((name) => [name, ...shardsOf(name)])]);
  await createTables(mysqlPort, sharded.names, tables);
  const schemaFolder = join(folder, 'schema');
  for (const name of sharded.names) {
    const home = join(schemaFolder, recordsOf(name));
    await mkdir(home, { recursive: true });
    await copyFile(VSCHEMA, join(home, 'vschema.json'));
  }
  const [port, webPort] = [await freePort(), await freePort()];
  const program = await programIn(folder, vtcombo);
  const options = vitessOptions({ names, sharded, schemaFolder, mysqlPort, port, webPort });
  const guard = spawn('sh', ['-c', GUARD, 'guard', folder, ':', program, ...options], {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
    ...vitessProcess(folder),
  });
  let words = '';
  guard.stderr.setEncoding('utf8').on('data', (chunk: string) => (words = (words + chunk).slice(-4000)));
  const ended = once(guard, 'exit');
  let isStopped = false;
  guard.once('close', () => {
    if (!isStopped) process.stderr.write(`Vitess has ended by itself:\n${words}\n`);
  });
  const stop = async (): Promise<void> => {
    isStopped = true;
    guard.stdin.end();
    await ended;
    await below.stop();
  };
  const taken = join(folder, 'taken');
  await mkdir(taken);
  try {
    const state = { isRunning: () => guard.exitCode === null, words: () => words };
    const served = (keyspace: string, statements?: readonly string[]) =>
      untilServed({ port, keyspace }, state, statements);
    await Promise.all([
      ...names.map((name) => served(name)),
      ...sharded.names.map((name) => served(name, statementsOnShards(name))),
    ]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `mysql://root@127.0.0.1:${port}`, keyspaces: taken, below: below.url, stop };
};

const isSharded = (n: number): boolean => n >= EMPTY_DATABASES;
const nameOf = (n: number): string => `test_${n}`;
const namesOf = (of: (n: number) => boolean): string[] =>
  Array.from({ length: DATABASES }, (_, n) => n)
    .filter(of)
    .map(nameOf);

/** Where a database of the tests is stored: in the MySQL below, under the same name. */
export const beneath = (url: string): URL => {
  const below = process.env[BELOW_VARIABLE];
  const stored = new URL(below ?? url);
  stored.pathname = new URL(url).pathname;
  return stored;
};

/** The databases of the server that `beneath` names in which a database is stored: one, or also one for each shard. */
export const storedIn = (url: string): Set<string> => {
  const name = new URL(url).pathname.slice(1);
  return new Set(process.env[BELOW_VARIABLE] === undefined ? [name] : [name, ...shardsOf(name)]);
};

/** The tables there which hold that of the records of a database. */
export const storedAs = (url: string, table: string): string[] => {
  const [name, ...shards] = storedIn(url);
  return (shards.length > 0 ? shards : [name]).map((database) => `${database}.${table}`);
};

/**
 * Takes a database of the Vitess at `port` for oneself, among all of the run: whoever makes its folder has it. It is migrated,
 * and has its records on two shards; or it is `empty`, without shards.
 */
export const takeDatabase = async (
  port: number,
  { empty }: { empty: boolean },
): Promise<{ name: string; giveBack(): Promise<void> }> => {
  const folder = process.env[KEYSPACES_VARIABLE];
  if (!folder) throw new Error('No Vitess was started for this run: see test/harness/jest/setup/vitess.ts');
  for (const name of namesOf((n) => isSharded(n) !== empty)) {
    const mine = join(folder, name);
    const isMine = await mkdir(mine).then(
      () => true,
      () => false,
    );
    if (isMine) {
      await untilServed({ port, keyspace: name }, { isRunning: () => true, words: () => '' }, READ);
      return {
        name,
        giveBack: async () => {
          const isClean = await onBelow(Number(new URL(process.env[BELOW_VARIABLE] ?? '').port), (connection) =>
            empty ? dropAll(connection, name) : emptyAll(connection, name),
          );
          if (isClean) await rmdir(mine);
        },
      };
    }
  }
  throw new Error(`The tests use more of the ${DATABASES} databases at once than there are: some are not given back.`);
};

/**
 * Drops all that is in a keyspace: in the MySQL below, since Vitess makes and drops no databases while it runs. The database
 * stays: a tablet that connects anew and does not find it takes MySQL for gone, and serves nobody for some seconds.
 */
const dropAll = async (connection: Connection, name: string): Promise<boolean> => {
  // A service that was killed has left behind in a tablet what ends by itself.
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
  return true;
};

/** All columns, indexes and triggers of a database, in words. */
const schemaOf = async (connection: Connection, database: string): Promise<string> => {
  const [rows] = await connection.query<RowDataPacket[]>(
    `SELECT table_name AS t, column_name AS c, column_type AS more FROM information_schema.columns WHERE table_schema = ?
    UNION ALL SELECT table_name, index_name, column_name FROM information_schema.statistics WHERE table_schema = ?
    UNION ALL SELECT event_object_table, trigger_name, 'trigger' FROM information_schema.triggers WHERE trigger_schema = ?`,
    [database, database, database],
  );
  return JSON.stringify(rows.map((row) => [row['t'], row['c'], row['more']].join(' ')).toSorted());
};

/** Empties a database with shards. Returns whether it has the schema of migrations: tablets would not notice a mended one. */
const emptyAll = async (connection: Connection, name: string): Promise<boolean> => {
  const expected = await schemaOf(connection, TEMPLATE);
  const found = await Promise.all(
    [name, ...shardsOf(name)].map(async (database) => JSON.parse(await schemaOf(connection, database)) as string[]),
  );
  const [own = [], low = [], high = []] = found;
  if (JSON.stringify(low) !== JSON.stringify(high) || JSON.stringify([...own, ...low].toSorted()) !== expected)
    return false;
  await refill(connection, name);
  return true;
};
