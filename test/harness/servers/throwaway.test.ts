/**
 * @engines all
 * @tier fast
 */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { createConnection } from 'mysql2/promise';
import { connectionOptions, createDatabase, engine, type TestDatabase } from '../app/database.ts';

// The harness itself: databases that answer and know nothing of each other.

let one: TestDatabase;
let other: TestDatabase;

describe('throwaway servers', () => {
  beforeAll(async () => {
    [one, other] = await Promise.all([createDatabase({ empty: true }), createDatabase({ empty: true })]);
  });

  afterAll(async () => {
    await Promise.all([one.drop(), other.drop()]);
  });

  /** Runs statements in a row on a connection of their own, and answers the rows of the last. */
  const query = async ({ url }: TestDatabase, ...statements: string[]): Promise<unknown> => {
    if (engine === 'sqlite') {
      const database = new DatabaseSync(url.slice('sqlite:'.length));
      try {
        return statements.map((sql) => database.prepare(sql).all()).at(-1);
      } finally {
        database.close();
      }
    }
    const connection = await createConnection(connectionOptions(new URL(url)));
    try {
      let rows: unknown;
      for (const sql of statements) [rows] = await connection.query(sql);
      return rows;
    } finally {
      await connection.end();
    }
  };

  test('each database holds its own tables', async () => {
    await query(one, 'CREATE TABLE note (body VARCHAR(20))', "INSERT INTO note VALUES ('伝説 🐉')");
    await query(other, 'CREATE TABLE note (body VARCHAR(20))');

    expect(await query(one, 'SELECT body FROM note')).toEqual([{ body: '伝説 🐉' }]);
    expect(await query(other, 'SELECT body FROM note')).toEqual([]);
  });

  test('the engine is the one of the project', async () => {
    const version = engine === 'sqlite' ? 'sqlite_version()' : 'version()';
    const expected = { sqlite: /^3\./, mariadb: /MariaDB/, mysql: /^[89]\.(?!.*MariaDB|.*Vitess)/, vitess: /-Vitess$/ };

    expect(await query(one, `SELECT ${version} AS version`)).toEqual([
      { version: expect.stringMatching(expected[engine]) },
    ]);
  });

  test('texts differ unless every byte is the same', async () => {
    await query(one, 'CREATE TABLE word (body VARCHAR(20) UNIQUE)');
    await query(one, "INSERT INTO word VALUES ('ハハ'), ('パパ'), ('a'), ('A'), ('🐉'), ('🎮')");

    expect(await query(one, "SELECT body FROM word WHERE body = 'A'")).toEqual([{ body: 'A' }]);
  });

  test('a dropped database is gone', async () => {
    const short = await createDatabase({ empty: true });
    await query(short, 'CREATE TABLE note (body VARCHAR(20))');
    await short.drop();

    if (engine === 'sqlite') expect(existsSync(short.url.slice('sqlite:'.length))).toBe(false);
    // Vitess keeps its keyspaces: this one is empty again.
    else if (engine === 'vitess')
      await expect(query(short, 'SELECT body FROM note')).rejects.toMatchObject({ code: 'ER_NO_SUCH_TABLE' });
    else await expect(query(short, 'SELECT 1')).rejects.toMatchObject({ code: 'ER_BAD_DB_ERROR' });
  });
});
