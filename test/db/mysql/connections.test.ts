/**
 * @engines server
 * @tier fast
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { schema } from '../../../src/app/schema.ts';
import { Database } from '../../../src/db/database.ts';
import { MOST_CONNECTIONS } from '../../../src/db/mysql/open.ts';
import { Deadline } from '../../../src/base/deadline.ts';
import { connectionOptions, createDatabase, type TestDatabase } from '../../harness/app/database.ts';
import { until } from '../../harness/until.ts';

let database: TestDatabase;
let db: Database;

describe('the connections of a process', () => {
  beforeAll(async () => {
    database = await createDatabase();
    db = await Database.open(database.url, schema);
  });
  afterAll(async () => {
    await db.close();
    await database.drop();
  });

  test('are as many as all workloads can use at once, and no more', async () => {
    const url = new URL(database.url);
    const other = await createConnection({ ...connectionOptions(url), database: '' });
    const count = async (): Promise<number> => {
      const [rows] = await other.query('SELECT COUNT(*) AS n FROM information_schema.processlist WHERE db = ?', [
        url.pathname.slice(1),
      ]);
      return (rows as { n: number }[])[0]?.n ?? 0;
    };
    // To cancel a statement takes a connection of its own.
    await expect(db.read('SELECT SLEEP(30) AS n', [], new Deadline(500))).rejects.toThrow();
    // One that did not answer the cancelling in time is closed here at once, and at the server later: until then it counts.
    await until(async () => (await count()) <= 3);
    const wait = 'SELECT SLEEP(3) AS n';
    const pools = [db, db.keys, db.background, db.health];
    const work = Array.from({ length: 40 }, () =>
      pools.flatMap((pool) => [pool.read(wait, []), pool.transaction((tx) => tx.read(wait))]),
    );
    const done = Promise.allSettled(work.flat());
    await until(async () => (await count()) >= MOST_CONNECTIONS);
    // A busy server still counts one that was closed.
    await until(async () => (await count()) === MOST_CONNECTIONS);
    await sleep(500);
    expect(await count()).toBe(MOST_CONNECTIONS);
    await db.close();
    await done;
    await other.end();
    db = await Database.open(database.url, schema);
  });

  test('are as many as the guides say', () => {
    const said = ['docs/operations.md', 'docs/sizing.md'].flatMap((file) =>
      [
        ...readFileSync(file, 'utf8').matchAll(
          /(\d+)\s+connections\b(?=\s+(?:to\s+MySQL|on\s+demand|of\s+its\s+own))/g,
        ),
      ].map(([, n]) => Number(n)),
    );
    expect(said).toEqual(Array(2).fill(MOST_CONNECTIONS));
  });
});
