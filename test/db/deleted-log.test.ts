/**
 * @engines sqlite
 * @tier fast
 */
import { copyFileSync, rmSync } from 'node:fs';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { schema } from '../../src/app/schema.ts';
import { Database } from '../../src/db/database.ts';
import { SqliteConnection } from '../../src/db/sqlite/binding/binding.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';

const ROWS = 2000;
const HELD_MS = 1500;

let database: TestDatabase;
let db: Database;

beforeEach(async () => {
  database = await createDatabase();
  db = await Database.open(database.url, schema);
  await db.migrate();
});
afterEach(async () => {
  await db.close();
  await database.drop();
});

const store = (name: string): Promise<unknown> =>
  db.transaction((tx) => tx.execute('INSERT INTO counters (name, n) VALUES (?, 0)', [name]));

test('a deleted log is brought into the file whole, after a reader that holds a part of it back', async () => {
  const file = database.url.slice('sqlite:'.length);
  const reader = new SqliteConnection(file);
  reader.exec('BEGIN');
  reader.all('SELECT COUNT(*) FROM counters');
  await Promise.all(Array.from({ length: ROWS }, (_, n) => store(`row ${n}`)));
  rmSync(`${file}-wal`);
  rmSync(`${file}-shm`);
  const refused = expect(store('refused')).rejects.toMatchObject({ reason: 'DATABASE_UNAVAILABLE' });
  // Attempts of the call, and of the checkpoint a second after the last commit, meet the reader.
  setTimeout(() => reader.exec('COMMIT'), HELD_MS);
  await refused;

  // What a process that is killed now leaves.
  copyFileSync(file, `${file}.left`);
  const left = new DatabaseSync(`${file}.left`);
  expect(left.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  expect(left.prepare("SELECT COUNT(*) AS n FROM counters WHERE name LIKE 'row %'").get()).toEqual({ n: ROWS });
  left.close();
  reader.close();
  rmSync(`${file}.left`);
});
