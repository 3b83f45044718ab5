/**
 * @engines server
 * @tier long
 */
import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { Database } from '../../../src/db/database.ts';
import { schema } from '../../../src/app/schema.ts';
import { runCommand } from '../../harness/app/command.ts';
import { connectionOptions, createDatabase } from '../../harness/app/database.ts';
import { startCli } from '../../harness/app/program.ts';
import { fillAsReleased } from '../../harness/app/released-content.ts';
import { dumpSchema } from '../../harness/documents/schema-dump.ts';
import { interruptions } from '../../harness/faults/interruptions.ts';
import { startProxy } from '../../harness/servers/proxy.ts';
import { until } from '../../harness/until.ts';

// Servers commit each change of a table by itself: a migration that is interrupted is half done.

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const open = async (url: string): Promise<Database> => {
  const db = await Database.open(url, schema);
  cleanups.push(() => db.close());
  return db;
};

const names = schema.migrations.map(({ name }) => name);
const [first = '', second = ''] = names;

const anEmptyDatabase = async (): Promise<string> => {
  const { url, drop } = await createDatabase({ empty: true });
  cleanups.push(drop);
  return url;
};

/** More than are changed at once. */
const ROWS = 1100;

/** A database of the first version, with records. */
const aReleasedDatabase = async (): Promise<string> => {
  const url = await anEmptyDatabase();
  const db = await open(url);
  await db.migrate(first);
  await fillAsReleased(db, ROWS);
  return url;
};

/** All tables, each with what the server says of it and its rows; the author has another id and time in each database. */
const stateOf = async (db: Database): Promise<object> => {
  const dumped = await dumpSchema(db);
  const tables = Object.keys(dumped).filter((name) => name !== 'users');
  const rows = await Promise.all(
    tables.map(async (table) => {
      const all = await db.read<Record<string, unknown>>(`SELECT * FROM ${table}`);
      return [table, all.map((row) => JSON.stringify({ ...row, author_id: undefined })).toSorted()];
    }),
  );
  return { schema: dumped, rows: Object.fromEntries(rows) as object };
};

/** Runs `work` on new connections, each of which breaks at another statement, until none breaks. Returns the statements. */
const interruptedly = async (url: string, work: (db: Database) => Promise<unknown>): Promise<readonly string[]> => {
  const breaking = interruptions();
  const proxy = await startProxy(url);
  proxy.watch(breaking.watch);
  try {
    for (;;) {
      const db = await Database.open(proxy.url, schema);
      try {
        await work(db);
        return breaking.places;
      } catch (error) {
        expect(String(error)).toMatch(/closed|lost|reset/i);
      } finally {
        await db.close();
      }
    }
  } finally {
    await proxy.close();
  }
};

const TEST_MS = 900_000;

describe('migrations that are interrupted at every statement', () => {
  test(
    'do all of it, once',
    async () => {
      const [disturbed, undisturbed] = [await anEmptyDatabase(), await open(await anEmptyDatabase())];
      const places = [...(await interruptedly(disturbed, (db) => db.migrate(first)))];
      const interrupted = await open(disturbed);
      await undisturbed.migrate(first);
      for (const db of [interrupted, undisturbed]) await fillAsReleased(db, ROWS);

      places.push(...(await interruptedly(disturbed, (db) => db.migrate())));
      await undisturbed.migrate();
      expect(await interrupted.appliedMigrations()).toEqual(names);
      expect([...(await interrupted.migrationStates()).values()]).toEqual(names.map(() => 'applied'));
      expect(await stateOf(interrupted)).toEqual(await stateOf(undisturbed));
      for (const plan of await (await open(await anEmptyDatabase())).planMigrations('up')) {
        for (const sql of plan.statements.filter((one) => /^(?:CREATE|ALTER|DROP|INSERT)/.test(one))) {
          const text = Buffer.from(sql.replace(/;$/, '')).toString('latin1');
          if (!/\bmigrations\b/.test(sql)) expect(places).toContain(text);
        }
      }
      expect(places.filter((place) => /^UPDATE (?:games|image_posts|game_tags) /.test(place))).toHaveLength(
        // Three parts of each table, by one statement or, where images are set apart, by two.
        3 * 5,
      );
    },
    TEST_MS,
  );

  test(
    'and their way back',
    async () => {
      const [disturbed, undisturbed] = [await aReleasedDatabase(), await open(await aReleasedDatabase())];
      const interrupted = await open(disturbed);
      for (const db of [interrupted, undisturbed]) await db.migrate();
      await interruptedly(disturbed, (db) => db.revert(first));
      await undisturbed.revert(first);
      expect(await interrupted.appliedMigrations()).toEqual([first]);
      expect(await stateOf(interrupted)).toEqual(await stateOf(undisturbed));
      await interruptedly(disturbed, (db) => db.revert());
      await undisturbed.revert();
      expect(await interrupted.appliedMigrations()).toEqual([]);
      expect(await stateOf(interrupted)).toEqual({ schema: {}, rows: {} });
    },
    TEST_MS,
  );
});

