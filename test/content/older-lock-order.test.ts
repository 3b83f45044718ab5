/**
 * @engines server
 * @tier fast
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { storedIdToBytes } from '../../src/db/values.ts';
import { startApp, type TestApp, type TestUser } from '../harness/app/app.ts';
import { connectionOptions } from '../harness/app/database.ts';

// Release 1.0.0 counts tags before authors. While both versions run, transactions of one author meet, and the one that has
// changed fewer rows loses.

const TAGS = ['a', 'b', 'c', 'd'];

let app: TestApp;
let user: TestUser;

describe('creates beside those of release 1.0.0', () => {
  beforeAll(async () => {
    app = await startApp({ requestTimeoutMs: 20_000 });
    user = await app.aUser();
    await app.aGame({ tagNames: TAGS }, user);
  });
  afterAll(() => app.stop());

  test('do not lose to each of them', async () => {
    let isOver = false;
    let rounds = 0;
    const create = async (): Promise<void> => {
      const older = await createConnection(connectionOptions(new URL(app.databaseUrl)));
      while (!isOver) {
        await older.beginTransaction();
        await older.query('UPDATE tags SET game_count = game_count + 1 ORDER BY id');
        // Long enough for the other transaction to come this far.
        await sleep(20);
        await older.query('UPDATE users SET game_count = game_count + 1 WHERE id = ?', [storedIdToBytes(user.id)]);
        await older.commit();
        rounds += 1;
      }
      await older.end();
    };
    // While one commits, the others wait for its tags.
    const creates = Promise.all([create(), create(), create()]);
    try {
      for (let n = 0; n < 5; n += 1) {
        const reply = await app.send('game.create', { title: `beside ${n}`, tagNames: TAGS }, user.key);
        expect(reply.status).toBe(200);
      }
    } finally {
      isOver = true;
      await creates;
    }
    expect(rounds).toBeGreaterThan(0);
  });
});
