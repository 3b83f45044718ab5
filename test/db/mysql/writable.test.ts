/**
 * @engines sqlite server second-server
 * @tier long
 */
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { pino } from 'pino';
import supertest from 'supertest';
import { createApp } from '../../../src/app/app.ts';
import { readConfig } from '../../../src/config/config.ts';
import { closeContext, openContext } from '../../../src/app/context.ts';
import { startApp, type TestApp } from '../../harness/app/app.ts';
import { until } from '../../harness/until.ts';
import { connectionOptions } from '../../harness/app/database.ts';
import { type AccountServer, startWithAccount } from '../../harness/servers/gateway-account.ts';
import type { ServerProgram } from '../../harness/servers/servers.ts';
import { fillDisk, mountSmallDisk, type SmallDisk } from '../../harness/servers/small-disk.ts';

// /readyz on a database that answers reads, and takes no writes.

const NOBODY = 65_534;

let app: TestApp;

/** Resolves with the text of the first answer of `/readyz` that has a status. */
const untilReadiness = async (status: number): Promise<string> => {
  let text = '';
  const holds = async (): Promise<boolean> => {
    const reply = await app.http.get('/readyz');
    text = reply.text;
    return reply.status === status;
  };
  await until(holds, { everyMs: 100, seen: () => text });
  return text;
};
const listStatus = async (): Promise<number> => (await app.send('game.list', { limit: 1, page: 1 })).status;

const expectUnready = async (): Promise<void> => {
  expect(await untilReadiness(503)).toContain('"hint":"The database takes no writes."');
  expect((await app.http.get('/readyz?for=write')).status).toBe(503);
  expect((await app.http.get('/readyz?for=read')).body).toEqual({ status: 'ready' });
  expect(await listStatus()).toBe(200);
  expect((await app.http.get('/healthz')).status).toBe(200);
};

const onServers = (name: 'mariadb' | 'mysql', program: ServerProgram): void => {
  let server: AccountServer;

  beforeEach(async () => {
    server = await startWithAccount(name, program);
    app = await startApp({ databaseUrl: server.url });
  });
  afterEach(async () => {
    await app.stop();
    await server.stop();
  });

  test('that was told to take none is not ready, until it takes them again; nothing is left of the trials', async () => {
    await untilReadiness(200);
    await server.run('SET GLOBAL read_only = 1');
    await expectUnready();
    await server.run('SET GLOBAL read_only = 0');
    await untilReadiness(200);
    expect(await server.run('SELECT * FROM content.idempotency_records')).toEqual([]);
  });

  test('that is locked for a backup is ready', async () => {
    await untilReadiness(200);
    const backup = await createConnection(connectionOptions(new URL(server.rootUrl)));
    await backup.query('FLUSH TABLES WITH READ LOCK');
    // Longer than what is known of it is believed, and than a trial waits.
    const since = performance.now();
    const statuses = new Set<number>();
    while (performance.now() - since < 6000) {
      statuses.add((await app.http.get('/readyz')).status);
      await sleep(100);
    }
    await backup.end();
    expect([...statuses]).toEqual([200]);
  });
};

const onSqlite = (): void => {
  let disk: SmallDisk | undefined;
  beforeEach(async () => {
    disk = mountSmallDisk(4);
    if (disk) app = await startApp({ databaseUrl: `sqlite:${join(disk.folder, 'content.db')}` });
  });
  afterEach(async () => {
    if (!disk) return;
    await app.stop();
    disk.remove();
  });

  test('whose disk is full is not ready, until there is room', async () => {
    if (!disk) throw new Error('this machine lets nobody mount a disk');
    await untilReadiness(200);
    const filler = join(disk.folder, 'filler');
    fillDisk(filler);
    await expectUnready();
    rmSync(filler);
    await untilReadiness(200);
  });

  test('that may only be read is not ready', async () => {
    if (!disk) throw new Error('this machine lets nobody mount a disk');
    const file = join(disk.folder, 'content.db');
    chmodSync(disk.folder, 0o777);
    chmodSync(file, 0o444);
    for (const suffix of ['-wal', '-shm']) chmodSync(`${file}${suffix}`, 0o666);
    const config = readConfig({ DATABASE_URL: `sqlite:${file}`, LOG_LEVEL: 'silent' });
    // Root may write everything.
    process.seteuid?.(NOBODY);
    const context = await openContext(config, pino({ level: 'silent' })).finally(() => process.seteuid?.(0));
    const reply = await supertest(createApp(context)).get('/readyz');
    await closeContext(context);
    expect([reply.status, reply.text]).toEqual([
      503,
      expect.stringContaining('"hint":"The database takes no writes."'),
    ]);
  });
};

const { name, server } = globalThis.TEST_ENGINE;
if (name === 'sqlite') describe('a file', onSqlite);
else if (name !== 'vitess' && 'binary' in server) describe('a server', () => onServers(name, server));
else test('needs a server of its own', () => undefined);
