/**
 * @engines all
 * @tier long
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { IDEMPOTENCY_HOURS } from '../../../contract/index.ts';
import type { Parameter, Reader, Transaction } from '../../../src/db/connection.ts';
import { Database } from '../../../src/db/database.ts';
import { managerOn } from '../../../src/db/manager.ts';
import { storedIdToBytes, timeToDb } from '../../../src/db/values.ts';
import { idempotentCall } from '../../../src/auth/idempotency/call.ts';
import { SWEPT_AT_ONCE as AT_ONCE, sweepRecords } from '../../../src/auth/idempotency/records.ts';
import { gameKind } from '../../../src/game/kind.ts';
import { schema } from '../../../src/app/schema.ts';
import { type Reply, startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { storedRows } from '../../harness/documents/stored-rows.ts';
import { callOf } from '../../harness/app/call.ts';
import { expectExactCounts } from '../../harness/app/counts.ts';
import { connectionOptions, createDatabase, engine } from '../../harness/app/database.ts';
import { type Gate, startGate } from '../../harness/servers/gate.ts';
import { anInput, idMember, isReplay, repeating, repetitionOf, writes } from '../../harness/documents/repeating.ts';

// What is stored of writes that may be repeated: how they meet, what it costs, and how it goes away.

let app: TestApp;
/** Another instance on the same database. */
let other: TestApp;
let user: TestUser;

