import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Client, type Ending, openClient } from '../support/client.ts';
import { expectExactCounts } from '../support/counts.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { aKey, withDatabase } from '../support/load.ts';
import { type ServeProcess, startServe } from '../support/program.ts';

// The service is killed at any moment, and what it did not answer is repeated to the one that is started in its place.

const CLIENTS = 16;
/** Until a write was stored whose answer was lost. */
const MOST_ROUNDS = 25;
const TEST_MS = 120_000;

let database: TestDatabase;
let key: string;
let served: ServeProcess;

const start = async (): Promise<void> => {
  served = await startServe({ url: database.url, env: { LOG_LEVEL: 'error' } });
};

beforeEach(async () => {
  database = await createDatabase();
  key = await aKey(database.url);
  await start();
});
afterEach(async () => {
  await served.stop('SIGKILL');
  await database.drop();
});

/** A write, and what came of it. */
interface Write {
  id: 'game.create' | 'game.toggleFavorite';
  input: object;
  headers: { 'Idempotency-Key': string };
  ending?: Ending;
}

type Answered = Extract<Ending, { kind: 'answered' }>;
const isDone = (ending: Ending | undefined): ending is Answered => ending?.kind === 'answered' && ending.status === 200;
const isReplay = (ending: Answered): boolean => ending.headers['idempotency-replayed'] === 'true';
const outputOf = ({ text }: Answered) => JSON.parse(text).result.data.json;

/** Writes as fast as it goes, until the connection breaks. */
const write = async (client: Client, next: () => Write, writes: Write[]): Promise<void> => {
  for (;;) {
    const one = next();
    writes.push(one);
    one.ending = await client.call(one.id, one.input, one.headers);
    if (one.ending.kind !== 'answered') return;
  }
};

test(
  'what was stored without an answer is answered when it is repeated, and stored once',
  async () => {
    const writes: Write[] = [];
    const setUp = openClient(served.base, key);
    const games: string[] = [];
    for (let n = 0; n < CLIENTS; n += 1) {
      games.push(outputOf((await setUp.call('game.create', { title: `toggled ${n}` })) as Answered).id);
    }
    setUp.close();

    let lostAnswers = 0;
    for (let round = 1; lostAnswers === 0 && round <= MOST_ROUNDS; round += 1) {
      const clients = Array.from({ length: CLIENTS }, () => openClient(served.base, key));
      const running = clients.map((client, caller) => {
        let n = 0;
        const next = (): Write => {
          n += 1;
          const headers = { 'Idempotency-Key': `${round} ${caller} ${n}` };
          // Each toggles a game of its own, so that its favorites alternate.
          return n % 2 === 0
            ? { id: 'game.toggleFavorite', input: { gameId: games[caller] }, headers }
            : { id: 'game.create', input: { title: `game ${round} ${caller} ${n}`, tagNames: ['killed'] }, headers };
        };
        return write(client, next, writes);
      });
      await sleep(100 + 30 * round);
      await served.stop('SIGKILL');
      await Promise.all(running);
      for (const client of clients) client.close();

      await start();
      const client = openClient(served.base, key);
      for (const one of writes.filter(({ ending }) => !isDone(ending))) {
        one.ending = await client.call(one.id, one.input, one.headers);
        expect(one.ending).toMatchObject({ kind: 'answered', status: 200 });
        if (isReplay(one.ending as Answered)) lostAnswers += 1;
      }
      client.close();
    }
    expect(lostAnswers).toBeGreaterThan(0);

    const answers = new Map(writes.map((one) => [one, outputOf(one.ending as Answered)]));
    const made = writes.filter(({ id }) => id === 'game.create').map((one) => answers.get(one).id as string);
    expect(new Set(made).size).toBe(made.length);
    for (const gameId of games) {
      const toggles = writes.filter(({ input }) => 'gameId' in input && input.gameId === gameId);
      expect(toggles.map((one) => answers.get(one).favorited)).toEqual(toggles.map((_, index) => index % 2 === 0));
    }
    await withDatabase(database.url, async (db) => {
      const [row] = await db.read<{ n: number }>("SELECT COUNT(*) AS n FROM games WHERE title LIKE 'game %'");
      expect(row?.n).toBe(made.length);
      await expectExactCounts(db);
    });
  },
  TEST_MS,
);
