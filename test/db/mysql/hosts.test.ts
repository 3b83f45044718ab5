/**
 * @engines sqlite server second-server
 * @tier long
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { Database } from '../../../src/db/database.ts';
import { Deadline } from '../../../src/base/deadline.ts';
import type { Reader } from '../../../src/db/connection.ts';
import type { AppError } from '../../../src/base/errors.ts';
import { schema } from '../../../src/app/schema.ts';
import { connectionOptions } from '../../harness/app/database.ts';
import { type ServerProgram, startServer, type ThrowawayServer } from '../../harness/servers/servers.ts';

// Several servers that stand in for each other. Each says its name in a table.

const NAMES = ['first', 'second'] as const;

const onPrivateServers = (name: 'mariadb' | 'mysql', program: ServerProgram): void => {
  let servers: ThrowawayServer[];
  let open: Database[];

  const run = async (server: number, ...statements: string[]): Promise<void> => {
    const connection = await createConnection(connectionOptions(new URL(servers[server]!.url)));
    for (const sql of statements) await connection.query(sql);
    await connection.end();
  };

  beforeEach(async () => {
    open = [];
    servers = await Promise.all(NAMES.map(() => startServer(name, program)));
    for (const [index, own] of NAMES.entries()) {
      await run(
        index,
        'CREATE DATABASE content CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
        'CREATE TABLE content.here (name varchar(9) NOT NULL)',
        `INSERT INTO content.here VALUES ('${own}')`,
      );
    }
  });
  afterEach(async () => {
    for (const db of open) await db.close();
    for (const server of servers) await server.stop();
  });

  /** One address of all of them, in this order. */
  const addressOf = (...indices: number[]): string => {
    const hosts = indices.map((index) => new URL(servers[index]!.url).host);
    return `${name}://root@${hosts.join(',')}/content`;
  };
  const connect = async (url: string, readUrl?: string): Promise<Database> => {
    const db = await Database.open(url, schema, { statementMs: 5000, readUrl });
    open.push(db);
    return db;
  };
  const nameBy = async (db: Reader): Promise<string | undefined> =>
    (await db.read<{ name: string }>('SELECT name FROM here'))[0]?.name;
  const nameInTransaction = (db: Database): Promise<string | undefined> =>
    db.transaction(async (tx) => (await tx.read<{ name: string }>('SELECT name FROM here'))[0]?.name);
  const everywhere = (db: Database) =>
    Promise.all([nameBy(db), nameInTransaction(db), nameBy(db.keys), nameBy(db.health), nameBy(db.background)]);

  test('the first is used, by all; when it is gone, the second is, and nobody notices', async () => {
    const db = await connect(addressOf(0, 1));
    expect(new Set(await everywhere(db))).toEqual(new Set(['first']));
    let isOver = false;
    const seen: (string | undefined)[] = [];
    const reading = (async () => {
      while (!isOver) seen.push(await nameBy(db), await nameInTransaction(db));
    })();
    await sleep(100);
    await servers[0]!.stop();
    while (!seen.includes('second')) await sleep(10);
    isOver = true;
    await reading;
    expect(new Set(await everywhere(db))).toEqual(new Set(['second']));
  });

  test('one that takes no writes is passed over, and left when it takes none any more', async () => {
    await run(0, 'SET GLOBAL read_only = 1');
    const db = await connect(addressOf(0, 1));
    expect(await nameBy(db)).toBe('second');
    await run(0, 'SET GLOBAL read_only = 0');
    // It stays where it is.
    await sleep(1500);
    expect(await nameBy(db)).toBe('second');
    await run(1, 'SET GLOBAL read_only = 1');
    while ((await nameInTransaction(db).catch(() => undefined)) !== 'first') await sleep(20);
    expect(new Set(await everywhere(db))).toEqual(new Set(['first']));
  });

  test('without any, the message names all and no password', async () => {
    const url = addressOf(0, 1).replace('root@', 'root:s3cret@');
    const { hosts } = { hosts: [0, 1].map((index) => new URL(servers[index]!.url).host) };
    await Promise.all(servers.map((server) => server.stop()));
    const error = (await connect(url).catch((failure: unknown) => failure)) as AppError;
    expect(error.reason).toBe('DATABASE_UNAVAILABLE');
    expect(error.details.hint).toContain(`${hosts.join(', ')}/content`);
    expect(error.details.hint).not.toContain('s3cret');
  });

  test('replicas serve reads that may be late, and the primary all others, and these when they are away', async () => {
    const db = await connect(addressOf(0), addressOf(1));
    expect(await nameBy(db.anonymous)).toBe('second');
    expect(new Set(await everywhere(db))).toEqual(new Set(['first']));
    await servers[1]!.stop();
    for (let n = 0; n < 10; n += 1) expect(await nameBy(db.anonymous.within(new Deadline(3000)))).toBe('first');
  });
};

const { name, server } = globalThis.TEST_ENGINE;
if (name !== 'sqlite' && name !== 'vitess' && 'binary' in server)
  describe('hosts', () => onPrivateServers(name, server));

describe('failover between', () => {
  test('a host that is named twice stands in for nobody', async () => {
    await expect(Database.open('mysql://user:password@one,one:3306/content', schema)).rejects.toThrow(
      'names a host twice',
    );
  });
});
