/**
 * @engines all second-server
 * @tier long
 * @skipOnVitess at the deadline a transaction that loses again: Vitess takes no CREATE PROCEDURE, by which the test
 *   has a deadlock reported.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import type { Transaction } from '../../src/db/connection.ts';
import { Database } from '../../src/db/database.ts';
import { Deadline } from '../../src/base/deadline.ts';
import { schema } from '../../src/app/schema.ts';
import { connectionOptions, createDatabase, engine, type TestDatabase } from '../harness/app/database.ts';
import { beneath } from '../harness/servers/vitess.ts';
import { type Gate, startGate } from '../harness/servers/gate.ts';
import { startProxy } from '../harness/servers/proxy.ts';

// What becomes of work in the database when its time is over.

let database: TestDatabase;
let db: Database;
let rival: Connection;
let watcher: Connection;

beforeAll(async () => {
  database = await createDatabase();
  db = await Database.open(database.url, schema);
  await db.migrate();
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

const reason = (name: string) => expect.objectContaining({ reason: name });
let serial = 0;

const aCounter = async (): Promise<string> => {
  serial += 1;
  const name = `deadline ${serial}`;
  await db.transaction((tx) => tx.execute('INSERT INTO counters (name, n) VALUES (?, 0)', [name]));
  return name;
};
const valueOf = async (name: string): Promise<number | undefined> =>
  (await db.read<{ n: number }>('SELECT n FROM counters WHERE name = ?', [name]))[0]?.n;

/** How long `work` took to fail, in milliseconds. */
const timeToFail = async (work: Promise<unknown>, why: string): Promise<number> => {
  const began = performance.now();
  await expect(work).rejects.toEqual(reason(why));
  return performance.now() - began;
};

