/**
 * @engines vitess
 * @tier long
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { schema } from '../../../src/app/schema.ts';
import type { Connection } from '../../../src/db/connection.ts';
import { openMysql } from '../../../src/db/mysql/open.ts';
import { createDatabase, type TestDatabase } from '../../harness/app/database.ts';

/** Less than the 5 s after which vtgate asks for a lock that is held. */
const LATER_MS = 3000;

let database: TestDatabase;
let connection: Connection;

beforeAll(async () => {
  database = await createDatabase();
  connection = await openMysql(database.url, schema);
});
afterAll(async () => {
  await connection.close();
  await database.drop();
});

/** The statements of work that pauses before it reads, by their first words, until it has read. */
const sentBy = async (pauseMs: number): Promise<string[]> => {
  const logged = jest.spyOn(connection.dataSource.logger, 'logQuery');
  try {
    await connection.whileMigrating(async (runner) => {
      await sleep(pauseMs);
      await runner.query('SELECT name FROM migrations LIMIT 1');
    });
    const sent = logged.mock.calls.flatMap(([sql]) => /GET_LOCK|IS_USED_LOCK|migrations/.exec(sql)?.[0] ?? []);
    return sent.slice(0, sent.indexOf('migrations') + 1);
  } finally {
    logged.mockRestore();
  }
};

test('the lock of migrations is asked for before a statement that vtgate would ask for it beside', async () => {
  expect(await sentBy(0)).toEqual(['GET_LOCK', 'migrations']);
  expect(await sentBy(LATER_MS)).toEqual(['GET_LOCK', 'IS_USED_LOCK', 'migrations']);
  // It was released.
  expect(await sentBy(0)).toHaveLength(2);
});
