/**
 * @engines sqlite server second-server
 * @tier long
 */
import { readFile, writeFile } from 'node:fs/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { type MigrationInterface, type QueryRunner, TableColumn } from 'typeorm';
import type { Schema } from '../../src/db/connection.ts';
import { Database } from '../../src/db/database.ts';
import { newId, storedIdToBytes } from '../../src/db/values.ts';
import type { StoredImagePost } from '../../src/image/kind.ts';
import { schema } from '../../src/app/schema.ts';
import { reconcile } from '../../src/admin/reconcile/service.ts';
import { seed } from '../../src/sandbox/seed/service.ts';
import { createDatabase, engine } from '../harness/app/database.ts';
import { fillAsReleased } from '../harness/app/released-content.ts';
import { dumpSchema } from '../harness/documents/schema-dump.ts';

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
  const { url, drop } = await createDatabase({ empty: true });
  cleanups.push(drop);
  return url;
};

const names = schema.migrations.map(({ name }) => name);
/** The schema that the newest migration makes, as it is stored. */
const SCHEMA_FILE = `migrations/schema/${engine}.sql`;
const dumpOf = async (db: Database): Promise<string> => {
  const dumped = Object.entries(await dumpSchema(db)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return dumped.map(([, sql]) => `${sql};\n`).join('\n');
};

describe('the migrations', () => {
  test('make the schema that is written down', async () => {
    const db = await open(await anEmptyDatabase(), schema.migrations);
    await db.migrate();
    const text = await dumpOf(db);
    // `npm run schema` writes it. A released migration must not change: only a new one may change the schema.
    if (process.env['UPDATE_SCHEMA'] === 'true') await writeFile(SCHEMA_FILE, text);
    expect(text).toBe(await readFile(SCHEMA_FILE, 'utf8'));
  });
});

/** Runs statements as an operator would, one after the other. */
const runByHand = async (db: Database, statements: readonly string[]): Promise<void> => {
  const runner = db.dataSource.createQueryRunner();
  try {
    for (const statement of statements) await runner.query(statement);
  } finally {
    await runner.release();
  }
};

describe('the plan of migrations', () => {
  test('is SQL that does the same by hand, up to any of them and back', async () => {
    const db = await open(await anEmptyDatabase(), schema.migrations);
    const plans = await db.planMigrations('up');
    expect(plans.map(({ name }) => name)).toEqual(names);
    expect(await dumpOf(db)).toBe('');
    const byCode = await anEmptyDatabase();
    for (const [index, { name, statements }] of plans.entries()) {
      await runByHand(db, statements);
      const other = await open(byCode, schema.migrations.slice(0, index + 1));
      expect(await other.migrate()).toEqual([name]);
      expect([name, await dumpOf(db)]).toEqual([name, await dumpOf(other)]);
    }
    expect(await db.migrate()).toEqual([]);

    const back = await db.planMigrations('down', names[0]);
    expect(back.map(({ name }) => name)).toEqual(names.slice(1).toReversed());
    expect(await db.appliedMigrations()).toEqual(names);
    await runByHand(
      db,
      back.flatMap(({ statements }) => statements),
    );
    expect(await db.appliedMigrations()).toEqual(names.slice(0, 1));
    const other = await open(await anEmptyDatabase(), schema.migrations);
    await other.migrate();
    expect(await other.revert(names[0])).toEqual(names.slice(1).toReversed());
    expect(await dumpOf(db)).toBe(await dumpOf(other));
  });

  test('ends where it is told, as what is run does', async () => {
    const db = await open(await anEmptyDatabase(), schema.migrations);
    const [, second, third] = names as [string, string, string];
    expect((await db.planMigrations('up', second)).map(({ name }) => name)).toEqual(names.slice(0, 2));
    expect(await db.migrate(second)).toEqual(names.slice(0, 2));
    expect(await db.revert(third)).toEqual([]);
    expect(await db.migrate()).toEqual(names.slice(2));
    expect(await db.revert(third)).toEqual(names.slice(3).toReversed());
    expect(await db.appliedMigrations()).toEqual(names.slice(0, 3));
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
    const after = (await list('images, image_count AS imageCount, more_images AS moreImages')) as StoredImagePost[];
    const found = after.map(({ images, imageCount: n, moreImages: more }) => [
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

/** More than are changed at once. */
const ROWS = 1700;

describe('tables that are big', () => {
  const released = schema.migrations.slice(0, 1);

  test('are changed part by part, and not copied', async () => {
    const url = await anEmptyDatabase();
    const before = await open(url, released);
    await before.migrate();
    await fillAsReleased(before, ROWS);
    const db = await open(url, schema.migrations);
    const made = new Set<string>();
    const runner = db.dataSource.createQueryRunner();
    for (const { name, statements } of await db.planMigrations('up')) {
      for (const sql of statements) {
        const [, created] = /^CREATE TABLE [`"](\w+)/.exec(sql) ?? [];
        if (created !== undefined) made.add(created);
        const [, altered] = /^(?:ALTER TABLE|CREATE (?:UNIQUE )?INDEX \S+ ON) [`"]?(\w+)/.exec(sql) ?? [];
        // A server refuses what it cannot do so.
        const isOnline = engine === 'sqlite' || /ALGORITHM=(INSTANT|INPLACE,? LOCK=NONE)/.test(sql);
        if (altered !== undefined && !made.has(altered)) expect([name, sql, isOnline]).toEqual([name, sql, true]);
        const result = (await runner.query(sql)) as { affectedRows?: number };
        if (sql.startsWith('UPDATE')) expect([sql, (result.affectedRows ?? 0) <= 1000]).toEqual([sql, true]);
      }
    }
    await runner.release();
    expect(await db.migrate()).toEqual([]);
    const wrong = await reconcile(db, { fix: false });
    // Nobody counted what was written by hand.
    expect(wrong.filter(({ field }) => !/_count$|counters/.test(field) || field === 'image_posts.image_count')).toEqual(
      [],
    );
    const [games] = await db.read<{ n: number }>("SELECT COUNT(*) AS n FROM games WHERE tag_ids = '2,1'");
    expect(games!.n).toBe(ROWS);
    const [posts] = await db.read<{ n: number }>('SELECT COUNT(*) AS n FROM image_posts WHERE more_images IS NOT NULL');
    expect(posts!.n).toBe(567);
  });

  test('such as that of webhooks, too', async () => {
    const url = await anEmptyDatabase();
    const before = await open(url, schema.migrations.slice(0, 13));
    await before.migrate();
    await before.transaction(async (tx) => {
      const author = storedIdToBytes(newId(new Date()));
      const time = '2026-04-01 00:00:00.000';
      await tx.execute(
        "INSERT INTO users (id, nickname, social_links, search_text, created_at, updated_at) VALUES (?, 'x', '{}', 'x', ?, ?)",
        [author, time, time],
      );
      for (let n = 0; n < ROWS; n += 100) {
        const ids = Array.from({ length: 100 }, () => storedIdToBytes(newId(new Date())));
        await tx.execute(
          `INSERT INTO webhooks (id, user_id, url, secret, state, attempts, position, position_id, next_at, lease_until, holder,
            created_at, updated_at) VALUES
          ${ids.map(() => "(?, ?, 'https://a.example/', 'x', 'active', 0, 0, ?, '2026-04-02', ?, ?, ?, ?)").join(', ')}`,
          ids.flatMap((id) => [id, author, id, time, id, time, time]),
        );
      }
    });
    const db = await open(url, schema.migrations);
    const [plan] = await db.planMigrations('up');
    expect(plan?.statements.filter((sql) => sql.startsWith('UPDATE webhooks'))).toHaveLength(Math.ceil(ROWS / 500));
    await db.migrate();
    const [row] = await db.read<{ n: number }>('SELECT COUNT(*) AS n FROM webhooks WHERE next_at = lease_until');
    expect(row!.n).toBe(ROWS);
  });

  test('are written meanwhile, and nobody waits for all of it', async () => {
    const url = await anEmptyDatabase();
    const before = await open(url, released);
    await before.migrate();
    await fillAsReleased(before, ROWS);
    const writers = await open(url, released);
    const db = await open(url, schema.migrations);
    let isDone = false;
    let writes = 0;
    const migrating = db.migrate().finally(() => (isDone = true));
    const write = async (table: string): Promise<void> => {
      while (!isDone) {
        await writers.transaction(async (tx) => {
          await tx.execute(`UPDATE ${table} SET view_count = view_count + 1 WHERE title LIKE '%0'`);
        });
        writes += 1;
      }
    };
    await Promise.all([write('games'), write('image_posts'), migrating]);
    expect(await db.pendingMigrations()).toEqual([]);
    expect(writes).toBeGreaterThan(2);
    const [row] = await db.read<{ n: number }>('SELECT COUNT(*) AS n FROM games WHERE tag_ids = ?', ['2,1']);
    expect(row!.n).toBe(ROWS);
  });
});
