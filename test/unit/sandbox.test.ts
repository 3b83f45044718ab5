import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { createApp } from '../../src/app.ts';
import { readConfig, sandboxOf } from '../../src/config.ts';
import { closeContext, openContext } from '../../src/context.ts';
import { Listener } from '../../src/http/listener.ts';
import { fillSandbox, sandboxKeys } from '../../src/demo/sandbox.ts';
import { checkReply } from '../support/published.ts';

/** The sandbox, in this process. */
const startSandbox = async () => {
  const context = await openContext(sandboxOf(readConfig({})), pino({ level: 'silent' }));
  await context.db.migrate();
  await fillSandbox(context.db);
  const listener = new Listener(createApp(context));
  const url = `http://127.0.0.1:${await listener.listen(0, '127.0.0.1')}`;
  return {
    call: async (id: string, json: unknown, headers: Record<string, string> = {}) => {
      const response = await fetch(`${url}/api/trpc/${id}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ json }),
      });
      const body: unknown = await response.json();
      checkReply(id, { status: response.status, headers: Object.fromEntries(response.headers), body });
      return { status: response.status, headers: response.headers, body };
    },
    stop: async () => {
      await listener.stop(1000);
      await closeContext(context);
    },
  };
};

type Sandbox = Awaited<ReturnType<typeof startSandbox>>;
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
}, 60_000);
afterAll(() => sandbox.stop());

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const reasonOf = (body: unknown) => (body as { error: { json: { data: { reason: string } } } }).error.json.data.reason;

test('two sandboxes hold the same', async () => {
  const other = await startSandbox();
  try {
    for (const [id, input] of [
      ['game.list', { limit: 100, page: 3 }],
      ['image.list', { limit: 100, page: 1, sortBy: 'views' }],
      ['game.getTypeStats', {}],
    ] as const) {
      expect((await other.call(id, input)).body).toEqual((await sandbox.call(id, input)).body);
    }
  } finally {
    await other.stop();
  }
});

test.each(sandboxKeys.map(({ name, ...key }) => ({ name, ...key })))(
  'the key of $name has its scopes',
  async (known) => {
    const allowed = {
      'content:write': (await sandbox.call('game.create', { title: 'x' }, bearer(known.key))).status,
      'user:read': (await sandbox.call('user.me', {}, bearer(known.key))).status,
      'user:write': (await sandbox.call('user.updateAvatar', { avatar: '/x.png' }, bearer(known.key))).status,
    };
    const expected = Object.fromEntries(
      Object.keys(allowed).map((scope) => [
        scope,
        known.expired ? 401 : known.scopes.some((one) => one === scope) ? 200 : 403,
      ]),
    );
    expect(allowed).toEqual(expected);
  },
);

test('README lists the keys as they are', () => {
  const readme = readFileSync('README.md', 'utf8');
  for (const { key } of sandboxKeys) expect(readme).toContain(key);
});

describe('a request that asks for a fault', () => {
  test.each([
    [429, 'RATE_LIMITED'],
    [500, 'INTERNAL'],
    [503, 'OVERLOADED'],
  ])('of status %i gets it, and nothing is done', async (asked, reason) => {
    const title = `never stored ${asked}`;
    const { status, headers, body } = await sandbox.call(
      'game.create',
      { title },
      { ...bearer(sandboxKeys[0]?.key ?? ''), 'X-Sandbox-Status': String(asked) },
    );
    expect([status, reasonOf(body)]).toEqual([asked, reason]);
    expect(headers.get('retry-after') ?? '').toMatch(asked === 500 ? /^$/ : /^[1-3]$/);
    expect((await sandbox.call('game.list', { limit: 1, page: 1, search: title })).body).toMatchObject({
      result: { data: { json: { total: 0 } } },
    });
  });

  test('of a delay waits as long', async () => {
    const started = performance.now();
    const { status } = await sandbox.call('game.getTypeStats', {}, { 'X-Sandbox-Delay': '300' });
    expect(status).toBe(200);
    expect(performance.now() - started).toBeGreaterThanOrEqual(295);
  });

  test.each([
    ['X-Sandbox-Status', '418'],
    ['X-Sandbox-Status', 'toString'],
    ['X-Sandbox-Delay', '-1'],
    ['X-Sandbox-Delay', '30001'],
  ])('that it cannot have is told so: %s: %s', async (name, value) => {
    const { status, body } = await sandbox.call('game.getTypeStats', {}, { [name]: value });
    expect([status, reasonOf(body)]).toEqual([400, 'BAD_HTTP_REQUEST']);
  });
});