describe('interrupted writes', () => {
  beforeAll(async () => {
    app = await startApp();
    other = await startApp({ databaseUrl: app.databaseUrl });
    user = await app.aUser();
  });
  afterAll(async () => {
    await other.stop();
    await app.stop();
  });
  afterEach(() => expectExactCounts(app.context.db));

  const statusOf = ({ status }: Reply): number => status;

  /** Locks what a write of the user's needs, and the record with this id, until the returned function is called. */
  const holdUp = async (id: string): Promise<() => Promise<void>> => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let holding = (): void => undefined;
    const isHeld = new Promise<void>((resolve) => (holding = resolve));
    const work = app.context.db.transaction(async (tx) => {
      for (const table of ['games', 'image_posts']) {
        await tx.read(`SELECT 1 AS one FROM ${table} WHERE id = ? ${tx.dialect.forUpdate}`, [storedIdToBytes(id)]);
      }
      await tx.execute('UPDATE users SET updated_at = updated_at WHERE id = ?', [storedIdToBytes(user.id)]);
      holding();
      await released;
    });
    await isHeld;
    return async () => {
      release();
      await work;
    };
  };

  describe.each(writes)('$id that is held up', (operation) => {
    const { id } = operation;

    test('has the second one refused at once, in the same process', async () => {
      const input = await anInput(app, operation, user);
      const value = randomUUID();
      const send = (key = value) => app.send(id, input, user.key, repeating(key));
      const release = await holdUp((input[idMember(operation) ?? ''] ?? user.id) as string);
      const sent = [send(), send(), send()];
      // Whichever comes first waits for the database; the others are told.
      const refused = await Promise.any(
        sent.map(async (reply) => {
          const { status } = await reply;
          if (status === 200) throw new Error('it was to wait');
          return reply;
        }),
      );
      expect(refused.body.error.json.data).toMatchObject({ httpStatus: 409, reason: 'IDEMPOTENCY_IN_PROGRESS' });
      expect(refused.headers).toMatchObject({ 'retry-after': '1', 'x-should-retry': 'true' });
      await release();
      await Promise.all(sent);
      const again = await send();
      expect([again.status, isReplay(again)]).toEqual([200, true]);
    });

    test('has the second one wait for its answer, in another process', async () => {
      const input = await anInput(app, operation, user);
      const headers = repeating(randomUUID());
      const release = await holdUp((input[idMember(operation) ?? ''] ?? user.id) as string);
      const both = [app, other].map((instance) => instance.send(id, input, user.key, headers));
      await release();
      const replies = await Promise.all(both);
      expect(replies.map(statusOf)).toEqual([200, 200]);
      const [repetition, ...others] = replies.filter(isReplay);
      expect(others).toEqual([]);
      const first = replies.find((reply) => !isReplay(reply))!;
      expect(JSON.stringify(repetition!.body)).toBe(repetitionOf(JSON.stringify(first.body)));
    });
  });

  /** The numbers of statements of the transactions that `work` runs. */
  const statementsOf = async (work: () => Promise<unknown>): Promise<number[]> => {
    const { db } = app.context;
    const original = db.transaction;
    const counts: number[] = [];
    const transaction: typeof original = (inner, ...rest) =>
      original.call(
        db,
        (tx: Transaction) => {
          const index = counts.push(0) - 1;
          const counted =
            <A extends unknown[], R>(run: (...args: A) => R) =>
            (...args: A): R => {
              counts[index]! += 1;
              return run(...args);
            };
          return inner({ ...tx, read: counted(tx.read) as typeof tx.read, execute: counted(tx.execute) });
        },
        ...rest,
      ) as never;
    db.transaction = transaction;
    try {
      await work();
    } finally {
      db.transaction = original;
    }
    return counts;
  };

  /** On shards, a statement holds the rows that others refer to; elsewhere, foreign keys do. */
  const held = (): number => (app.context.db.dialect.isSharded ? 1 : 0);

  test('a repeatable write costs two statements more, its repetition two, and any other none', async () => {
    const { id: gameId } = await app.aGame({}, user);
    const value = randomUUID();
    const toggle = (headers?: Record<string, string>) => app.send('game.toggleFavorite', { gameId }, user.key, headers);
    await app.context.auth.keys.flush();
    expect(await statementsOf(() => toggle())).toEqual([4 + held()]);
    // It takes the favorite back, and so refers to no user.
    expect(await statementsOf(() => toggle(repeating(value)))).toEqual([6]);
    // The answer, and whether its record is there.
    expect(await statementsOf(() => toggle(repeating(value)))).toEqual([2]);
    const create = (headers?: Record<string, string>) =>
      app.send('game.create', { title: 'a game' }, user.key, headers);
    const [usual = 0] = await statementsOf(() => create());
    expect(await statementsOf(() => create(repeating(value)))).toEqual([usual + 2]);
    expect(await statementsOf(() => create(repeating(value)))).toEqual([2]);
  });

  test('toggles that meet are looked up and remembered together', async () => {
    const { id: gameId } = await app.aGame({}, user);
    const fans = await Promise.all(Array.from({ length: 8 }, () => app.aUser()));
    const described = { key: 'together', operation: 'game.toggleFavorite', position: 0, encode: JSON.stringify };
    const toggleAll = () =>
      Promise.allSettled(
        fans.map(({ id, keyId: apiKeyId }) => {
          const call = idempotentCall({ ...described, apiKeyId, userId: id, input: () => ({ gameId }) });
          return app.context.routers.game.toggles.favorite(
            gameKind,
            gameId,
            { ...callOf(id), idempotent: call },
            (state) => state,
          );
        }),
      );
    await app.context.auth.keys.flush();
    expect(await statementsOf(toggleAll)).toEqual([6 + held(), 6 + held()]);
    expect(await statementsOf(toggleAll)).toEqual([2, 2]);
    expect(await app.call('game.getById', { id: gameId })).toMatchObject({ favoriteCount: fans.length });
    const outcomes = await toggleAll();
    expect(outcomes).toEqual(
      fans.map((_, index) => ({
        status: 'rejected',
        reason: expect.objectContaining({ answer: JSON.stringify({ favorited: true, favoriteCount: index + 1 }) }),
      })),
    );
  });

  const onServers = (): void => {
    let gate: Gate;
    let far: TestApp;
    let caller: TestUser;
    beforeAll(async () => {
      far = await startApp({
        reach: async (url) => {
          gate = await startGate(url);
          return gate.url;
        },
      });
      caller = await far.aUser();
    });
    afterAll(async () => {
      await far.stop();
      await gate.close();
    });

    /** Loses the answer to the first commit that comes while `work` runs. */
    const losingCommit = async <T>(work: () => Promise<T>): Promise<T> => {
      const { db } = far.context;
      const original = db.transaction;
      let isLost = false;
      db.transaction = ((inner: (tx: Transaction) => Promise<unknown>, ...rest: never[]) =>
        original.call(
          db,
          async (tx) => {
            const result = await inner(tx);
            if (isLost) return result;
            isLost = true;
            gate.lose();
            setTimeout(() => gate.open(), 30);
            return result;
          },
          ...rest,
        )) as never;
      try {
        return await work();
      } finally {
        db.transaction = original;
      }
    };

    test.each(writes)('is found out by the service itself, of $id', async (operation) => {
      const { id } = operation;
      const input = await anInput(far, operation, caller);
      const headers = repeating(randomUUID());
      await Promise.all([far.context.auth.keys.flush(), far.context.auth.uses?.flush()]);
      const reply = await losingCommit(() => far.send(id, input, caller.key, headers));
      expect(reply.status).toBe(200);
      const again = await far.send(id, input, caller.key, headers);
      // A server that is slow to commit answers after the gate is open again: then the reply shows a secret.
      const answer = JSON.parse(repetitionOf(JSON.stringify(reply.body))) as unknown;
      expect([again.status, isReplay(again), again.body]).toEqual([200, true, answer]);
      await expectExactCounts(far.context.db);
    });

    test('is told to callers who sent no key', async () => {
      await Promise.all([far.context.auth.keys.flush(), far.context.auth.uses?.flush()]);
      const reply = await losingCommit(() => far.send('game.create', { title: 'unknown' }, caller.key));
      expect(reply.body.error.json.data.reason).toBe('OUTCOME_UNKNOWN');
      expect(reply.headers['x-should-retry']).toBe('false');
    });
  };

  if (engine !== 'sqlite') describe('a commit whose answer is lost', onServers);

  describe('a write that is stored, and whose time is over before that is known', () => {
    // The service must be able to start within it, too, on a machine that is busy.
    const TIME_MS = 1000;
    let late: TestApp;
    let caller: TestUser;
    beforeAll(async () => {
      late = await startApp({ requestTimeoutMs: TIME_MS });
      caller = await late.aUser();
      await late.context.auth.keys.flush();
    });
    afterAll(() => late.stop());

    /** All that callers have stored, and how often it was changed. */
    const stored = (): Promise<unknown> =>
      Promise.all(
        ['games', 'image_posts', 'users', 'tags', 'game_favorites', 'game_reactions', 'image_post_favorites'].map(
          async (table) => [table, await storedRows(late.context.db, table)],
        ),
      );

    test.each(writes)('is answered when it is repeated, and not done again: $id', async (operation) => {
      const { id } = operation;
      const input = await anInput(late, operation, caller);
      const headers = repeating(randomUUID());
      const { db } = late.context;
      const original = db.transaction;
      let noteStored = (): void => undefined;
      const isStored = new Promise<true>((resolve) => (noteStored = () => resolve(true)));
      let after: unknown;
      db.transaction = (async (...args: never[]) => {
        const result = await original.apply(db, args as never);
        noteStored();
        after ??= await stored();
        await sleep(TIME_MS + 200);
        return result;
      }) as never;
      try {
        // A slow machine may reach the end of the time before the write is stored.
        let first = late.send(id, input, caller.key, headers);
        while (!(await Promise.race([isStored, first.then(() => false)]))) {
          first = late.send(id, input, caller.key, headers);
        }
        const meanwhile = await late.send(id, input, caller.key, headers);
        expect(meanwhile.body.error.json.data.reason).toBe('IDEMPOTENCY_IN_PROGRESS');
        // Whatever it is told, it is not that nothing was stored.
        expect(['OUTCOME_UNKNOWN', undefined]).toContain((await first).body.error?.json.data.reason);
      } finally {
        db.transaction = original;
      }
      const again = await late.send(id, input, caller.key, headers);
      expect([again.status, isReplay(again)]).toEqual([200, true]);
      expect(after).toBeDefined();
      expect(await stored()).toEqual(after);
      await expectExactCounts(db);
    });
  });

  test('an answer is repeated as it was stored, whatever this version would write', async () => {
    const value = randomUUID();
    const send = () => app.send('game.create', { title: 'of an earlier version' }, user.key, repeating(value));
    const { body } = await send();
    const { title, ...rest } = body.result.data.json;
    const answer = JSON.stringify({ result: { data: { json: { formerMember: 1, ...rest, title: `${title}!` } } } });
    const { db } = app.context;
    await db.transaction((tx) =>
      tx.execute('UPDATE idempotency_records SET answer = ? WHERE answer LIKE ?', [answer, `%${rest.id}%`]),
    );
    const again = await send();
    expect([again.status, isReplay(again), JSON.stringify(again.body)]).toEqual([200, true, answer]);
  });

  describe('records', () => {
    const HOUR_MS = 3_600_000;
    const KEPT_MS = IDEMPOTENCY_HOURS * HOUR_MS;
    const now = new Date();
    const expiredAt = new Date(now.getTime() - KEPT_MS - 1);
    let db: Database;
    let url: string;
    let drop: () => Promise<void>;

    beforeAll(async () => {
      const database = await createDatabase();
      ({ url, drop } = database);
      db = await Database.open(url, schema);
      await db.migrate();
    });
    afterAll(async () => {
      await db.close();
      await drop();
    });

    const insert = (n: number, time: Date): Promise<void> =>
      db.transaction(async (tx) => {
        for (let index = 0; index < n; index += 1) {
          const hash = Buffer.from(randomUUID().replaceAll('-', ''));
          await tx.execute(
            'INSERT INTO idempotency_records (created_at, call_hash, input_hash, answer) VALUES (?, ?, ?, ?)',
            [timeToDb(time), hash, hash, '{}'],
          );
        }
      });
    const count = async (): Promise<number> =>
      (await db.read<{ n: number }>('SELECT COUNT(*) AS n FROM idempotency_records'))[0]!.n;
    afterEach(async () => {
      await db.transaction((tx) => tx.execute('DELETE FROM idempotency_records'));
    });

    test('that have expired are removed, some at a time, and no others', async () => {
      await insert(2 * AT_ONCE + 1, expiredAt);
      await insert(3, new Date(now.getTime() - KEPT_MS));
      await insert(1, now);
      const left: number[] = [];
      for (let isMore = true; isMore; left.push(await count())) isMore = await sweepRecords(db, now);
      expect(left).toEqual([AT_ONCE + 5, 5, 4]);
      expect(await sweepRecords(db, now)).toBe(false);
      expect(await count()).toBe(4);
    });

    test('are found by their index, without looking at any that is left', async () => {
      await insert(300, now);
      const seen: [string, Parameter[]][] = [];
      const see = (sql: string, parameters: readonly Parameter[] = []): void => void seen.push([sql, [...parameters]]);
      const one = [{ IdempotencyRecord_created_at: timeToDb(now), IdempotencyRecord_call_hash: Buffer.alloc(32) }];
      const read: Reader['read'] = async (sql, parameters) => (see(sql, parameters), one as never);
      await sweepRecords(
        {
          manager: managerOn(db.manager.dataSource, { read, execute: async () => 0 }),
          transaction: (work) =>
            db.transaction((tx) => work({ ...tx, execute: async (sql, parameters) => (see(sql, parameters), 1) })),
        },
        now,
      );
      expect(seen).toHaveLength(2);
      if (engine === 'sqlite') {
        for (const [sql, parameters] of seen) {
          const plan = await db.read<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, parameters);
          expect(plan.map(({ detail }) => detail)).toEqual([
            expect.stringMatching(/^SEARCH (?:idempotency_records|IdempotencyRecord) USING (COVERING )?INDEX /),
          ]);
        }
        return;
      }
      const connection = await createConnection(connectionOptions(new URL(url)));
      for (const [sql, parameters] of seen) {
        await connection.query('FLUSH STATUS');
        await connection.execute(sql, parameters);
        const [rows] = await connection.query<RowDataPacket[]>("SHOW SESSION STATUS LIKE 'Handler_read%'");
        expect(rows.reduce((sum, row) => sum + Number(row['Value']), 0)).toBeLessThanOrEqual(2);
      }
      await connection.end();
    });
  });
});
