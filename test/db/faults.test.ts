/**
 * @engines sqlite mariadb second-server
 * @tier long
 */
import { execFileSync } from 'node:child_process';
import { cpSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { DATABASE_FAULTS, type DatabaseFault } from '../../src/base/errors.ts';
import { faultOf } from '../../src/db/sqlite/errors.ts';
import { Metrics } from '../../src/telemetry/metrics/metrics.ts';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { connectionOptions } from '../harness/app/database.ts';
import { samplesOf, sumsBy } from '../harness/documents/metrics.ts';
import { type ServerProgram, startServer, type ThrowawayServer } from '../harness/servers/servers.ts';
import { fillDisk, mountSmallDisk, type SmallDisk } from '../harness/servers/small-disk.ts';

// Why a database is unavailable, as metrics and the log say it; callers get the same reason for all.

let metrics: Metrics;
let app: TestApp;
let user: TestUser;
let disk: SmallDisk;
let stops: (() => unknown)[];

const start = async (databaseUrl: string): Promise<void> => {
  metrics = new Metrics();
  app = await startApp({ databaseUrl, observer: metrics.observer });
  stops.unshift(() => app.stop());
  user = await app.aUser();
  await app.aGame({}, user);
};
const mount = (mebibytes: number): SmallDisk => {
  const mounted = mountSmallDisk(mebibytes);
  if (!mounted) throw new Error('this machine lets nobody mount a disk');
  stops.unshift(() => mounted.remove());
  return mounted;
};

/** A write. */
const create = (): Promise<{ status: number; body: unknown }> =>
  app.send('game.create', { title: 'a game', description: 'x'.repeat(5000), gameType: 'ADV' }, user.key);

/** Writes until one fails, and holds what callers, metrics and the log say of it. */
const expectFault = async (fault: DatabaseFault): Promise<void> => {
  const logged = jest.spyOn(app.context.log, 'error');
  let reply = await create();
  for (let n = 0; n < 3000 && reply.status === 200; n += 1) reply = await create();
  expect([reply.status, JSON.stringify(reply.body)]).toEqual([
    503,
    expect.stringContaining('"reason":"DATABASE_UNAVAILABLE"'),
  ]);
  expect(JSON.stringify(reply.body)).not.toContain(DATABASE_FAULTS[fault]);
  const [entry, message] = logged.mock.calls.at(-1) as unknown as [{ cause: string }, string];
  expect([entry.cause, message]).toEqual([fault, DATABASE_FAULTS[fault]]);
  const samples = samplesOf(await metrics.text());
  // Connections that the test has ended count, too.
  expect(sumsBy(samples, 'database_faults_total', 'cause')).toMatchObject({ [fault]: expect.any(Number) });
  expect(sumsBy(samples, 'database_retries_total', 'cause')).toMatchObject({ [fault]: expect.any(Number) });
};

beforeEach(() => {
  stops = [];
});
afterEach(async () => {
  for (const stop of stops) await stop();
});

const onServers = (name: 'mariadb' | 'mysql', program: ServerProgram): void => {
  let server: ThrowawayServer;
  let root: Connection;
  const run = async (...statements: string[]): Promise<void> => {
    for (const sql of statements) await root.query(sql);
  };
  /** Ends the connections of the service. */
  const disconnect = async (): Promise<void> => {
    const [rows] = await root.query<RowDataPacket[]>(
      "SELECT ID AS id FROM information_schema.processlist WHERE USER = 'gateway'",
    );
    for (const { id } of rows) await run(`KILL ${String(id)}`).catch(() => undefined);
  };

  beforeEach(async () => {
    server = await startServer(name, program);
    stops.push(() => server.stop());
    root = await createConnection(connectionOptions(new URL(server.url)));
    stops.unshift(() => root.end());
    await run(
      'CREATE DATABASE content CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
      "CREATE USER gateway@'127.0.0.1'",
      "GRANT ALL ON content.* TO gateway@'127.0.0.1'",
    );
  });
  const url = (): string => {
    const address = new URL(server.url);
    address.username = 'gateway';
    address.pathname = '/content';
    return address.href;
  };

  test('that is read-only', async () => {
    await start(url());
    await run('SET GLOBAL read_only = 1');
    await expectFault('read_only');
  });

  test('that refuses the password', async () => {
    await start(url());
    await run("ALTER USER gateway@'127.0.0.1' IDENTIFIED BY 'another'");
    await disconnect();
    await expectFault('access_denied');
  });

  test('that lacks a privilege', async () => {
    await start(url());
    await run(
      "REVOKE ALL ON content.* FROM gateway@'127.0.0.1'",
      "GRANT SELECT, UPDATE, DELETE ON content.* TO gateway@'127.0.0.1'",
    );
    await disconnect();
    await expectFault('access_denied');
  });

  test('that takes no more connections', async () => {
    await start(url());
    await run('SET GLOBAL max_connections = 10');
    await disconnect();
    const address = connectionOptions(new URL(url()));
    for (;;) {
      const other = await createConnection(address).catch(() => undefined);
      if (!other) break;
      stops.unshift(() => other.destroy());
    }
    await expectFault('too_many_connections');
  });

  test('whose disk is full', async () => {
    disk = mount(64);
    const [[row]] = await root.query<RowDataPacket[]>('SELECT @@datadir AS folder');
    const folder = join(String(row?.['folder']), 'content');
    cpSync(folder, join(disk.folder, 'content'), { recursive: true });
    rmSync(folder, { recursive: true });
    symlinkSync(join(disk.folder, 'content'), folder);
    await start(url());
    fillDisk(join(disk.folder, 'filler'));
    await expectFault('disk_full');
  });
};

const onSqlite = (): void => {
  test('that is gone', async () => {
    disk = mount(16);
    const file = join(disk.folder, 'content.db');
    await start(`sqlite:${file}`);
    renameSync(file, `${file}.away`);
    await expectFault('unreachable');
  });

  test('whose disk is full', async () => {
    disk = mount(8);
    await start(`sqlite:${join(disk.folder, 'content.db')}`);
    fillDisk(join(disk.folder, 'filler'));
    await expectFault('disk_full');
  });

  test.each([
    ['attempt to write a readonly database', 8, 'read_only'],
    ['access permission denied', 3, 'access_denied'],
    ['database disk image is malformed', 11, 'corrupt'],
    ['file is not a database', 26, 'corrupt'],
    ['disk I/O error', 10, 'disk_failure'],
    ['unable to open database file', 14, 'unreachable'],
  ])('that says "%s", by words or by number', (words, errcode, fault) => {
    disk = mount(1);
    expect(faultOf(new Error(words), disk.folder)).toBe(fault);
    expect(faultOf(Object.assign(new Error('x'), { errcode }), disk.folder)).toBe(fault);
  });

  test.each([
    ['disk I/O error', 778],
    ['unable to open database file', 14],
  ])('that says "%s", on a disk that is full, or of a file system that became read-only', (_, errcode) => {
    disk = mount(1);
    const failure = Object.assign(new Error('x'), { errcode });
    fillDisk(join(disk.folder, 'filler'));
    expect(faultOf(failure, disk.folder)).toBe('disk_full');
    execFileSync('mount', ['-o', 'remount,ro', disk.folder]);
    expect(faultOf(failure, disk.folder)).toBe('read_only');
  });

  test('that is locked by another is none', () => {
    expect(faultOf(Object.assign(new Error('database is locked'), { errcode: 5 }), '.')).toBeUndefined();
  });
};

const { name, server } = globalThis.TEST_ENGINE;
if (name === 'sqlite') describe('a file', onSqlite);
else if (name !== 'vitess' && 'binary' in server) describe('a server', () => onServers(name, server));
else test('needs a server of its own', () => undefined);
