/**
 * @engines all second-server
 * @tier fast
 * @skipOnVitess database transactions that meet one that loses again: Vitess takes no CREATE PROCEDURE, by which the test has
 *   a deadlock reported.
 * @skipOnVitess database transactions that meet one whose connection is cut is run again: The test cuts a connection by its
 *   CONNECTION_ID(), which on Vitess is that of MySQL below. Connections that break are seen to by the tests of
 *   faults.
 * @skipOnVitess database transactions that meet one whose connection is cut again and again: The test cuts a connection by
 *   its CONNECTION_ID(), which on Vitess is that of MySQL below. Connections that break are seen to by the tests of
 *   faults.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection } from 'mysql2/promise';
import { gameKind } from '../../src/game/kind.ts';
import { publish } from '../../src/content/write/publisher.ts';
import { pipelined } from '../../src/db/sql/write-rows.ts';
import type { Transaction } from '../../src/db/connection.ts';
import { Database } from '../../src/db/database.ts';
import { SqliteConnection } from '../../src/db/sqlite/binding/binding.ts';
import { idFromBytes, idToBytes } from '../../src/db/values.ts';
import { gameDraft } from '../../src/game/service.ts';
import { schema } from '../../src/app/schema.ts';
import { createUser } from '../../src/user/service.ts';
import { connectionOptions, createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { holdWriteLock } from '../harness/servers/sqlite-lock.ts';
import { VirtualWorld } from '../harness/virtual-world.ts';

let database: TestDatabase;
let db: Database;

describe('database', () => {
  beforeAll(async () => {
    database = await createDatabase();
    db = await Database.open(database.url, schema);
    await db.migrate();
  });
  afterAll(async () => {
    await db.close();
    await database.drop();
  });

  const now = new Date();
  let serial = 0;

  /** A new counter of this test. */
  const aCounter = async (n = 0): Promise<string> => {
    serial += 1;
    const name = `test ${serial}`;
    await db.transaction((tx) => tx.execute('INSERT INTO counters (name, n) VALUES (?, ?)', [name, n]));
    return name;
  };
  const add = (tx: Transaction, name: string): Promise<number> =>
    tx.execute('UPDATE counters SET n = n + 1 WHERE name = ?', [name]);
  const valueOf = async (name: string): Promise<number | undefined> =>
    (await db.read<{ n: number }>('SELECT n FROM counters WHERE name = ?', [name]))[0]?.n;
  const countOf = async (table: string): Promise<number> =>
    (await db.read<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`))[0]!.n;

  /** A promise, and what resolves it. */
  const signal = () => {
    let send = (): void => undefined;
    const sent = new Promise<void>((resolve) => (send = resolve));
    return { sent, send };
  };

  describe('a transaction', () => {
    test('stores everything, and returns what the work returns', async () => {
      const [one, other] = [await aCounter(), await aCounter()];
      const result = await db.transaction(async (tx) => {
        await add(tx, one);
        await add(tx, other);
        return 'done';
      });
      expect([result, await valueOf(one), await valueOf(other)]).toEqual(['done', 1, 1]);
    });

    test('does what is sent at once in its order, prepared before or not', async () => {
      const name = await aCounter(1);
      // Known to the session, unlike the other one.
      await db.transaction((tx) => add(tx, name));
      const changes = await db.transaction((tx) =>
        pipelined([
          tx.execute('UPDATE counters SET n = n * 10 WHERE name = ?', [name]),
          add(tx, name),
          tx.execute('UPDATE counters SET n = n * 100 WHERE name = ?', [name]),
          add(tx, name),
          add(tx, 'nobody'),
        ]),
      );
      expect([changes, await valueOf(name)]).toEqual([[1, 1, 1, 1, 0], 2101]);
    });

    test('of which something sent at once fails leaves nothing, and throws what failed first', async () => {
      const name = await aCounter(1);
      const work = db.transaction((tx) =>
        pipelined([
          add(tx, name),
          tx.execute('INSERT INTO counters (name, n) VALUES (?, 1)', [name]),
          tx.execute('UPDATE nowhere SET n = 1'),
          add(tx, name),
        ]),
      );
      await expect(work).rejects.toThrow(/duplicate|unique/i);
      expect(await valueOf(name)).toBe(1);
    });

    test('that fails leaves nothing, and throws what it threw', async () => {
      const name = await aCounter();
      const error = new Error('no');
      const work = db.transaction(async (tx) => {
        await add(tx, name);
        await tx.execute('INSERT INTO counters (name, n) VALUES (?, 1)', ['never']);
        throw error;
      });
      await expect(work).rejects.toBe(error);
      expect([await valueOf(name), await valueOf('never')]).toEqual([0, undefined]);
    });

    test('that the database refuses leaves nothing, and the next one works', async () => {
      const name = await aCounter();
      const work = db.transaction(async (tx) => {
        await add(tx, name);
        await tx.execute('INSERT INTO counters (name, n) VALUES (?, 1)', [name]);
      });
      await expect(work).rejects.toThrow(/duplicate|unique/i);
      await db.transaction((tx) => add(tx, name));
      expect(await valueOf(name)).toBe(1);
    });

    test('sees its own writes; nobody else does before it commits, or waits for it', async () => {
      const name = await aCounter();
      const [written, looked] = [signal(), signal()];
      const work = db.transaction(async (tx) => {
        await add(tx, name);
        const [row] = await tx.read<{ n: number }>('SELECT n FROM counters WHERE name = ?', [name]);
        written.send();
        await looked.sent;
        return row?.n;
      });
      await written.sent;
      const seen = await Promise.all([valueOf(name), valueOf(name), countOf('counters')]);
      expect(seen.slice(0, 2)).toEqual([0, 0]);
      looked.send();
      expect(await work).toBe(1);
      expect(await valueOf(name)).toBe(1);
    });

    test('loses no increment to 50 others at the same time', async () => {
      const name = await aCounter();
      await Promise.all(
        Array.from({ length: 50 }, () =>
          db.transaction(async (tx) => {
            const [row] = await tx.read<{ n: number }>(
              `SELECT n FROM counters WHERE name = ? ${tx.dialect.forUpdate}`,
              [name],
            );
            await tx.execute('UPDATE counters SET n = ? WHERE name = ?', [row!.n + 1, name]);
          }),
        ),
      );
      expect(await valueOf(name)).toBe(50);
    });

    test('runs nothing any more once it has ended, however it did', async () => {
      const name = await aCounter();
      const ended: Transaction[] = [];
      await db.transaction(async (tx) => void ended.push(tx));
      await expect(
        db.transaction(async (tx) => {
          ended.push(tx);
          throw new Error('no');
        }),
      ).rejects.toThrow('no');
      for (const tx of ended) await expect(add(tx, name)).rejects.toThrow('the transaction has ended');
      expect([ended.length, await valueOf(name)]).toEqual([2, 0]);
    });

    test('that only reads may run beside another one', async () => {
      const name = await aCounter(7);
      const values = await Promise.all(
        [1, 2, 3].map(() => db.transaction((tx) => tx.read('SELECT n FROM counters WHERE name = ?', [name]))),
      );
      expect(values).toEqual([[{ n: 7 }], [{ n: 7 }], [{ n: 7 }]]);
    });
  });

  test('a batch fails as a whole when the database refuses one of its rows', async () => {
    const author = await createUser(db, 'author', now);
    const draft = gameDraft({ title: 'one', isFree: true, gameType: 'rpg', tagNames: ['some tag'] });
    const [taken] = await db.transaction((tx) => publish(tx, gameKind, author, [draft], now));
    const before = await countOf('games');
    const drafts = [draft, { ...draft, id: idFromBytes(taken!.row.id) }, { ...draft, tagNames: ['other tag'] }];
    await expect(db.transaction((tx) => publish(tx, gameKind, author, drafts, now))).rejects.toThrow(
      /duplicate|unique/i,
    );
    expect(await countOf('games')).toBe(before);
    expect(await db.read('SELECT name FROM tags')).toEqual([{ name: 'some tag' }]);
    const [user] = await db.read<{ game_count: number }>('SELECT game_count FROM users WHERE id = ?', [
      idToBytes(author)!,
    ]);
    expect(user?.game_count).toBe(1);
  });

  const overloaded = expect.objectContaining({ reason: 'OVERLOADED' });

  const onServers = (): void => {
    let rival: Connection;
    beforeAll(async () => {
      rival = await createConnection(connectionOptions(new URL(database.url)));
    });
    afterAll(() => rival.end());

    test('one of two that deadlock is run again, and both are stored once', async () => {
      const names = [await aCounter(), await aCounter()] as const;
      const locked = [signal(), signal()] as const;
      let attempts = 0;
      const crosswise = (mine: 0 | 1, other: 0 | 1) =>
        db.transaction(async (tx) => {
          attempts += 1;
          await add(tx, names[mine]);
          locked[mine].send();
          await locked[other].sent;
          await add(tx, names[other]);
        });
      await Promise.all([crosswise(0, 1), crosswise(1, 0)]);
      expect(attempts).toBe(3);
      expect([await valueOf(names[0]), await valueOf(names[1])]).toEqual([2, 2]);
    });

    test('one that waited too long for a lock is run again as a whole', async () => {
      const [free, held] = [await aCounter(), await aCounter()];
      await rival.beginTransaction();
      await rival.query('UPDATE counters SET n = 10 WHERE name = ?', [held]);
      let attempts = 0;
      await db.transaction(async (tx) => {
        attempts += 1;
        if (attempts === 2) await rival.commit();
        // The server rolls back only the statement that waited, not the one before it.
        await tx.execute('SET SESSION innodb_lock_wait_timeout = 1');
        await add(tx, free);
        await add(tx, held);
      });
      expect(attempts).toBe(2);
      expect([await valueOf(free), await valueOf(held)]).toEqual([1, 11]);
    });

    test('one that loses again and again ends as OVERLOADED', async () => {
      const name = await aCounter();
      // What a deadlock looks like, from the server itself.
      const deadlock = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'";
      await rival.query(`CREATE PROCEDURE lose() ${deadlock}`);
      let attempts = 0;
      const work = db.transaction(async (tx) => {
        attempts += 1;
        await add(tx, name);
        await tx.execute('CALL lose()');
      });
      await expect(work).rejects.toEqual(overloaded);
      expect(attempts).toBe(12);
      expect(await valueOf(name)).toBe(0);
    });

    test('one that locks a row and fails lets it go', async () => {
      const name = await aCounter();
      const work = db.transaction(async (tx) => {
        await tx.read(`SELECT n FROM counters WHERE name = ? ${tx.dialect.forUpdate}`, [name]);
        throw new Error('no');
      });
      await expect(work).rejects.toThrow('no');
      await rival.query('SET SESSION innodb_lock_wait_timeout = 1');
      await rival.query('UPDATE counters SET n = 1 WHERE name = ?', [name]);
      expect(await valueOf(name)).toBe(1);
    });

    const cutOff = async (tx: Transaction): Promise<void> => {
      const [row] = await tx.read<{ id: number }>('SELECT CONNECTION_ID() AS id');
      await rival.query(`KILL ${row!.id}`);
    };

    test('one whose connection is cut is run again', async () => {
      const name = await aCounter();
      let attempts = 0;
      await db.transaction(async (tx) => {
        attempts += 1;
        await add(tx, name);
        if (attempts < 3) await cutOff(tx);
        await add(tx, name);
      });
      expect([attempts, await valueOf(name)]).toEqual([3, 2]);
    });

    test('one whose connection is cut again and again ends as DATABASE_UNAVAILABLE, soon', async () => {
      const name = await aCounter();
      let attempts = 0;
      const work = db.transaction(async (tx) => {
        attempts += 1;
        await add(tx, name);
        await cutOff(tx);
        await add(tx, name);
      });
      await expect(work).rejects.toEqual(expect.objectContaining({ reason: 'DATABASE_UNAVAILABLE' }));
      expect(attempts).toBeLessThan(10);
      await db.transaction((tx) => add(tx, name));
      expect(await valueOf(name)).toBe(1);
    });

    test('reads wait for no lock', async () => {
      const name = await aCounter();
      await rival.beginTransaction();
      await rival.query('UPDATE counters SET n = 10');
      expect(await valueOf(name)).toBe(0);
      await rival.rollback();
    });
  };

  const onSqlite = (): void => {
    test('one that has read and not written yet is not overtaken by another process', async () => {
      const name = await aCounter();
      const rival = new SqliteConnection(database.url.slice('sqlite:'.length), { timeout: 0 });
      const update = 'UPDATE counters SET n = ? WHERE name = ?';
      let attempts = 0;
      await db.transaction(async (tx) => {
        attempts += 1;
        const [row] = await tx.read<{ n: number }>('SELECT n FROM counters WHERE name = ?', [name]);
        expect(() => rival.run(update, [10, name])).toThrow(/locked/);
        await tx.execute(update, [row!.n + 1, name]);
      });
      rival.close();
      expect([attempts, await valueOf(name)]).toEqual([1, 1]);
    });

    test('one waits while another process writes, and stops nothing else', async () => {
      const name = await aCounter();
      const release = await holdWriteLock(database.url);
      const work = Promise.all([1, 2, 3].map(() => db.transaction((tx) => add(tx, name))));
      // A wait within SQLite would hold up all timers: next to none would end before one that was set with the first.
      let isOver = false;
      setTimeout(() => (isOver = true), 500);
      let turns = 0;
      for (; !isOver; turns += 1) await sleep(10);
      expect(turns).toBeGreaterThan(10);
      expect(await valueOf(name)).toBe(0);
      await release();
      await work;
      expect(await valueOf(name)).toBe(3);
    });

    test('many that wait let everything else have its turn', async () => {
      const name = await aCounter();
      const works = Promise.all(Array.from({ length: 1500 }, () => db.transaction((tx) => add(tx, name))));
      let turns = 0;
      let isOver = false;
      const count = (): void => {
        turns += 1;
        if (!isOver) setImmediate(count);
      };
      count();
      await works;
      isOver = true;
      expect(turns).toBeGreaterThan(1000);
      expect(await valueOf(name)).toBe(1500);
    });

    test('those that wait too long all end as OVERLOADED, and leave nothing', async () => {
      const name = await aCounter();
      const release = await holdWriteLock(database.url);
      const world = new VirtualWorld();
      const started = world.now;
      const took: number[] = [];
      try {
        const works = Array.from({ length: 20 }, () =>
          db.transaction((tx) => add(tx, name)).finally(() => took.push(world.now - started)),
        );
        const outcomes = await world.settled(Promise.allSettled(works));
        expect(outcomes).toEqual(works.map(() => ({ status: 'rejected', reason: overloaded })));
      } finally {
        world.end();
      }
      // All at the same time, not one after the other.
      expect(Math.min(...took)).toBeGreaterThan(4000);
      expect(Math.max(...took)).toBeLessThan(2 * Math.min(...took));
      await release();
      await db.transaction((tx) => add(tx, name));
      expect(await valueOf(name)).toBe(1);
    });

    test('a full disk loses nothing that was stored before or is stored later', async () => {
      const name = await aCounter();
      const [limit] = (await db.dataSource.query('PRAGMA max_page_count')) as { max_page_count: number }[];
      await db.dataSource.query('PRAGMA max_page_count = 1');
      const big = 'x'.repeat(100_000);
      const work = db.transaction(async (tx) => {
        await add(tx, name);
        await tx.execute('INSERT INTO tags (slug, name) VALUES (?, ?)', ['big', big]);
      });
      await expect(work).rejects.toEqual(expect.objectContaining({ reason: 'DATABASE_UNAVAILABLE' }));
      // One that fails of itself, right after.
      await expect(db.transaction(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
      await db.dataSource.query(`PRAGMA max_page_count = ${limit!.max_page_count}`);
      await db.transaction((tx) => add(tx, name));
      const later = await Database.open(database.url, schema);
      const rows = await later.read('SELECT n FROM counters WHERE name = ?', [name]);
      await later.close();
      expect(rows).toEqual([{ n: 1 }]);
    });
  };

  describe('transactions that meet', engine === 'sqlite' ? onSqlite : onServers);
});
