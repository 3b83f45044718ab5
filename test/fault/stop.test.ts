/**
 * @engines sqlite
 * @tier fault
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Client, openClient } from '../harness/app/client.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { aKey, startLoad, storedGames, withDatabase } from '../harness/http/load.ts';
import { type Environment, type ServeProcess, startServe } from '../harness/app/program.ts';

// The real program, told to stop while it stores what it is sent. `test/app/process.test.ts` has the rest; histories kill it.

const CLIENTS = 8;

let database: TestDatabase;
let key: string;
let served: ServeProcess;

describe('shutdown under load', () => {
  beforeEach(async () => {
    database = await createDatabase();
    key = await aKey(database.url);
  });
  afterEach(async () => {
    await served.stop('SIGKILL');
    await database.drop();
  });

  const start = async (env: Environment = {}): Promise<ServeProcess> => {
    served = await startServe({ url: database.url, env: { LOG_LEVEL: 'info', ...env } });
    return served;
  };

  describe('SIGTERM', () => {
    test('under load breaks no request, and loses nothing that was answered', async () => {
      const { base, stop } = await start();
      const load = startLoad(base, key, CLIENTS);
      await load.reached(10 * CLIENTS);
      expect(await stop()).toBe(0);
      await load.done;

      // Whoever calls again after the answer that was the last finds nobody listening.
      const endings = load.endings.filter((ending) => ending.kind !== 'refused');
      expect(endings.filter((ending) => ending.kind !== 'answered' || ending.status !== 200)).toEqual([]);
      expect(load.endings.length - endings.length).toBe(CLIENTS);

      await start();
      const stored = await storedGames(database.url);
      expect([...stored].toSorted()).toEqual(load.published().toSorted());
      await withDatabase(database.url, expectExactCounts);
    });

    test('stores the views and key uses in memory', async () => {
      const { base, stop } = await start();
      const client = openClient(base, key);
      const id = await publish(client);
      for (let view = 0; view < 20; view += 1) await client.call('game.getById', { id });
      client.close();
      expect(await stop()).toBe(0);
      await withDatabase(database.url, async (db) => {
        expect(await db.read('SELECT view_count FROM games')).toEqual([{ view_count: 20 }]);
        expect(await db.read('SELECT 1 FROM api_keys WHERE last_used_at IS NULL')).toEqual([]);
      });
    });
  });

  const publish = async (client: Client): Promise<string> => {
    const ending = await client.call('game.create', { title: 'hot' });
    if (ending.kind !== 'answered' || ending.status !== 200) throw new Error(JSON.stringify(ending));
    return (JSON.parse(ending.text) as { result: { data: { json: { id: string } } } }).result.data.json.id;
  };
});
