/**
 * @engines sqlite server
 * @tier fault
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ProcedureId } from '../harness/app/app.ts';
import { type Client, type Ending, openClient } from '../harness/app/client.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { aKey, withDatabase } from '../harness/http/load.ts';
import { until } from '../harness/until.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';

// The service is killed while it writes, and what it did not answer is repeated to the one that is started in its place.

const CLIENTS = 4;
/** Calls in a batch, the last of which is a toggle. A batch is answered when all are done: meanwhile, most are stored. */
const CALLS = 10;
/** Until something was stored whose answer was lost: nearly always the first. */
const MOST_ROUNDS = 5;
const TEST_MS = 600_000;

let database: TestDatabase;
let key: string;
let served: ServeProcess;

const start = async (): Promise<void> => {
  // A machine may be too busy to answer ten calls within the usual time.
  const env = { LOG_LEVEL: 'error', REQUEST_TIMEOUT_MS: '60000', MAX_QUEUE_MS: '60000' };
  served = await startServe({ url: database.url, env });
};

describe('repeated requests under faults', () => {
  beforeEach(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
    await start();
  });
  afterEach(async () => {
    await served.stop('SIGKILL');
    await database.drop();
  });

  /** Writes that are sent together, and what came of them. */
  interface Batch {
    calls: [ProcedureId, unknown][];
    headers: { 'Idempotency-Key': string };
    ending?: Ending;
  }

  type Answered = Extract<Ending, { kind: 'answered' }>;
  const isAnswered = (ending: Ending | undefined): ending is Answered =>
    ending?.kind === 'answered' && ending.status === 200;
  /** @throws Error unless all calls succeeded */
  const outputsOf = ({ ending }: Batch): { id: string; favorited: boolean }[] => {
    if (!isAnswered(ending)) throw new Error(`not answered: ${JSON.stringify(ending)}`);
    return JSON.parse(ending.text).map((one: { result: { data: { json: unknown } } }) => one.result.data.json);
  };

  /** The games that a batch was told of, of which some calls may have been refused. */
  const answeredGames = ({ ending }: Batch): string[] =>
    ending?.kind === 'answered' ? [...ending.text.matchAll(/"json":\{"id":"([^"]+)"/g)].map(([, id = '']) => id) : [];

  /** Writes as fast as it goes, until the connection breaks. */
  const write = async (client: Client, next: () => Batch, batches: Batch[]): Promise<void> => {
    for (;;) {
      const batch = next();
      batches.push(batch);
      batch.ending = await client.batch(batch.calls, batch.headers);
      if (batch.ending.kind !== 'answered') return;
    }
  };

  const countGames = (): Promise<number> =>
    withDatabase(database.url, async (db) => {
      const [row] = await db.read<{ n: number }>("SELECT COUNT(*) AS n FROM games WHERE title LIKE 'made %'");
      return row?.n ?? 0;
    });

  test(
    'what was stored without an answer is answered when it is repeated, and stored once',
    async () => {
      const batches: Batch[] = [];
      const setUp = openClient(served.base, key);
      const toggled: string[] = [];
      for (let n = 0; n < CLIENTS; n += 1) {
        const ending = (await setUp.call('game.create', { title: `toggled ${n}` })) as Answered;
        toggled.push(JSON.parse(ending.text).result.data.json.id);
      }
      setUp.close();

      let lost = 0;
      for (let round = 1; lost === 0 && round <= MOST_ROUNDS; round += 1) {
        const clients = Array.from({ length: CLIENTS }, () => openClient(served.base, key));
        const running = clients.map((client, caller) => {
          let n = 0;
          const next = (): Batch => {
            n += 1;
            const creates = Array.from({ length: CALLS - 1 }, (_, index): [ProcedureId, unknown] => [
              'game.create',
              { title: `made ${round} ${caller} ${n} ${index}`, tagNames: ['killed'] },
            ]);
            // Each client toggles a game of its own.
            const calls: Batch['calls'] = [...creates, ['game.toggleFavorite', { gameId: toggled[caller] }]];
            return { calls, headers: { 'Idempotency-Key': `${round} ${caller} ${n}` } };
          };
          return write(client, next, batches);
        });
        await until(async () => (await countGames()) > batches.flatMap(answeredGames).length);
        await served.stop('SIGKILL');
        await Promise.all(running);
        for (const client of clients) client.close();

        lost += (await countGames()) - batches.flatMap(answeredGames).length;
        await start();
        const client = openClient(served.base, key);
        for (const batch of batches) {
          const before = batch.ending;
          batch.ending = await client.batch(batch.calls, batch.headers);
          if (isAnswered(before)) expect(batch.ending).toMatchObject({ text: before.text });
        }
        client.close();
      }
      expect(lost).toBeGreaterThan(0);

      const made = batches.flatMap((batch) => outputsOf(batch).slice(0, -1));
      expect(new Set(made.map(({ id }) => id)).size).toBe(made.length);
      expect(await countGames()).toBe(made.length);
      for (const gameId of toggled) {
        const toggles = batches.filter(({ calls }) => (calls.at(-1)![1] as { gameId: string }).gameId === gameId);
        const added = toggles.filter((batch) => outputsOf(batch).at(-1)?.favorited);
        expect(added).toHaveLength(Math.ceil(toggles.length / 2));
      }
      await withDatabase(database.url, expectExactCounts);
    },
    TEST_MS,
  );
});
