/**
 * @engines sqlite server
 * @tier long
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { procedures } from '../../contract/index.ts';
import { RetryTransaction } from '../../src/db/connection.ts';
import { getRecord } from '../../src/content/service.ts';
import { metricSources } from '../../src/app/context.ts';
import { Metrics } from '../../src/telemetry/metrics/metrics.ts';
import { type CallObservation, type Observer, unobserved } from '../../src/base/observer.ts';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { anonymousCall } from '../harness/app/call.ts';
import { engine } from '../harness/app/database.ts';
import { type Sample, samplesOf, sumsBy } from '../harness/documents/metrics.ts';
import { fill } from '../harness/app/overload.ts';

// What is measured of calls and of what they ask the database, on each engine.

/** The pools of transactions, and of reads. */
const WRITER = engine === 'sqlite' ? 'writer' : 'calls.writes';
const READERS = engine === 'sqlite' ? ['lookups', 'threads'] : ['calls.reads'];

describe('database metrics', () => {
  describe('metrics', () => {
    const metrics = new Metrics();
    let app: TestApp;
    let user: TestUser;
    let id: string;

    beforeAll(async () => {
      // More than this file sends, but for the callers of one network.
      app = await startApp({ observer: metrics.observer, rates: 'anonymous=200,read=10000,write=1000,work=1000000' });
      metrics.addSources(metricSources(app.context));
      user = await app.aUser();
      ({ id } = await app.aGame({}, user));
    });
    afterAll(() => app.stop());

    const look = async (): Promise<Sample[]> => samplesOf(await metrics.text());
    /** By how much the sums of a metric rise while `work` is done. */
    const rises = async (
      name: string,
      labels: string[],
      work: () => Promise<unknown>,
    ): Promise<Record<string, number>> => {
      const before = sumsBy(await look(), name, ...labels);
      await work();
      const after = Object.entries(sumsBy(await look(), name, ...labels));
      return Object.fromEntries(after.map(([key, n]) => [key, n - (before[key] ?? 0)]).filter(([, n]) => n !== 0));
    };

    test('a write that is repeated is counted as one that was answered before', async () => {
      const repeat = async () => {
        const body = { title: 'Once', description: 'x', gameType: 'ADV', isFree: true };
        for (let n = 0; n < 3; n += 1) {
          const { status } = await app.send('game.create', body, user.key, { 'Idempotency-Key': 'once' });
          expect(status).toBe(200);
        }
      };
      expect(await rises('idempotent_replays_total', ['procedure'], repeat)).toEqual({ 'game.create': 2 });
    });

    test('a view is buffered until it is stored', async () => {
      await app.context.routers.game.views.buffer.flush();
      await app.call('game.getById', { id });
      expect(sumsBy(await look(), 'buffered_changes', 'buffer')).toMatchObject({ game_views: 1 });
      await app.context.routers.game.views.buffer.flush();
      expect(sumsBy(await look(), 'buffered_changes', 'buffer')).not.toHaveProperty('game_views');
    });

    test('a key is found in the database once, then remembered', async () => {
      const { key } = await app.aUser();
      const work = async () => {
        for (let n = 0; n < 4; n += 1) await app.call('user.me', {}, key);
      };
      const { 'keys hit': hits = 0, 'keys miss': misses = 0 } = await rises(
        'cache_lookups_total',
        ['cache', 'outcome'],
        work,
      );
      // It is believed for half a second, which may end between two of them.
      expect(hits + misses).toBe(4);
      expect(misses).toBeGreaterThan(0);
    });

    test('reads that wait together are counted, and so are their queries', async () => {
      const work = () =>
        Promise.all(Array.from({ length: 40 }, () => getRecord(app.context.routers.game, id, anonymousCall())));
      const reads = async () => {
        const batches = await rises('coalesced_batches_total', ['reads'], work);
        expect(batches['games.records']).toBeLessThan(10);
      };
      expect(await rises('coalesced_reads_total', ['reads'], reads)).toEqual({ 'games.records': 40 });
    });

    test('an equal list that waits is joined', async () => {
      const lists = () =>
        Promise.all(Array.from({ length: 20 }, () => app.http.post('/api/trpc/game.list').send(PAGE)));
      const { made = 0, joined = 0 } = await rises('shared_reads_total', ['outcome'], lists);
      expect(made + joined).toBe(20);
      expect(joined).toBeGreaterThan(0);
    });

    test('a transaction waits for a connection once, and runs its statements and a COMMIT', async () => {
      // SQLite has one writer, for what is stored later on, too.
      await Promise.all([app.context.auth.keys.flush(), app.context.routers.game.views.buffer.flush()]);
      const run = () => app.context.db.transaction((tx) => tx.read('SELECT 1'));
      const waits = () => rises('database_wait_seconds_count', ['pool'], run);
      // Other pools serve what looks for events meanwhile.
      expect(await rises('database_statement_duration_seconds_count', ['pool'], waits)).toMatchObject({ [WRITER]: 2 });
      expect(await waits()).toMatchObject({ [WRITER]: 1 });
      const connections = sumsBy(await look(), 'database_connections', 'pool', 'state');
      expect(connections).toMatchObject({ [`${WRITER} idle`]: expect.any(Number) });
      expect(connections).not.toHaveProperty(`${WRITER} used`);
    });

    test('a transaction that lost is counted when it is run again', async () => {
      let runs = 0;
      const run = () =>
        app.context.db.transaction(async (tx) => {
          await tx.read('SELECT 1');
          runs += 1;
          if (runs < 3) throw new RetryTransaction();
        });
      expect(await rises('database_retries_total', ['cause'], run)).toEqual({ conflict: 2 });
    });

    test('a statement that fails is counted', async () => {
      const run = () => expect(app.context.db.read('SELECT nothing FROM nowhere')).rejects.toThrow();
      const failed = await rises('database_statement_failures_total', ['pool'], run);
      expect(Object.keys(failed)).toHaveLength(1);
      expect(READERS).toContain(Object.keys(failed)[0]);
      expect(Object.values(failed)).toEqual([1]);
    });

    test('what is refused because of overload is counted by its class, and as a call', async () => {
      const procedure = procedures.find((one) => one.id === 'user.me')!;
      const crowded = await startApp({ settings: { MAX_QUEUE_MS: '0' }, observer: metrics.observer });
      const limiter = crowded.context.protection.overload.limiterFor(procedure, 'read');
      const { key } = await crowded.aUser();
      let end!: () => void;
      const full = fill(limiter, new Promise<void>((resolve) => (end = resolve)));
      const call = () => crowded.fail('user.me', {}, 503, key);
      const calls = () => rises('calls_total', ['procedure', 'reason'], call);
      const shed = await rises('shed_total', ['limiter'], calls);
      expect(shed).toEqual({ early: 1 });
      expect(await calls()).toEqual({ 'user.me OVERLOADED': 1 });
      // The path of a batch does not tell.
      const batch = () =>
        crowded.http.post('/api/trpc/user.me,user.me?batch=1').set('Authorization', `Bearer ${key}`).send({});
      expect(await rises('shed_total', ['limiter'], async () => expect((await batch()).status).toBe(503))).toEqual({
        'user.record': 2,
      });
      const usage = await look();
      expect(sumsBy(usage, 'limiter_running', 'limiter')['user.record']).toBeGreaterThan(1000);
      expect(sumsBy(usage, 'limiter_waiting', 'limiter')['user.record'] ?? 0).toBe(0);
      end();
      await full;
      await crowded.stop();
      expect(sumsBy(await look(), 'limiter_running', 'limiter')).toEqual({});
    });

    test('who is refused by a limit is counted by it', async () => {
      const ask = async () => {
        let refused = 0;
        for (let n = 0; n < 400 && refused < 3; n += 1) {
          const { status } = await app.http.post('/api/trpc/game.list').send(PAGE);
          if (status === 429) refused += 1;
        }
      };
      expect(await rises('rate_limit_refusals_total', ['policy'], ask)).toEqual({ anonymous: 3 });
    });
  });

  const PAGE = { json: { limit: 1, page: 1 } };

  test('an observer finds the statements of a call in its context, and each call in that of its request', async () => {
    const request = new AsyncLocalStorage<string>();
    const call = new AsyncLocalStorage<string>();
    let statements: { sql: string; of: string | undefined }[] = [];
    let calls: { procedure: string | undefined; of: string | undefined }[] = [];
    let open = 0;
    const nothing = () => undefined;
    const observer: Observer = {
      requests: {
        begin: ({ url = '' }) => ({ within: (work) => request.run(url, work), end: nothing }),
        unreadable: nothing,
      },
      calls: {
        begin: (procedure): CallObservation => {
          calls.push({ procedure, of: request.getStore() });
          return { ...unobserved, within: (work) => call.run(procedure ?? '', work) };
        },
        replayed: nothing,
        shared: nothing,
      },
      overload: { limiter: () => ({ began: nothing, refused: nothing }), shed: nothing },
      database: {
        pool: () => ({
          waited: nothing,
          statement: (sql) => {
            statements.push({ sql, of: call.getStore() });
            open += 1;
            return { sent: nothing, end: () => (open -= 1) };
          },
        }),
        failed: nothing,
        retried: nothing,
        coalesced: () => nothing,
      },
      limited: nothing,
    };
    const app = await startApp({ observer });
    try {
      const author = await app.aUser();
      const { id } = await app.aGame({}, author);
      // Their views and uses are stored by nobody's call.
      await app.context.auth.keys.flush();
      const works: [string, () => Promise<unknown>][] = [
        ['game.list', () => app.call('game.list', PAGE.json)],
        ['game.getById', () => app.call('game.getById', { id })],
        ['game.toggleFavorite', () => app.call('game.toggleFavorite', { gameId: id }, author.key)],
        ['user.me', () => app.call('user.me', {}, author.key)],
      ];
      for (const [procedure, work] of works) {
        statements = [];
        calls = [];
        await work();
        expect(calls).toEqual([{ procedure, of: `/api/trpc/${procedure}` }]);
        const own = statements.filter(({ of }) => of === procedure);
        expect([procedure, own.length > 0]).toEqual([procedure, true]);
        // The others are those of no call at all.
        expect(statements.filter(({ of }) => of !== procedure && of !== undefined)).toEqual([]);
        if (procedure === 'game.toggleFavorite') expect(own.at(-1)).toEqual({ sql: 'COMMIT', of: procedure });
      }
    } finally {
      await app.stop();
    }
    // Each of them has ended, once.
    expect(open).toBe(0);
  });
});