/** Ends a migration half-way: before the first statement that matches. */
const interruptAt = async (url: string, statement: RegExp, work: (db: Database) => Promise<unknown>): Promise<void> => {
  const proxy = await startProxy(url);
  proxy.watch(() => ({
    request: (chunk, lose) => statement.test(chunk.toString('latin1')) && lose(),
    reply: () => undefined,
  }));
  const db = await Database.open(proxy.url, schema);
  await expect(work(db)).rejects.toThrow();
  await db.close();
  await proxy.close();
};

/** Connects to a database beside the service. */
const connectTo = async (url: string) => {
  const connection = await createConnection(connectionOptions(new URL(url)));
  cleanups.push(() => connection.end());
  // A longer wait is one for the transaction that is held open.
  await connection.query('SET SESSION lock_wait_timeout = 10, innodb_lock_wait_timeout = 10');
  return connection;
};

describe('migrations of a table in use', () => {
  /** Migrations that change tables, or refer to them, which a transaction holds. */
  test.each([
    ['WebhookGenerations', 'SELECT id FROM webhooks LIMIT 1'],
    ['ConsumerContracts', 'SELECT id FROM users LIMIT 1'],
    ['ConsumerContracts', "UPDATE users SET bio = 'x'"],
    ['KeyLineage', 'SELECT id FROM api_keys LIMIT 1'],
    ['KeyEndings', "UPDATE users SET bio = 'x'"],
  ])(
    'let others have what a transaction has read or written meanwhile: %s, %s',
    async (name, held) => {
      const url = await aReleasedDatabase();
      const db = await open(url);
      const index = names.findIndex((one) => one.startsWith(name));
      await db.migrate(names[index - 1]);
      const [holder, other, watch] = [await connectTo(url), await connectTo(url), await connectTo(url)];
      await holder.query('START TRANSACTION');
      await holder.query(held);
      let isDone = false;
      const migrating = db.migrate(names[index]).finally(() => (isDone = true));
      const isWaiting = async (): Promise<boolean> => {
        const [rows] = await watch.query(
          "SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND state LIKE 'Waiting for % lock'",
        );
        return (rows as []).length > 0;
      };
      // Some engines do not lock what a new table refers to.
      for (let n = 0; n < 2; n += 1) {
        await until(async () => isDone || (await isWaiting()));
        for (const table of ['users', 'api_keys', 'webhooks']) await other.query(`SELECT * FROM ${table} LIMIT 1`);
        await other.query("UPDATE api_keys SET name = 'x' WHERE user_id = ''");
      }
      await holder.query('COMMIT');
      expect(await migrating).toEqual([names[index]]);
    },
    TEST_MS,
  );

  test(
    'let others have the rows that they have changed while they wait for others',
    async () => {
      const url = await aReleasedDatabase();
      const db = await open(url);
      const index = names.findIndex((one) => one.startsWith('WebhookGenerations'));
      await db.migrate(names[index - 1]);
      const [holder, other] = [await connectTo(url), await connectTo(url)];
      const ids = [1, 2, 3].map((n) => Buffer.alloc(16, n));
      for (const id of ids) {
        await other.query(
          `INSERT INTO webhooks (id, user_id, url, secret, state, attempts, position, position_id, next_at, lease_until, holder,
            created_at, updated_at)
          SELECT ?, id, 'https://a.example/', 'x', 'active', 0, 0, id, '2026-04-02', '2026-04-01', id, created_at, created_at
          FROM users`,
          [id],
        );
      }
      await interruptAt(url, /UPDATE webhooks SET next_at/, (broken) => broken.migrate());
      await holder.query('START TRANSACTION');
      await holder.query('UPDATE webhooks SET attempts = 1 WHERE id = ?', [ids[2]]);
      const migrating = db.migrate(names[index]);
      // InnoDB renews this table only when nobody has read it for 100 ms.
      const isWaiting = async (): Promise<boolean> => {
        const [rows] = await other.query("SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'");
        return (rows as []).length > 0;
      };
      await until(isWaiting, { everyMs: 250 });
      await other.query('UPDATE webhooks SET attempts = 1 WHERE id = ?', [ids[0]]);
      await holder.query('COMMIT');
      expect(await migrating).toEqual([names[index]]);
      const [rows] = await other.query('SELECT next_at = lease_until AS isDue FROM webhooks');
      expect(rows).toEqual([{ isDue: 1 }, { isDue: 1 }, { isDue: 1 }]);
    },
    TEST_MS,
  );
});

