/**
 * @engines none
 * @tier long
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../harness/app/sandbox.ts';
import { sandboxKeys } from '../../src/sandbox/sandbox.ts';

const SEED = 7;
const ATTEMPTS = 3;
const RETRIED = [408, 429, 500, 502, 503, 504];
const TITLES = Array.from({ length: 12 }, (_, index) => `seeded ${index}`);

interface SeenFaults {
  seed: number | null;
  faults: { operation: string; digest: string; attempt: number; fault: string }[];
}

describe('a sandbox with a seed', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox({}, SEED);
  });
  afterAll(() => sandbox.stop());

  const faultsIn = async (space: string, of = sandbox): Promise<SeenFaults> =>
    (await (await fetch(`${of.url}/sandbox/faults`, { headers: { 'X-Sandbox-Space': space } })).json()) as SeenFaults;

  /** A client of a space, which repeats calls without waiting; with an idempotency key for each write, as the guide says, or without. */
  const clientOf = (space: string, { isCareful = true, of = sandbox } = {}) => {
    const call = async (id: string, input: object): Promise<Record<string, unknown>> => {
      const headers = {
        Authorization: `Bearer ${sandboxKeys[0]?.key}`,
        'X-Sandbox-Space': space,
        ...(isCareful && { 'Idempotency-Key': randomUUID() }),
      };
      for (let attempt = 1; ; attempt += 1) {
        try {
          const response = await of.send(id, input, headers);
          const body = await response.text();
          if (response.ok)
            return (JSON.parse(body) as { result: { data: { json: Record<string, unknown> } } }).result.data.json;
          if (!RETRIED.includes(response.status)) throw new Error(`${id} is refused: ${body}`);
          if (attempt === ATTEMPTS) throw new Error(`${id} failed: ${body}`);
        } catch (error) {
          const isFinal = error instanceof Error && error.message.startsWith(id);
          if (isFinal || attempt === ATTEMPTS) throw error;
        }
      }
    };
    return { call };
  };

  /** Makes games, favorites each, and reads it. */
  const playGame = async ({ call }: ReturnType<typeof clientOf>, title: string): Promise<void> => {
    const { id } = await call('game.create', { title });
    await call('game.toggleFavorite', { gameId: id });
    expect(await call('game.getById', { id })).toMatchObject({ title, favoriteCount: 1 });
  };

  const storedIn = async (space: string): Promise<number> => {
    const { body } = await sandbox.call(
      'game.list',
      { limit: 1, page: 1, search: 'seeded' },
      { 'X-Sandbox-Space': space, 'X-Sandbox-Delay': '0' },
    );
    return (body as { result: { data: { json: { total: number } } } }).result.data.json.total;
  };

  test('has the same calls meet the same faults after a reset and in another process, one by one or all at once', async () => {
    const space = 'again';
    const client = clientOf(space);
    for (const title of TITLES) await playGame(client, title);
    const { seed, faults } = await faultsIn(space);
    expect(seed).toBe(SEED);
    expect(faults.length).toBeGreaterThan(5);

    await sandbox.reset({ 'X-Sandbox-Space': space });
    expect((await faultsIn(space)).faults).toEqual([]);
    await Promise.all(TITLES.map((title) => playGame(client, title)));
    expect((await faultsIn(space)).faults).toEqual(faults);

    const other = await startSandbox({}, SEED);
    try {
      const there = clientOf(space, { of: other });
      await Promise.all(TITLES.toReversed().map((title) => playGame(there, title)));
      expect((await faultsIn(space, other)).faults).toEqual(faults);
    } finally {
      await other.stop();
    }
  });

  test('lets a client that repeats with idempotency keys through, and nothing is done twice', async () => {
    for (let number = 0; number < 10; number += 1) {
      const space = `careful-${number}`;
      const client = clientOf(space);
      await Promise.all(TITLES.map((title) => playGame(client, title)));
      expect(await storedIn(space)).toBe(TITLES.length);
    }
  });

  test('shows what a client without them does twice', async () => {
    const spaces = ['careless-1', 'careless-2', 'careless-3'];
    for (const space of spaces) {
      const { call } = clientOf(space, { isCareful: false });
      await Promise.all(TITLES.map((title) => call('game.create', { title })));
    }
    const stored = await Promise.all(spaces.map(storedIn));
    expect(Math.max(...stored)).toBeGreaterThan(TITLES.length);
  });

  test('names in a reply what befell it, which then happens as asked for by the header', async () => {
    const named = new Set<string>();
    for (let number = 0; number < 60; number += 1) {
      const headers = { 'X-Sandbox-Space': 'named' };
      const input = { limit: 1, page: 1, search: `named ${number}` };
      const response = await sandbox.send('game.list', input, headers).catch(() => undefined);
      await response?.text().catch(() => undefined);
      const fault = response?.headers.get('x-sandbox-injected');
      if (!response || !fault) continue;
      named.add(fault);
      const [, status] = /^(?:before|after)=(\d+)/.exec(fault) ?? [];
      expect(response.status).toBe(Number(status ?? 200));
      const again = await sandbox.send('game.list', input, { ...headers, 'X-Sandbox-Fault': fault });
      expect([again.status, again.headers.get('x-sandbox-injected')]).toEqual([response.status, fault]);
      await again.text().catch(() => undefined);
    }
    const listed = (await faultsIn('named')).faults.map(({ fault }) => fault);
    expect(listed).toEqual(expect.arrayContaining([...named]));
    expect(new Set(listed.filter((fault) => !/^(before|after)=reset/.test(fault)))).toEqual(named);
  });

  test('spares pages, health, the sandbox itself, and requests that say how they are to be treated', async () => {
    const calm = { 'X-Sandbox-Space': 'calm', 'X-Sandbox-Delay': '0' };
    for (let number = 0; number < 30; number += 1) {
      for (const path of ['/', '/docs/', '/healthz', '/sandbox']) {
        const response = await fetch(`${sandbox.url}${path}?${number}`, { headers: { 'X-Sandbox-Space': 'calm' } });
        expect([response.status, response.headers.get('x-sandbox-injected')]).toEqual([200, null]);
      }
      const { headers } = await sandbox.call('game.list', { limit: 1, page: 1, search: `calm ${number}` }, calm);
      expect(headers.get('x-sandbox-injected')).toBeNull();
    }
    expect((await faultsIn('calm')).faults).toEqual([]);
  });

  test('has reads by GET and batches fail, too', async () => {
    for (let number = 0; number < 20; number += 1) {
      const input = encodeURIComponent(`{"json":{"limit":1,"page":1,"search":"by ${number}"}}`);
      const batch = encodeURIComponent(`{"0":{"json":{"limit":1,"page":1,"search":"by ${number}"}},"1":{"json":{}}}`);
      for (const path of [`game.list?input=${input}`, `game.list,game.getTypeStats?batch=1&input=${batch}`]) {
        const response = await fetch(`${sandbox.url}/api/trpc/${path}`, {
          headers: { 'X-Sandbox-Space': 'doors' },
        }).catch(() => undefined);
        await response?.text().catch(() => undefined);
      }
    }
    const operations = (await faultsIn('doors')).faults.map(({ operation }) => operation);
    expect(new Set(operations)).toEqual(new Set(['game.list', 'game.list,game.getTypeStats']));
  });

  test('leaves refusals as they are: a wrong type, a body too large, text that is no JSON', async () => {
    const post = async (id: string, body: string, headers: Record<string, string>, number = 1): Promise<unknown> => {
      const response = await fetch(`${sandbox.url}/api/trpc/${id}`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${sandboxKeys[0]?.key}`,
          'X-Sandbox-Space': `refused-${number}`,
          ...headers,
        },
        body,
      }).catch(() => undefined);
      // Another space spares the call.
      if (!response || response.headers.has('x-sandbox-injected')) return post(id, body, headers, number + 1);
      const { error } = (await response.json()) as { error: { json: { data: { reason: string } } } };
      return [response.status, error.json.data.reason];
    };
    const json = { 'Content-Type': 'application/json' };
    const large = JSON.stringify({ json: { title: 'x'.repeat(2 * 1024 * 1024) } });
    expect(await post('game.create', '{}', { 'Content-Type': 'text/plain' })).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect(await post('game.create', '{}', { ...json, 'Content-Encoding': 'zstd' })).toEqual([
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ]);
    expect(await post('game.create', large, json)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect(await post('game.create', '{"json":', json)).toEqual([400, 'MALFORMED_JSON']);
  });

  test('a sandbox without one has none to list', async () => {
    const plain = await startSandbox();
    try {
      expect(await faultsIn('any', plain)).toEqual({ seed: null, faults: [] });
    } finally {
      await plain.stop();
    }
  });
});
