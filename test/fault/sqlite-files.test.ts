/**
 * @engines sqlite
 * @tier fault
 */
import { closeSync, copyFileSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ErrorResponse } from '../../contract/index.ts';
import { type Client, type Ending, openClient } from '../harness/app/client.ts';
import { until } from '../harness/until.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { aKey, idIn, startLoad, storedGames, withDatabase } from '../harness/http/load.ts';
import { type Environment, type ServeProcess, startServe } from '../harness/app/program.ts';
import { mountSmallDisk } from '../harness/servers/small-disk.ts';
import { holdWriteLock } from '../harness/servers/sqlite-lock.ts';

// The file of an embedded database fails under the running service, or others use it.

const CLIENTS = 8;
const PAGE = 4096;

let database: TestDatabase;
let key: string;
let served: ServeProcess;
let client: Client;

const fileOf = (url: string): string => url.slice('sqlite:'.length);

const start = async (url: string, env: Environment = {}): Promise<void> => {
  key ||= await aKey(url);
  served = await startServe({ url, env: { LOG_LEVEL: 'info', ...env } });
  client = openClient(served.base, key);
};

beforeEach(async () => {
  database = await createDatabase();
  key = '';
});
afterEach(async () => {
  client.close();
  await served.stop('SIGKILL');
  await database.drop();
});

const answered = (ending: Ending): Extract<Ending, { kind: 'answered' }> => {
  if (ending.kind !== 'answered') throw new Error(`The connection failed: ${JSON.stringify(ending)}`);
  return ending;
};
const statusOf = (ending: Ending): number => answered(ending).status;
const reasonOf = (ending: Ending): string =>
  (JSON.parse(answered(ending).text) as ErrorResponse).error.json.data.reason;

const create = (title = 'a game') => client.call('game.create', { title, tagNames: ['a tag'] });
const list = (search?: string) => client.call('game.list', { limit: 10, page: 1, ...(search && { search }) });

/** Resolves when a request is answered with a status. */
const untilStatus = async (status: number, ask: () => Promise<Ending>): Promise<void> => {
  let ending: Ending | undefined;
  const holds = async (): Promise<boolean> => statusOf((ending = await ask())) === status;
  await until(holds, { seen: () => (ending ? answered(ending).text : 'no answer') });
};
const untilReady = () => untilStatus(200, () => client.get('/readyz'));

/** Waits until the log holds this. */
const logged = async (words: RegExp): Promise<void> => {
  for (let waited = 0; waited < 5000 && !words.test(served.log()); waited += 20) await sleep(20);
  expect(served.log()).toMatch(words);
};

const expectRefusal = (ending: Ending, reason = 'DATABASE_UNAVAILABLE'): void => {
  expect([statusOf(ending), reasonOf(ending)]).toEqual([503, reason]);
  expect(answered(ending).text).not.toMatch(/sqlite|disk|\.db|errno/i);
};

/**
 * The file of a service that has ended is sound, all that was answered is in it without its log, and every counter is right. It
 * is read as a copy: this process keeps connections until they are collected, and would read it by a log that was deleted.
 */
