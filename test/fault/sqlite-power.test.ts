/**
 * @engines sqlite
 * @tier fault
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ErrorResponse } from '../../contract/index.ts';
import { type Client, type Ending, openClient } from '../harness/app/client.ts';
import { expectExactCounts } from '../harness/app/counts.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { copyWithout, recordDisk, someOf, type Write } from '../harness/faults/power-loss.ts';
import { aKey, idIn, startLoad, storedGames, withDatabase } from '../harness/http/load.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { canTrace, inject } from '../harness/servers/strace.ts';

// What a power loss may take is what was not yet on the disk. Nobody can pull the plug here, but when the disk is asked to
// take something, and what comes before and after, shows in the system calls.

let database: TestDatabase;
let served: ServeProcess;
let client: Client;
let key: string;

beforeEach(async () => {
  database = await createDatabase();
  key = await aKey(database.url);
  served = await startServe({ url: database.url, env: { LOG_LEVEL: 'info' } });
  client = openClient(served.base, key);
});
afterEach(async () => {
  client.close();
  await served.stop('SIGKILL');
  await database.drop();
});

const create = (title: string) => client.call('game.create', { title });
const answered = (ending: Ending): Extract<Ending, { kind: 'answered' }> => {
  if (ending.kind !== 'answered') throw new Error(`The connection failed: ${JSON.stringify(ending)}`);
  return ending;
};
/** Of these games, how many a database does not have, which must be whole and its counts exact. */
const lostFrom = async (url: string, ids: readonly string[]): Promise<number> => {
  await withDatabase(url, async (db) => {
    expect(await db.read('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    await expectExactCounts(db);
  });
  const stored = await storedGames(url);
  return ids.filter((id) => !stored.has(id)).length;
};
const reasonOf = (ending: Ending): string =>
  (JSON.parse(answered(ending).text) as ErrorResponse).error.json.data.reason;

(canTrace ? describe : describe.skip)('a disk', () => {
  test('that takes long holds up the answer to a write, and nothing else', async () => {
    await create('first');
    // Longer than the test waits for the reads, which take its time and no more.
    const restore = await inject(served.child.pid!, 'fdatasync', 'delay_enter=20000000');
    let isAnswered = false;
    const writing = create('slow').finally(() => (isAnswered = true));
    const reader = openClient(served.base);
    for (let read = 0; read < 6; read += 1) {
      expect(answered(await reader.get('/healthz')).status).toBe(200);
      expect(answered(await reader.call('game.list', { limit: 10, page: 1 })).status).toBe(200);
      expect(isAnswered).toBe(false);
    }
    reader.close();
    await restore();
    expect(answered(await writing).status).toBe(200);
  });

  test('of a machine that loses its power has all that was answered', async () => {
    const rounds = 5;
    let [acknowledged, lost, wouldBeLost] = [0, 0, 0];
    for (let round = 0; round < rounds; round += 1) {
      const stopRecording = await recordDisk(served.child.pid!);
      const load = startLoad(served.base, key, 8);
      await load.reached(20 + Math.floor(Math.random() * 200));
      const recorded = await stopRecording();
      // What was answered before it stopped comes in yet.
      await sleep(100);
      const ids = load.published();
      const file = new URL(database.url).pathname;
      const files = [file, `${file}-wal`];
      const folder = await mkdtemp(join(tmpdir(), 'content-gateway-power-'));
      const copy = async (name: string, losses: readonly Write[]): Promise<string> =>
        `sqlite:${await copyWithout(files, losses, join(folder, name))}`;
      acknowledged += ids.length;
      lost += await lostFrom(await copy('lost', someOf(recorded.unsynced, Math.random)), ids);
      // A disk that only says that it has what it was asked to take shows that this could fail: all is lost where the
      // file cannot be read any more.
      const log = recorded.writes.filter(({ path }) => path === files[1]);
      wouldBeLost += await lostFrom(await copy('lied', log), ids).catch(() => ids.length);
      await rm(folder, { recursive: true });
      load.stop();
      served.child.kill('SIGCONT');
      await load.done;
    }
    expect(acknowledged).toBeGreaterThan(rounds * 10);
    expect(wouldBeLost).toBeGreaterThan(rounds);
    expect(lost).toBe(0);
  });

  test('that fails makes a write unknown, and what comes later certain again', async () => {
    const first = idIn(answered(await create('first')).text);
    const restore = await inject(served.child.pid!, 'fdatasync', 'error=EIO');
    const unknown = await create('perhaps');
    expect([answered(unknown).status, reasonOf(unknown)]).toEqual([503, 'OUTCOME_UNKNOWN']);
    await restore();
    const later = answered(await create('later'));
    expect(later.status).toBe(200);
    await served.stop('SIGKILL');
    const stored = await storedGames(database.url);
    expect([first, idIn(later.text)].filter((id) => !stored.has(id))).toEqual([]);
  });
});
