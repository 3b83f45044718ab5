/**
 * @engines sqlite server second-server
 * @tier long
 */
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import supertest from 'supertest';
import { createApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { closeContext, openContext } from '../../src/app/context.ts';
import type { Schema } from '../../src/db/connection.ts';
import { Database } from '../../src/db/database.ts';
import { schema } from '../../src/app/schema.ts';
import { createDatabase, engine } from '../harness/app/database.ts';
import { runCli } from '../harness/app/program.ts';
import { dumpSchema } from '../harness/documents/schema-dump.ts';

const cleanups: (() => Promise<void>)[] = [];
describe('database schema', () => {
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  const anEmptyDatabase = async (): Promise<string> => {
    const { url, drop } = await createDatabase({ empty: true });
    cleanups.push(drop);
    return url;
  };

  const open = async (url: string, opened: Schema = schema): Promise<Database> => {
    const db = await Database.open(url, opened);
    cleanups.push(() => db.close());
    return db;
  };

  /** What the engine says of each table, whatever the order in which it was made. */
  const dump = async (db: Database): Promise<Record<string, string>> => {
    const comparable = (sql: string): string =>
      engine === 'sqlite'
        ? // The statements as they were written, TypeORM's with quotes.
          sql.replaceAll('"', '').trim()
        : // An index that was made anew comes last.
          sql.split(/,?\n/).toSorted().join('\n');
    const dumped = await dumpSchema(db);
    return Object.fromEntries(Object.entries(dumped).map(([name, sql]) => [name, comparable(sql)]));
  };

  const names = schema.migrations.map((migration) => migration.name);

  describe('the migrations', () => {
    test('make what the entities describe', async () => {
      const db = await open(await anEmptyDatabase());
      await db.migrate();
      const { upQueries } = await db.dataSource.driver.createSchemaBuilder().log();
      // If not: write a migration with these statements, or mend the entity.
      expect(upQueries.map(({ query }) => query)).toEqual([]);
    });

    test('go down and up again, each to the same schema', async () => {
      const url = await anEmptyDatabase();
      const stages = [await dump(await open(url))];
      for (let n = 1; n <= names.length; n += 1) {
        const db = await open(url, { ...schema, migrations: schema.migrations.slice(0, n) });
        expect(await db.migrate()).toEqual([names[n - 1]]);
        stages.push(await dump(db));
      }
      const db = await open(url);
      for (let n = names.length; n > 0; n -= 1) {
        expect(await db.revert()).toEqual([names[n - 1]]);
        expect(await dump(db)).toEqual(stages[n - 1]);
      }
      expect(await db.revert()).toEqual([]);
      expect(await db.migrate()).toEqual(names);
      expect(await dump(db)).toEqual(stages[names.length]);
    });

    test('are applied once by four processes at the same time', async () => {
      const url = await anEmptyDatabase();
      const outcomes = await Promise.all([1, 2, 3, 4].map(() => runCli(['migrate'], { env: { DATABASE_URL: url } })));
      expect(outcomes.map(({ code, stderr }) => (code === 0 ? 'done' : stderr))).toEqual(Array(4).fill('done'));
      expect(outcomes.flatMap(({ stdout }) => stdout.split('\n').filter((line) => line !== ''))).toEqual(names);
      const db = await open(url);
      expect(await db.appliedMigrations()).toEqual(names);
      expect((await db.dataSource.driver.createSchemaBuilder().log()).upQueries).toEqual([]);
    });

    test('are pending until they are applied, and applied once, however often this is asked for', async () => {
      const db = await open(await anEmptyDatabase());
      expect([await db.pendingMigrations(), await db.appliedMigrations()]).toEqual([names, []]);
      expect(await db.migrate()).toEqual(names);
      expect(await db.migrate()).toEqual([]);
      expect([await db.pendingMigrations(), await db.appliedMigrations()]).toEqual([[], names]);
    });

    test('that fail leave nothing on SQLite, and what came before them elsewhere', async () => {
      const url = await anEmptyDatabase();
      const broken = class Broken1999999999999 {
        name = 'Broken1999999999999';
        up = async (): Promise<void> => {
          throw new Error('no space');
        };
        down = async (): Promise<void> => undefined;
      };
      const db = await open(url, { ...schema, migrations: [...schema.migrations, broken] });
      // TypeORM writes it to the console.
      jest.spyOn(console, 'log').mockImplementationOnce(() => undefined);
      await expect(db.migrate()).rejects.toThrow('no space');
      expect(await db.pendingMigrations()).toEqual(engine === 'sqlite' ? [...names, broken.name] : [broken.name]);
      const mended = await open(url);
      await mended.migrate();
      expect(await mended.pendingMigrations()).toEqual([]);
    });
  });

  test('/readyz says which migrations are due, then that the service is ready', async () => {
    const config = readConfig({ DATABASE_URL: await anEmptyDatabase(), LOG_LEVEL: 'silent' });
    const context = await openContext(config, pino({ level: 'silent' }));
    cleanups.push(() => closeContext(context));
    const http = supertest(createApp(context));

    const early = await http.get('/readyz');
    expect(early.status).toBe(503);
    expect(early.headers['retry-after']).toMatch(/^\d+$/);
    expect(early.body.error.json.data).toMatchObject({
      reason: 'DATABASE_UNAVAILABLE',
      hint: `Migrations are due: ${names.join(', ')}.`,
    });
    expect((await http.get('/healthz')).status).toBe(200);

    await context.db.migrate();
    const late = await http.get('/readyz');
    expect([late.status, late.body]).toEqual([200, { status: 'ready' }]);
  });
});