const expectSound = async (used: string, ids: readonly string[]): Promise<void> => {
  const copy = `${fileOf(database.url)}.checked`;
  copyFileSync(fileOf(used), copy);
  const url = `sqlite:${copy}`;
  const checked = new DatabaseSync(copy);
  expect(checked.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  checked.close();
  const stored = await storedGames(url);
  expect(ids.filter((id) => !stored.has(id))).toEqual([]);
  await withDatabase(url, expectExactCounts);
};

describe('a disk that is full', () => {
  const disk = mountSmallDisk(4);
  afterEach(() => disk?.remove());

  (disk ? test : test.skip)('refuses what it cannot take, and takes it again when there is room', async () => {
    const url = `sqlite:${disk!.folder}/content.db`;
    await start(url);
    const load = startLoad(served.base, key, CLIENTS);
    while (!load.endings.some((ending) => statusOf(ending) !== 200)) await sleep(5);
    await load.reached(load.endings.length + 3 * CLIENTS);
    load.stop();
    await load.done;
    for (const ending of load.endings) if (statusOf(ending) !== 200) expectRefusal(ending);
    await logged(/database or disk is full/);
    await untilStatus(503, async () => {
      await create('x'.repeat(200));
      return client.get('/readyz');
    });
    expect(statusOf(await client.get('/healthz'))).toBe(200);
    expect(statusOf(await list())).toBe(200);

    disk!.resize(64);
    await untilReady();
    const last = await create('after');
    expect(statusOf(last)).toBe(200);
    expect(await served.stop()).toBe(0);
    await expectSound(url, [...load.published(), idIn(answered(last).text)]);
  });
});

describe('the file', () => {
  test('moved away is missed at once, and used again when it is back', async () => {
    await start(database.url);
    const file = fileOf(database.url);
    const load = startLoad(served.base, key, CLIENTS);
    await load.reached(10 * CLIENTS);
    renameSync(file, `${file}.away`);
    await load.reached(load.endings.length + 2 * CLIENTS);
    expectRefusal(await create());
    expectRefusal(await list());
    expectRefusal(await client.get('/readyz'));
    expect(statusOf(await client.get('/healthz'))).toBe(200);
    await logged(/content\.db was deleted, moved or replaced/);

    renameSync(`${file}.away`, file);
    await untilReady();
    await load.reached(load.endings.length + 2 * CLIENTS);
    load.stop();
    await load.done;
    for (const ending of load.endings) {
      if (statusOf(ending) !== 200) expect(reasonOf(ending)).toMatch(/^(DATABASE_UNAVAILABLE|OUTCOME_UNKNOWN)$/);
    }
    expect(statusOf(load.endings.at(-1)!)).toBe(200);
    expect(await served.stop()).toBe(0);
    await expectSound(database.url, load.published());
  });

  test('restored from a copy is opened anew', async () => {
    await start(database.url);
    const file = fileOf(database.url);
    const kept = idIn(answered(await create('kept')).text);
    const backup = new DatabaseSync(file);
    backup.exec(`VACUUM INTO '${file}.copy'`);
    backup.close();
    const lost = idIn(answered(await create('lost')).text);
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`);
    await untilStatus(503, () => client.get('/readyz'));
    copyFileSync(`${file}.copy`, file);
    await untilReady();
    expect(statusOf(await client.call('game.getById', { id: kept }))).toBe(200);
    expect(statusOf(await client.call('game.getById', { id: lost }))).toBe(404);
    const later = idIn(answered(await create('later')).text);
    expect(await served.stop()).toBe(0);
    await expectSound(database.url, [kept, later]);
  });

  test('whose log was deleted takes no more, and after a restart holds what was answered', async () => {
    await start(database.url);
    const file = fileOf(database.url);
    const load = startLoad(served.base, key, CLIENTS);
    await load.reached(10 * CLIENTS);
    rmSync(`${file}-wal`);
    rmSync(`${file}-shm`);
    await load.reached(load.endings.length + 2 * CLIENTS);
    load.stop();
    await load.done;
    expectRefusal(await create());
    expectRefusal(await client.get('/readyz'));
    await logged(/content\.db-wal was deleted, moved or replaced/);
    // The worst that can happen now.
    await served.stop('SIGKILL');
    for (const ending of load.endings) {
      if (statusOf(ending) !== 200) expect(reasonOf(ending)).toMatch(/^(DATABASE_UNAVAILABLE|OUTCOME_UNKNOWN)$/);
    }
    await start(database.url);
    expect(statusOf(await create())).toBe(200);
    expect(await served.stop()).toBe(0);
    await expectSound(database.url, load.published());
  });

  test('with pages that cannot be true is said to be broken until it is mended', async () => {
    await start(database.url);
    for (let n = 0; n < 200; n += 1) await create(`game number ${n} ${'x'.repeat(100)}`);
    await served.stop();
    const file = fileOf(database.url);
    const pages = pagesOf(file, 'games');
    const whole = pages.map((page) => readPage(file, page));
    for (const page of pages) writePage(file, page, Buffer.alloc(PAGE, 0xa5));
    await start(database.url);
    expectRefusal(await list());
    await logged(/database disk image is malformed/);
    expectRefusal(await client.get('/readyz'));
    expect(statusOf(await client.get('/healthz'))).toBe(200);

    for (const [index, page] of pages.entries()) writePage(file, page, whole[index]!);
    await untilReady();
    await untilStatus(200, () => list());
    expect(await served.stop()).toBe(0);
    await expectSound(database.url, []);
  });
});

/** The pages of a table but its first. */
const pagesOf = (file: string, table: string): number[] => {
  const opened = new DatabaseSync(file);
  // What the log still holds would be read instead of these pages.
  opened.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const rows = opened
    .prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno")
    .all(table) as { pageno: number }[];
  opened.close();
  return rows.map(({ pageno }) => pageno);
};
const readPage = (file: string, page: number): Buffer => {
  const opened = openSync(file, 'r');
  const bytes = Buffer.alloc(PAGE);
  readSync(opened, bytes, 0, PAGE, (page - 1) * PAGE);
  closeSync(opened);
  return bytes;
};
const writePage = (file: string, page: number, bytes: Buffer): void => {
  const opened = openSync(file, 'r+');
  writeSync(opened, bytes, 0, PAGE, (page - 1) * PAGE);
  closeSync(opened);
};

describe('a second process that writes', () => {
  test('for a second delays writes, and refuses none', async () => {
    await start(database.url);
    const load = startLoad(served.base, key, CLIENTS);
    await load.reached(5 * CLIENTS);
    const release = await holdWriteLock(database.url);
    const before = load.endings.length;
    for (let n = 0; n < 10; n += 1) {
      const reader = openClient(served.base);
      expect(statusOf(await reader.get('/healthz'))).toBe(200);
      expect(statusOf(await reader.call('game.list', { limit: 10, page: 1 }))).toBe(200);
      reader.close();
      await sleep(100);
    }
    expect(load.endings.length - before).toBeLessThanOrEqual(CLIENTS);
    expect(statusOf(await client.get('/readyz'))).toBe(200);
    await release();
    await load.reached(load.endings.length + 5 * CLIENTS);
    load.stop();
    await load.done;
    expect(load.endings.map(statusOf).filter((status) => status !== 200)).toEqual([]);
    expect(await served.stop()).toBe(0);
    await expectSound(database.url, load.published());
  });

  test('while it is told to stop: it ends in its time, and says what it could not store', async () => {
    await start(database.url, { SHUTDOWN_TIMEOUT_MS: '2000' });
    const id = idIn(answered(await create()).text);
    const release = await holdWriteLock(database.url);
    await client.call('game.getById', { id });
    const writers = Array.from({ length: 4 }, () => {
      const writer = openClient(served.base, key);
      return writer.call('game.create', { title: 'late' }).finally(() => writer.close());
    });
    await sleep(300);
    // It ends although the lock is still held.
    await served.stop();
    expect(served.log()).toMatch(/could not be stored, and are lost/);
    for (const ending of await Promise.all(writers)) {
      if (ending.kind === 'answered') expect(ending.status).toBe(503);
    }
    await release();
    await expectSound(database.url, [id]);
    expect((await storedGames(database.url)).size).toBe(1);
  });
});
