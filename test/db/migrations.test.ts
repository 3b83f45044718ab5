import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { type MigrationInterface, type QueryRunner, TableColumn } from 'typeorm';
import type { Schema } from '../../src/db/connection.ts';
import { Database } from '../../src/db/database.ts';
import { newId, storedIdToBytes } from '../../src/db/values.ts';
import type { ImagePostColumns } from '../../src/image/entity.ts';
import { schema } from '../../src/schema.ts';
import { seed } from '../../src/seed/service.ts';
import { createDatabase, engine } from '../support/database.ts';
import { dumpSchema } from '../support/schema-dump.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const open = async (url: string, migrations: Schema['migrations']): Promise<Database> => {
  const db = await Database.open(url, { ...schema, migrations });
  cleanups.push(() => db.close());
  return db;
};

const anEmptyDatabase = async (): Promise<string> => {
  const { url, drop } = await createDatabase();
  cleanups.push(drop);
  return url;
};

describe('a released migration', () => {
  test('makes the schema that is written down for it', async () => {
    const url = await anEmptyDatabase();
    for (const [index, { name }] of schema.migrations.entries()) {
      const db = await open(url, schema.migrations.slice(0, index + 1));
      expect(await db.migrate()).toEqual([name]);
      const dumped = Object.entries(await dumpSchema(db)).toSorted(([a], [b]) => (a < b ? -1 : 1));
      const text = dumped.map(([, sql]) => `${sql};\n`).join('\n');
      const file = `migrations/schema/${engine}/${name}.sql`;
      if (process.env['UPDATE_SCHEMA'] === 'true') {
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, text);
      }
      // If a new one does not: `npm run schema` writes it down. What was released must not change.
      expect([file, text]).toEqual([file, await readFile(file, 'utf8')]);
    }
  });
});

describe('the migration that sets the first images of a post apart', () => {
  const counts = [1, 3, 4, 5, 100];
  const urls = (n: number): string[] =>
    Array.from({ length: n }, (_, index) => `https://a.example/${index}?"q"\\,画[像]😀`);

  const aDatabaseBefore = async (): Promise<string> => {
    const url = await anEmptyDatabase();
    const db = await open(url, schema.migrations.slice(0, 3));
    await db.migrate();
    const author = storedIdToBytes(newId(new Date()));
    const time = '2026-04-01 00:00:00.000';
    await db.transaction(async (tx) => {
      await tx.execute(
        `INSERT INTO users (id, nickname, social_links, search_text, created_at, updated_at)
        VALUES (?, 'x', '{}', 'x', ?, ?)`,
        [author, time, time],
      );
      for (const n of counts) {
        await tx.execute(
          `INSERT INTO image_posts (id, author_id, title, search_text, images, created_at, updated_at)
          VALUES (?, ?, ?, 'x', ?, ?, ?)`,
          [storedIdToBytes(newId(new Date())), author, `${n} images`, JSON.stringify(urls(n)), time, time],
        );
      }
    });
    return url;
  };

  test('fills its columns, and goes back', async () => {
    const db = await open(await aDatabaseBefore(), schema.migrations.slice(0, 4));
    const list = (columns: string) => db.read(`SELECT ${columns} FROM image_posts ORDER BY image_count`);
    await db.migrate();
    const after = (await list('images, image_count, more_images')) as ImagePostColumns[];
    const found = after.map(({ images, image_count: n, more_images: more }) => [
      JSON.parse(images),
      n,
      more === null ? null : JSON.parse(more),
    ]);
    const rest = (n: number) => (n > 4 ? urls(n).slice(4) : null);
    expect(found).toEqual(counts.map((n) => [urls(n).slice(0, 4), n, rest(n)]));

    await db.revert();
    const before = await db.read<{ title: string; images: string }>('SELECT title, images FROM image_posts');
    expect(new Map(before.map(({ title, images }) => [title, JSON.parse(images)]))).toEqual(
      new Map(counts.map((n) => [`${n} images`, urls(n)])),
    );
  });
});

/** The schema with one migration more. */
const with1More = (change: (runner: QueryRunner) => Promise<void>): Schema['migrations'] => [
  ...schema.migrations,
  class Changed1999999999999 implements MigrationInterface {
    name = 'Changed1999999999999';
    up = change;
    down = async (): Promise<void> => undefined;
  },
];

const FILLED = ['users', 'games', 'game_tags', 'game_favorites', 'game_reactions', 'image_posts', 'image_post_tags'];

const countRows = async (db: Database): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const table of FILLED) {
    const [row] = await db.read<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`);
    counts[table] = row!.n;
  }
  return counts;
};

/** A database with some rows in all tables that refer to each other. */
const aFilledDatabase = async (): Promise<string> => {
  const url = await anEmptyDatabase();
  const db = await open(url, schema.migrations);
  await db.migrate();
  const until = new Date('2026-04-01T00:00:00.000Z');
  await seed(db, { users: 10, games: 30, images: 10, randomSeed: 1, until }, () => undefined);
  for (const n of Object.values(await countRows(db))) expect(n).toBeGreaterThan(0);
  return url;
};

describe('a migration of filled tables', () => {
  test('keeps what refers to the table that it makes anew', async () => {
    const url = await aFilledDatabase();
    const db = await open(
      url,
      with1More((runner) =>
        runner.addColumn('games', new TableColumn({ name: 'note', type: 'int', isNullable: true })),
      ),
    );
    const before = await countRows(db);
    expect(await db.migrate()).toHaveLength(1);
    expect(await db.read('SELECT note FROM games LIMIT 1')).toEqual([{ note: null }]);
    expect(await countRows(db)).toEqual(before);
  });

  test('leaves the foreign keys in force', async () => {
    const url = await aFilledDatabase();
    const db = await open(
      url,
      with1More(async () => undefined),
    );
    await db.migrate();
    await db.transaction((tx) => tx.execute('DELETE FROM users'));
    expect(new Set(Object.values(await countRows(db)))).toEqual(new Set([0]));
  });

  if (engine === 'sqlite') {
    test('is undone when it leaves rows that refer to nothing', async () => {
      const url = await aFilledDatabase();
      const db = await open(
        url,
        with1More((runner) => runner.query('DELETE FROM games') as Promise<void>),
      );
      const before = await countRows(db);
      // TypeORM writes what it undoes to the console.
      jest.spyOn(console, 'log').mockImplementation(() => undefined);
      await expect(db.migrate()).rejects.toThrow(/refer to nothing in: game_favorites, game_reactions, game_tags/);
      expect(await countRows(db)).toEqual(before);
      await db.transaction((tx) => tx.execute('DELETE FROM users'));
      expect(new Set(Object.values(await countRows(db)))).toEqual(new Set([0]));
    });
  }
});
