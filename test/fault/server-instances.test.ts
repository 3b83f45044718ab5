/**
 * @engines server
 * @tier fault
 */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openClient, reasonIn } from '../harness/app/client.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { runCli, type ServeProcess, startServe } from '../harness/app/program.ts';
import { startTurns, turnsIn } from '../harness/faults/turns.ts';
import { aKey } from '../harness/http/load.ts';

let database: TestDatabase;
let served: ServeProcess[];

beforeEach(async () => {
  database = await createDatabase();
  const settings = { url: database.url, env: { LOG_LEVEL: 'error', RATE_LIMIT: 'off' } };
  served = await Promise.all([startServe(settings), startServe(settings)]);
});
afterEach(async () => {
  await Promise.all(served.map((one) => one.stop('SIGKILL')));
  await database.drop();
});

test('a key that is revoked stops working within a second on each instance', async () => {
  const key = await aKey(database.url);
  const turns = await startTurns();
  const clients = served.map(({ base }) => openClient(base, key));
  for (const client of clients) expect(reasonIn(await client.call('user.me', {}))).toBe('ok');
  const env = { DATABASE_URL: database.url };
  const listed = await runCli(['keys', 'list'], { env });
  const [id] = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/.exec(listed.stdout) ?? [];
  // In use on both all the while, so that each has it in memory.
  const uses = clients.map(async (client) => {
    let reason = 'ok';
    while (reason === 'ok') reason = reasonIn(await client.call('user.me', {}));
    return { reason, at: performance.now() };
  });
  const revoked = await runCli(['keys', 'revoke', id ?? ''], { env });
  const revokedAt = performance.now();
  expect(revoked).toMatchObject({ code: 0 });
  const ends = await Promise.all(uses);
  for (const client of clients) client.close();
  for (const { reason, at } of ends) {
    expect(reason).toBe('KEY_REVOKED');
    expect(turns.between(revokedAt, at)).toBeLessThan(turnsIn(1000));
  }
});
