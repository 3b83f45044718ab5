import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ErrorResponse } from '../../contract/index.ts';
import { type Client, type Ending, openClient } from '../support/client.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { aKey, idIn, storedGames } from '../support/load.ts';
import { type ServeProcess, startServe } from '../support/program.ts';
import { canTrace, inject } from '../support/strace.ts';

// What a power loss may take is what was not yet on the disk. Nobody can pull the plug here, but when the disk is asked to
// take something, and what comes before and after, shows in the system calls.

jest.setTimeout(120_000);

let database: TestDatabase;
let served: ServeProcess;
let client: Client;

beforeEach(async () => {
  database = await createDatabase();
  const key = await aKey(database.url);
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
const reasonOf = (ending: Ending): string =>
  (JSON.parse(answered(ending).text) as ErrorResponse).error.json.data.reason;

(canTrace ? describe : describe.skip)('a disk', () => {
  test('that takes long holds up the answer to a write, and nothing else', async () => {
    await create('first');
    const restore = await inject(served.child.pid!, 'fdatasync', 'delay_enter=1500000');
    const asked = performance.now();
    let isAnswered = false;
    const writing = create('slow').finally(() => (isAnswered = true));
    const reader = openClient(served.base);
    let reads = 0;
    while (performance.now() - asked < 1000) {
      expect(answered(await reader.get('/healthz')).status).toBe(200);
      expect(answered(await reader.call('game.list', { limit: 10, page: 1 })).status).toBe(200);
      reads += 1;
    }
    reader.close();
    expect(isAnswered).toBe(false);
    expect(reads).toBeGreaterThan(5);
    expect(answered(await writing).status).toBe(200);
    expect(performance.now() - asked).toBeGreaterThan(1490);
    await restore();
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