const onServers = (): void => {
  beforeAll(async () => {
    rival = await createConnection(connectionOptions(new URL(database.url)));
    // Vitess itself lists nothing of what the MySQL below runs.
    watcher = await createConnection(connectionOptions(beneath(database.url)));
  });
  afterAll(async () => {
    await rival.end();
    await watcher.end();
  });

  /** What the server runs that matches, in this database. */
  const running = async (pattern: RegExp): Promise<string[]> => {
    const [rows] = await watcher.query<RowDataPacket[]>('SHOW FULL PROCESSLIST');
    return rows
      .filter(
        ({ db: name, Id }) => name === connectionOptions(new URL(database.url)).database && Id !== watcher.threadId,
      )
      .map(({ Info }) => String(Info))
      .filter((text) => pattern.test(text));
  };
  const untilNothingRuns = async (pattern: RegExp): Promise<void> => {
    while ((await running(pattern)).length > 0) await sleep(10);
  };
  const untilItRuns = async (pattern: RegExp, n = 1): Promise<void> => {
    while ((await running(pattern)).length < n) await sleep(5);
  };

  describe('a read', () => {
    // From a table, since Vitess sleeps by itself where there is none.
    beforeAll(aCounter);

    test('is over at its deadline, for its caller and in the database', async () => {
      const took = await timeToFail(
        db.read('SELECT SLEEP(1000) AS first FROM counters LIMIT 1', [], new Deadline(300)),
        'TIMEOUT',
      );
      expect(took).toBeGreaterThan(250);
      await untilNothingRuns(/first/);
    });

    test('is over when nobody waits for it any more', async () => {
      const deadline = new Deadline(20_000);
      const work = timeToFail(db.read('SELECT SLEEP(1000) AS second FROM counters LIMIT 1', [], deadline), 'TIMEOUT');
      await untilItRuns(/second/);
      deadline.end();
      await work;
      await untilNothingRuns(/second/);
    });

    test('that is broken off leaves a connection that works, and hits no other', async () => {
      const connections = async (): Promise<number> =>
        Number((await rival.query<RowDataPacket[]>("SHOW STATUS LIKE 'Connections'"))[0][0]!['Value']);
      await Promise.all(Array.from({ length: 24 }, () => db.read('SELECT SLEEP(0.05)')));
      const before = await connections();
      const outcomes: string[] = [];
      const broken = async (n: number): Promise<void> => {
        for (let turn = 0; turn < 40; turn += 1) {
          // The statement ends about when it is broken off.
          const work = db.read('SELECT SLEEP(0.01)', [], new Deadline(8 + ((n + turn) % 6)));
          outcomes.push(
            await work.then(
              () => 'done',
              (error: { reason: string }) => error.reason,
            ),
          );
          // Whoever comes next must not be hit. SLEEP would say 1 when it was.
          expect(await db.read('SELECT SLEEP(0.001) AS hit')).toEqual([{ hit: 0 }]);
        }
      };
      await Promise.all(Array.from({ length: 12 }, (_, n) => broken(n)));
      expect(new Set(outcomes)).toEqual(new Set(['done', 'TIMEOUT']));
      // A connection is closed only where its statement could not be broken off within a second, as on a machine that
      // stood still for so long; then all that were in use are.
      const breaks = outcomes.filter((outcome) => outcome === 'TIMEOUT').length;
      expect((await connections()) - before).toBeLessThan(breaks / 3);
    });

    test('waits for a connection until its deadline only, and keys and health are not kept waiting', async () => {
      // Each another one: Vitess runs what is alike once for all.
      const end = new Deadline(1_000_000);
      const long = Array.from({ length: 24 }, (_, n) =>
        db.read('SELECT SLEEP(1000) AS third FROM counters WHERE n > ? LIMIT 1', [-1 - n], end),
      );
      await untilItRuns(/third/, 24);
      await timeToFail(db.read('SELECT 1', [], new Deadline(200)), 'TIMEOUT');
      expect(await db.keys.read('SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await db.ping(new Deadline(500));
      await db.background.transaction((tx) => tx.read('SELECT 1'));
      // As many may wait as can be served in any case.
      const waiting = Array.from({ length: 1000 }, () => db.read('SELECT 1', [], new Deadline(300)));
      await timeToFail(db.read('SELECT 1'), 'OVERLOADED');
      expect(new Set((await Promise.allSettled(waiting)).map(({ status }) => status))).toEqual(new Set(['rejected']));
      end.end();
      await Promise.allSettled(long);
      expect(await db.read('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });
  });

  describe('a transaction', () => {
    const add = (name: string, work?: () => void, deadline?: Deadline) =>
      db.transaction(async (tx) => {
        await tx.execute('INSERT INTO counters (name, n) VALUES (?, 1)', [`${name} too`]);
        work?.();
        await tx.execute('UPDATE counters SET n = n + 1 /* locked */ WHERE name = ?', [name]);
      }, deadline);

    test('that waits for a lock is over at its deadline, has stored nothing and waits for nothing any more', async () => {
      const name = await aCounter();
      await rival.beginTransaction();
      await rival.query('UPDATE counters SET n = 10 WHERE name = ?', [name]);
      await timeToFail(add(name, undefined, new Deadline(500)), 'TIMEOUT');
      await untilNothingRuns(/locked/);
      await rival.commit();
      expect([await valueOf(name), await valueOf(`${name} too`)]).toEqual([10, undefined]);
      await add(name);
      expect([await valueOf(name), await valueOf(`${name} too`)]).toEqual([11, 1]);
    });

    test('that computes at its deadline is rolled back, and its locks are free', async () => {
      const name = await aCounter();
      let finish!: () => void;
      const computed = new Promise<void>((resolve) => (finish = resolve));
      const work = db.transaction(async (tx) => {
        await tx.execute('UPDATE counters SET n = 5 WHERE name = ?', [name]);
        await computed;
        await tx.execute('UPDATE counters SET n = 6 WHERE name = ?', [name]);
      }, new Deadline(200));
      await timeToFail(work, 'TIMEOUT');
      await db.transaction((tx) => tx.execute('UPDATE counters SET n = n + 1 WHERE name = ?', [name]));
      finish();
      expect(await valueOf(name)).toBe(1);
    });

    test('that loses again and again gives up at its deadline', async () => {
      const deadlock = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'";
      await rival.query(`CREATE PROCEDURE lose_again() ${deadlock}`);
      const work = db.transaction((tx) => tx.execute('CALL lose_again()'), new Deadline(400));
      await timeToFail(work, 'TIMEOUT');
    });
  });

  test('what the service is killed in the middle of, the database ends', async () => {
    const bounded = await Database.open(database.url, schema, { statementMs: 2000 });
    const limit = { mariadb: '@@max_statement_time * 1000', vitess: '@@query_timeout' }[engine as string];
    const settings = `SELECT CAST(${limit ?? '@@max_execution_time'} AS SIGNED) AS statement, @@innodb_lock_wait_timeout AS lock_wait`;
    expect(await bounded.read(settings)).toEqual([{ statement: 3000, lock_wait: 3 }]);
    expect(await bounded.transaction((tx) => tx.read(settings))).toEqual([{ statement: 3000, lock_wait: 3 }]);
    // Not given any deadline, it has that of all calls.
    await timeToFail(bounded.read('SELECT SLEEP(1000)'), 'TIMEOUT');
    await bounded.close();
  });

  describe('by way of a network that fails', () => {
    let gate: Gate;
    let far: Database;
    beforeEach(async () => {
      gate = await startGate(database.url);
      far = await Database.open(gate.url, schema);
    });
    afterEach(async () => {
      gate.open();
      await far.close();
      await gate.close();
    });

    /** Adds one, once: the second time it finds that it has. */
    const addOnce = (name: string, before: () => void, deadline?: Deadline, isIdempotent = false) => {
      let attempts = 0;
      const work = far.transaction(
        async (tx) => {
          attempts += 1;
          const [row] = await tx.read<{ n: number }>('SELECT n FROM counters WHERE name = ?', [name]);
          if (row?.n === 0) await tx.execute('UPDATE counters SET n = n + 1 WHERE name = ?', [name]);
          if (attempts === 1) before();
          return attempts;
        },
        deadline,
        { isIdempotent },
      );
      return { work };
    };
    /** So that COMMIT is prepared. */
    const prepare = async (): Promise<void> => {
      await addOnce(await aCounter(), () => undefined).work;
    };

    test('a COMMIT without an answer may have been done', async () => {
      await prepare();
      const name = await aCounter();
      await timeToFail(addOnce(name, gate.lose).work, 'OUTCOME_UNKNOWN');
      while ((await valueOf(name)) !== 1) await sleep(10);
      gate.open();
      expect(await far.read('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });

    test('and is done again, once, by what knows that it was', async () => {
      await prepare();
      const name = await aCounter();
      const lose = (): void => {
        gate.lose();
        setTimeout(gate.open, 100);
      };
      expect(await addOnce(name, lose, new Deadline(5000), true).work).toBe(2);
      expect(await valueOf(name)).toBe(1);
    });

    test('and if that fails, too, nobody says that nothing is stored', async () => {
      await prepare();
      const name = await aCounter();
      await timeToFail(addOnce(name, gate.lose, new Deadline(3000), true).work, 'OUTCOME_UNKNOWN');
      expect(await valueOf(name)).toBe(1);
    });

    test('a COMMIT that is not answered in time may have been done', async () => {
      await prepare();
      const name = await aCounter();
      await timeToFail(addOnce(name, gate.hold, new Deadline(500)).work, 'OUTCOME_UNKNOWN');
      expect(await valueOf(name)).toBe(1);
    });

    test('nobody waits for a server that fell silent beyond their deadline, and all is well when it is back', async () => {
      await Promise.all(Array.from({ length: 30 }, () => far.read('SELECT SLEEP(0.01)')));
      await prepare();
      gate.hold();
      const late = Array.from({ length: 60 }, (_, n) => {
        const deadline = new Deadline(500);
        const work =
          n % 2 === 0
            ? far.read('SELECT 1', [], deadline)
            : far.transaction((tx) => tx.execute('UPDATE counters SET n = 0 WHERE name = ?', ['none']), deadline);
        return timeToFail(work, 'TIMEOUT');
      });
      await Promise.all(late);
      await sleep(1200);
      // What is sent now finds no connection, and hears so long before its deadline.
      for (let n = 0; n < 2; n += 1) {
        const work = far.read('SELECT 1', [], new Deadline(1_000_000));
        await expect(work).rejects.toEqual(reason('DATABASE_UNAVAILABLE'));
      }
      gate.open();
      expect(await far.read('SELECT 1 AS one', [], new Deadline(10_000))).toEqual([{ one: 1 }]);
      await far.transaction((tx) => tx.read('SELECT 1'), new Deadline(10_000));
    });

    test('what is locked by a connection that the network forgets is free again in time', async () => {
      const name = await aCounter();
      const network = await startProxy(database.url);
      const own = await Database.open(network.url, schema, { statementMs: 2000 });
      const add = (tx: Transaction) => tx.execute('UPDATE counters SET n = n + 1 WHERE name = ?', [name]);
      const work = own.transaction(async (tx) => {
        await add(tx);
        network.forget();
        await add(tx);
      }, new Deadline(500));
      await timeToFail(work, 'TIMEOUT');
      await db.transaction(add, new Deadline(5000));
      expect(await valueOf(name)).toBe(1);
      await own.close();
      await network.close();
    });

    test('closing waits for nothing', async () => {
      const own = await Database.open(gate.url, schema);
      await own.read('SELECT 1');
      gate.hold();
      const work = expect(own.read('SELECT 2')).rejects.toEqual(reason('DATABASE_UNAVAILABLE'));
      // The gate stays closed.
      await own.close();
      await work;
    });
  });
};

const onSqlite = (): void => {
  test('what is over before it begins does nothing', async () => {
    const deadline = new Deadline();
    deadline.end();
    await timeToFail(
      db.transaction((tx) => tx.read('SELECT 1'), deadline),
      'TIMEOUT',
    );
  });
};

describe('at the deadline', engine === 'sqlite' ? onSqlite : onServers);
