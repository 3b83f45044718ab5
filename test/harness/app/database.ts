import { randomBytes } from 'node:crypto';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { serverVariable, type ServerEngine, type TestEngine } from '../servers/servers.ts';
import { beneath, storedAs, takeDatabase } from '../servers/vitess.ts';

declare global {
  var TEST_ENGINE: TestEngine;
}

export interface TestDatabase {
  /** A value for DATABASE_URL; works in child processes too. */
  url: string;
  /** Removes the database; close what is connected to it first. */
  drop(): Promise<void>;
}

/** The engine of the Jest project that runs. */
export const engine = globalThis.TEST_ENGINE.name;

/**
 * Makes a database of the project's engine, under a name of its own, that nobody else uses. It is empty; but one of Vitess is
 * migrated, with the records on two shards, unless the test migrates by itself and asks for an `empty` one; and one of SQLite
 * may be asked for `migrated`, as a copy.
 */
export const createDatabase = ({
  empty = false,
  migrated = false,
}: { empty?: boolean; migrated?: boolean } = {}): Promise<TestDatabase> => {
  if (TEST_ENGINE.name === 'sqlite') return createFile(migrated ? process.env['MIGRATED_SQLITE'] : undefined);
  const url = serverUrl(TEST_ENGINE.name);
  return TEST_ENGINE.name === 'vitess' ? takeFromStore(url, empty) : createOnServer(url);
};

/** A file, as a copy of one that is given. */
const createFile = async (original?: string): Promise<TestDatabase> => {
  const folder = await mkdtemp(join(tmpdir(), 'content-gateway-sqlite-'));
  const file = join(folder, 'content.db');
  // A file without a byte is a database without tables.
  await (original === undefined ? writeFile(file, '', { mode: 0o600 }) : copyFile(original, file));
  return { url: `sqlite:${file}`, drop: () => rm(folder, { recursive: true, force: true }) };
};

const serverUrl = (name: ServerEngine | 'vitess'): URL => {
  const { server } = TEST_ENGINE;
  const address = server && 'url' in server ? server.url : process.env[serverVariable(name)];
  if (!address) throw new Error(`No ${name} server was started for this run: see test/harness/jest/setup/${name}.ts`);
  const url = new URL(address);
  url.pathname = '';
  return url;
};

const createOnServer = async (url: URL): Promise<TestDatabase> => {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await execute(url, `CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => execute(url, `DROP DATABASE ${name}`) };
};

/** Vitess makes no databases while it runs: it has some in store, which are emptied to be used again. */
const takeFromStore = async (url: URL, empty: boolean): Promise<TestDatabase> => {
  const { name, giveBack } = await takeDatabase(Number(url.port), { empty });
  url.pathname = `/${name}`;
  return { url: url.href, drop: giveBack };
};

/** What mysql2 needs to connect to the `mariadb:` or `mysql:` address of a server or database. */
export const connectionOptions = (url: URL) => ({
  host: url.hostname,
  port: Number(url.port || 3306),
  user: decodeURIComponent(url.username),
  password: decodeURIComponent(url.password),
  database: decodeURIComponent(url.pathname.slice(1)),
});

/** Does `act` while a table of the records is missing. `run` runs a statement on the database. */
export const withoutTable = async (
  { url, run }: { url: string; run: (sql: string) => Promise<unknown> },
  table: string,
  act: () => Promise<void>,
): Promise<void> => {
  const rename = async (from: string, to: string): Promise<void> => {
    if (engine !== 'vitess') {
      await run(`ALTER TABLE ${from} RENAME TO ${to}`);
      return;
    }
    // A table that vtgate renames is sought under its new name in no shard.
    for (const stored of storedAs(url, from))
      await execute(beneath(url), `RENAME TABLE ${stored} TO ${stored.replace(from, to)}`);
  };
  await rename(table, `${table}_away`);
  try {
    await act();
  } finally {
    await rename(`${table}_away`, table);
  }
};

const execute = async (url: URL, sql: string) => {
  const connection = await createConnection(connectionOptions(url));
  try {
    // A transaction left open would block a DROP for a day.
    await connection.query('SET SESSION lock_wait_timeout = 10');
    await connection.query(sql);
  } finally {
    await connection.end();
  }
};