describe('a migration that is half done', () => {
  const COLUMN = /ALTER TABLE game_tags ADD COLUMN/;

  test('is told of, and finished or taken back by the same commands', async () => {
    const url = await aReleasedDatabase();
    await interruptAt(url, COLUMN, (db) => db.migrate());
    const env = { DATABASE_URL: url };
    const statusOf = async (): Promise<string> => (await runCommand(['migrate', '--status'], { env })).stdout;
    expect(await statusOf()).toMatch(/^half done +TagIds\w+$/m);
    expect((await runCommand(['migrate', '--down', '--yes'], { env })).stdout).toBe(`${second}\n`);
    expect(await statusOf()).toMatch(/^applied +Content\w+\npending +TagIds\w+$/m);
    await interruptAt(url, COLUMN, (db) => db.migrate());
    expect((await runCommand(['migrate'], { env })).stdout.split('\n')).toEqual([...names.slice(1), '']);
    expect(await statusOf()).not.toContain('half');

    const care = names.findIndex((name) => name.startsWith('Care'));
    await interruptAt(url, /DROP TABLE audit_entries/, (db) => db.revert(names[care - 1]));
    expect(await statusOf()).toMatch(/^half reverted +Care\w+$/m);
    const db = await open(url);
    expect((await db.pendingMigrations())[0]).toBe(names[care]);
    expect((await runCommand(['migrate', '--to', names[care]!], { env })).stdout).toBe(`${names[care]}\n`);
    await interruptAt(url, /DROP TABLE audit_entries/, (broken) => broken.revert());
    expect((await runCommand(['migrate', '--down', '--yes'], { env })).stdout).toBe(`${names[care]}\n`);
    await db.migrate();
    const other = await open(await aReleasedDatabase());
    await other.migrate();
    expect(await stateOf(db)).toEqual(await stateOf(other));
  });

  test('is finished where an earlier release remembered it in a table of its own', async () => {
    const url = await aReleasedDatabase();
    await interruptAt(url, COLUMN, (db) => db.migrate());
    const connection = await connectTo(url);
    await connection.query("DELETE FROM migrations WHERE name LIKE '%half done%'");
    await connection.query('CREATE TABLE migration_progress (name varchar(255) NOT NULL, step int NOT NULL)');
    await connection.query(`INSERT INTO migration_progress VALUES ('${second}', 4)`);
    const db = await open(url);
    // It would revert the migration before.
    await expect(db.revert()).rejects.toThrow(`interrupted within ${second}: finish that first, with migrate`);
    expect(await db.migrate(second)).toEqual([second]);
    expect(await db.revert()).toEqual([second]);
    expect(await db.revert()).toEqual([first]);
  });

  test('can be finished by hand, with the SQL of its plan that is not done', async () => {
    const url = await aReleasedDatabase();
    await interruptAt(url, COLUMN, (db) => db.migrate());
    const db = await open(url);
    const [plan] = await db.planMigrations('up', second);
    const connection = await connectTo(url);
    for (const sql of plan?.statements ?? []) {
      await connection.query(sql).catch((error: Error) => expect(error.message).toContain('Duplicate column'));
    }
    expect(await db.appliedMigrations()).toEqual([first, second]);
    await db.migrate();
    const other = await open(await aReleasedDatabase());
    await other.migrate();
    expect(await dumpSchema(db)).toEqual(await dumpSchema(other));
  });

  test('takes no table for its own that somebody else made, however often it is tried', async () => {
    const url = await anEmptyDatabase();
    const connection = await createConnection(connectionOptions(new URL(url)));
    await connection.query('CREATE TABLE tags (mine int)');
    await connection.end();
    for (let tries = 0; tries < 3; tries += 1) {
      const { code, stderr } = await runCommand(['migrate'], { env: { DATABASE_URL: url } });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/stopped at CREATE TABLE `tags`.*already exists/)]);
    }
  });

  test('goes on after SIGKILL', async () => {
    const url = await aReleasedDatabase();
    const connection = await createConnection(connectionOptions(new URL(url)));
    const hasColumn = async (): Promise<boolean> => {
      const [rows] = await connection.query(
        "SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name = 'tag_ids'",
      );
      return (rows as unknown[]).length > 0;
    };
    const child = startCli(['migrate'], { DATABASE_URL: url });
    await until(hasColumn, { everyMs: 1 });
    child.kill('SIGKILL');
    await once(child, 'close');
    await connection.end();
    const db = await open(url);
    expect(await db.pendingMigrations()).not.toEqual([]);
    await db.migrate();
    expect(await db.pendingMigrations()).toEqual([]);
  });
});
