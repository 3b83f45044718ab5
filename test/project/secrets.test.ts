/**
 * @engines sqlite
 * @tier fast
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generateKey } from '../../src/auth/format.ts';
import { createDatabase, type TestDatabase } from '../harness/app/database.ts';
import { aKey } from '../harness/http/load.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';

// What the log of the program holds, and what it does not.

const SECRET = 'nobody-logs-this';

let database: TestDatabase;
let served: ServeProcess;
let key: string;

describe('secrets in the repository', () => {
  beforeAll(async () => {
    database = await createDatabase({ migrated: true });
    key = await aKey(database.url);
    served = await startServe({ url: database.url, env: { LOG_LEVEL: 'trace' } });
  });

  afterAll(() => database.drop());

  const send = async (path: string, body: string, headers: Record<string, string> = {}): Promise<number> => {
    const response = await fetch(`${served.base}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body,
    });
    await response.arrayBuffer();
    return response.status;
  };

  /** What the program wrote, once so many requests are in its log. */
  const logged = async (requests: number): Promise<string> => {
    const count = (): number => served.output().split('"msg":"request"').length - 1;
    for (let polls = 0; polls < 200 && count() < requests; polls += 1) await sleep(50);
    expect(count()).toBe(requests);
    return served.output();
  };

  interface Entry {
    msg: string;
    path: string;
    requestId: string;
  }

  test('no key and nothing of an input is in the log', async () => {
    const unknown = generateKey();
    const bearer = (one: string) => ({ Authorization: `Bearer ${one}` });
    const game = (more: object) => JSON.stringify({ json: { title: SECRET, ...more } });
    const create = '/api/trpc/game.create';
    expect([
      await send(create, game({}), bearer(key)),
      await send(create, game({ description: `${SECRET}\u0000` }), bearer(key)),
      await send(create, `{"json": "${SECRET}`, bearer(key)),
      await send(create, game({}), bearer(unknown)),
      await send(create, game({}), bearer(`${unknown.slice(0, -1)}-`)),
      await send(`${create}?key=${key}`, game({}), { Cookie: `key=${key}` }),
      await send(`/api/${key}`, '{}'),
      await send('/api/trpc/game.list', JSON.stringify({ json: { limit: 1, page: 1, search: SECRET } })),
    ]).toEqual([200, 400, 400, 401, 401, 401, 404, 200]);
    const output = await logged(8);
    expect(output).toMatch(/"keyId":"[0-9a-f-]{36}"/);
    for (const secret of [SECRET, key, unknown, unknown.slice(0, -1), key.slice(4, -6)]) {
      expect(output.includes(secret)).toBe(false);
    }
  });

  test('a request forges no line of the log', async () => {
    const forged = '{"level":30,"msg":"forged"}';
    await send(`/api/${encodeURIComponent(`\n${forged}\n\u001b[2J\u0085\u2028`)}`, '{}');
    await send('/api/trpc/game.list', '{}', { 'X-Request-Id': `a ${forged}`, 'User-Agent': forged });
    const output = await logged(10);
    await served.stop();
    const entries = output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Partial<Entry>);
    expect(entries.filter(({ msg }) => msg === 'forged')).toEqual([]);
    expect(entries.filter(({ path }) => path?.includes('forged')).length).toBe(1);
    expect(output).not.toMatch(/[^\P{Cc}\n]|\u2028/u);
    expect(entries.every(({ requestId = '' }) => !requestId.includes(' '))).toBe(true);
  });
});
