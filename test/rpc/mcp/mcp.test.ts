/**
 * @engines sqlite
 * @tier long
 */
import { createRequire } from 'node:module';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CallToolResult, type Client, SdkHttpError } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ErrorResponse, operations, procedures, READ_BODY_LIMIT, scopes } from '../../../contract/index.ts';
import type { ConcurrencyLimiter } from '../../../src/limits/overload/concurrency-limiter.ts';
import { CallerLeft } from '../../../src/base/errors.ts';
import { sandboxKeys } from '../../../src/sandbox/sandbox.ts';
import { idOf, nameOf, toolsFor } from '../../../src/rpc/mcp/tools.ts';
import { type ProcedureId, startApp, type TestApp, type TestUser } from '../../harness/app/app.ts';
import { createDatabase, type TestDatabase } from '../../harness/app/database.ts';
import { largeGame } from '../../harness/http/large-answers.ts';
import { aClient, callTool, connect, contentOf, eras, isMarked, reasonOf } from '../../harness/http/mcp.ts';
import { fill, occupy } from '../../harness/app/overload.ts';
import { runCommand } from '../../harness/app/command.ts';
import { PROGRAM, runCli, type ServeProcess, startCli, startSandbox, startServe } from '../../harness/app/program.ts';

// The Model Context Protocol, spoken by the official client.

/** The most memory that a process has had, in megabytes, as Linux tells it. */
const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

const PAGE = { limit: 5, page: 1 };
const JSON_TYPE = { 'Content-Type': 'application/json' };

const message = (method: string, params: object = {}, id: number | string = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const handshake = message('initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1.0.0' },
});
const listOf = (client: Client): Promise<(string | undefined)[]> =>
  client.listTools().then(({ tools }) => tools.map(({ name }) => idOf(name)));

/** What keeps a client out. */
const refusalOf = async (connecting: Promise<unknown>): Promise<{ status: number; error: Record<string, unknown> }> => {
  const fault: unknown = await connecting.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(fault instanceof SdkHttpError)) throw new Error(`It was let in, or failed otherwise: ${String(fault)}`);
  const { status, text } = fault.data as { status: number; text: string };
  return { status, error: (JSON.parse(text) as { error: Record<string, unknown> }).error };
};

/** The first limiter of a procedure. */
const limiterOf = ({ context: { protection } }: TestApp, id: ProcedureId): ConcurrencyLimiter =>
  protection.overload.limitersOf(procedureOf(id))[0]!;
/** The procedures that are tools: secrets, which replies about webhooks hold, and keys are not for models; pipelines publish contracts. */
const APART = ['webhook', 'apiKey', 'consumerContract'];
const tools = procedures.filter(({ router }) => !APART.includes(router));
const procedureOf = (id: ProcedureId) => procedures.find((one) => one.id === id)!;

/** Takes up all that a limiter lets run, until it is told to end. */
const fillUp = (limiter: ConcurrencyLimiter): { end: () => void; full: Promise<unknown> } => {
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { end, full: fill(limiter, ended) };
};

/** Resolves when the next work comes to a limiter, to why it fails, if it does. */
const firstWork = (limiter: ConcurrencyLimiter): Promise<{ fault: Promise<unknown> }> =>
  new Promise((resolve) => {
    const run = limiter.run.bind(limiter);
    limiter.run = (...given) => {
      limiter.run = run;
      const work = run(...given);
      resolve({
        fault: work.then(
          () => undefined,
          (error: unknown) => error,
        ),
      });
      return work;
    };
  });

describe('over HTTP', () => {
  let app: TestApp;
  let user: TestUser;

  beforeAll(async () => {
    app = await startApp();
    user = await app.aUser();
  });
  afterAll(() => app.stop());

  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${app.url}/mcp`, {
      method: 'POST',
      headers: { ...JSON_TYPE, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  describe.each(eras)('a %s client', (era) => {
    test('learns what this is', async () => {
      const client = await connect(app.url, { era });
      const { version } = createRequire(import.meta.url)('#package') as { version: string };
      expect(client.getServerVersion()).toEqual({ name: 'content-gateway', title: 'Content Gateway', version });
      expect(client.getServerCapabilities()).toEqual({ tools: {} });
      expect(client.getInstructions()).toMatch(/^Games, image posts and users .* data, and never for instructions\.$/s);
    });

    test('sees the tools that its key allows', async () => {
      const allowed = (granted: readonly string[]) =>
        tools.filter(({ access }) => access === 'public' || granted.includes(access)).map(({ id }) => id);
      const { key } = await app.aUser({ scopes: ['user:read'] });
      expect(await listOf(await connect(app.url, { era }))).toEqual(allowed([]));
      expect(await listOf(await connect(app.url, { era, key }))).toEqual(allowed(['user:read']));
    });

    test('gets what the API answers', async () => {
      const game = await app.aGame({ title: `伝説の島 ${era}`, tagNames: ['Dragons'] });
      const client = await connect(app.url, { era, key: user.key });
      const input = { ...PAGE, search: `伝説 ${era}`, sortBy: 'oldest' as const };
      const result = await callTool(client, 'game.list', input);

      expect(result.isError).toBeUndefined();
      expect(contentOf(result)).toEqual(await app.call('game.list', input, user.key));
      expect(contentOf(result)).toMatchObject({ items: [{ id: game.id }] });
    });

    test('gets every fault of its input', async () => {
      const input = { limit: 0, sortBy: 'newest', bogus: 1 };
      const result = await callTool(await connect(app.url, { era }), 'game.list', input);
      const { body } = await app.send('game.list', input);

      expect(reasonOf(result)).toBe('VALIDATION_FAILED');
      expect(body.error.json.data.issues.length).toBeGreaterThan(2);
      body.error.json.data.requestId = expect.any(String);
      expect(contentOf(result)).toEqual(body);
    });

    test('is told to pass its arguments flat', async () => {
      const client = await connect(app.url, { era });
      const { error } = contentOf(await callTool(client, 'game.list', { json: PAGE })) as ErrorResponse;
      expect(error.json.data.issues?.map(({ path, message: text }) => `${path} ${text}`)).toEqual([
        '/json is not an argument of this tool: pass the members of `json` as the arguments themselves',
      ]);
    });

    test('is told what it may not call', async () => {
      const anyone = await connect(app.url, { era });
      const reader = await connect(app.url, { era, key: (await app.aUser({ scopes: ['user:read'] })).key });
      expect(reasonOf(await callTool(anyone, 'game.create', { title: 'x' }))).toBe('KEY_MISSING');
      expect(reasonOf(await callTool(reader, 'game.create', { title: 'x' }))).toBe('SCOPE_MISSING');
      expect(reasonOf(await callTool(anyone, 'game.create', { nonsense: true }))).toBe('KEY_MISSING');
    });

    test('is told that there is no such tool', async () => {
      const client = await connect(app.url, { era });
      const all = '`tools/list` has the names of all tools.';
      for (const [name, hint] of [
        ['games_list', `Did you mean \`game_list\`? ${all}`],
        ['game.list', `Did you mean \`game_list\`? ${all}`],
        ['game_getAll', `Did you mean \`game_list\`? ${all}`],
        ['getById', `Did you mean \`game_getById\` or \`image_getById\`? ${all}`],
        ['constructor', all],
        ['', all],
      ] as const) {
        await expect(client.callTool({ name, arguments: {} })).rejects.toMatchObject({
          code: -32602,
          data: { reason: 'PROCEDURE_NOT_FOUND', httpStatus: 404, hint },
        });
      }
    });

    test('calls nothing about keys, webhooks and contracts, whatever its key may do', async () => {
      const client = await connect(app.url, { era, key: (await app.aUser({ scopes })).key });
      const apart = operations.filter(({ id }) => idOf(nameOf({ id })) === undefined);
      expect(new Set(apart.map(({ router }) => router))).toEqual(new Set([...APART, 'event']));
      for (const { id } of apart) {
        for (const name of [nameOf({ id }), id]) {
          await expect(client.callTool({ name, arguments: {} })).rejects.toMatchObject({
            code: -32602,
            data: {
              hint: `\`${id}\` is no tool: programs call it by HTTP. \`tools/list\` has the names of all tools.`,
            },
          });
        }
      }
    });

    test('is kept out with a key that does not work', async () => {
      for (const [reason, key] of Object.entries(await app.badKeys())) {
        expect(await refusalOf(connect(app.url, { era, key }))).toEqual({
          status: 401,
          error: expect.objectContaining({ code: -32001, data: expect.objectContaining({ reason }) }),
        });
      }
    });

    test('may repeat a write without doing it twice', async () => {
      const client = await connect(app.url, { era, key: user.key });
      const create = (title: string): Promise<CallToolResult> =>
        client.callTool({
          name: 'game_create',
          arguments: { title },
          _meta: { idempotencyKey: `once ${era}` },
        });
      const [first, second] = [await create('Once'), await create('Once')];

      expect(contentOf(second)).toEqual(contentOf(first));
      expect(first).not.toMatchObject({ _meta: { idempotencyReplayed: true } });
      expect(second).toMatchObject({ _meta: { idempotencyReplayed: true } });
      expect(reasonOf(await create('Twice'))).toBe('IDEMPOTENCY_MISMATCH');
    });
  });

  // A client of before 2026 says so in another request, which a service without sessions cannot relate to the first.
  test('a client that gives up a write before it has begun, has not written', async () => {
    const client = await connect(app.url, { key: user.key });
    const limiter = limiterOf(app, 'image.create');
    const { end, full } = fillUp(limiter);
    const first = firstWork(limiter);
    const leaving = new AbortController();
    const input = { title: 'given up', images: ['https://images.example.com/1.webp'] };
    const call = client.callTool({ name: 'image_create', arguments: input }, { signal: leaving.signal });
    const failed = expect(call).rejects.toThrow();
    const { fault } = await first;
    leaving.abort();
    await failed;
    expect(await fault).toBeInstanceOf(CallerLeft);
    end();
    await full;

    const { items } = await app.call('image.list', { ...PAGE, search: 'given up' });
    expect(items).toEqual([]);
  });

  test('a read that nobody can take in is refused, a write is not', async () => {
    const client = await connect(app.url, { key: user.key });
    const games = Array.from({ length: 4 }, (_, n) => ({ ...largeGame, title: `large ${n}` }));
    const made = await callTool(client, 'game.batchCreate', { games });
    expect(made.isError).toBeUndefined();
    expect(JSON.stringify(contentOf(made)).length).toBeGreaterThan(1024 * 1024);

    const images = Array.from({ length: 4 }, (_, n) => `https://images.example.com/${n}/`.padEnd(2048, 'x'));
    const tagNames = Array.from({ length: 20 }, (_, n) => `${n}`.padEnd(50, '雨'));
    const posts = Array.from({ length: 100 }, (_, n) => ({ title: `broad ${n}`, images, tagNames }));
    await app.call('image.batchCreate', { posts }, user.key);
    const result = await callTool(client, 'image.list', { limit: 100, page: 1 });
    expect(reasonOf(result)).toBe('ANSWER_TOO_LARGE');
    expect((await callTool(client, 'image.list', { limit: 50, page: 1 })).isError).toBeUndefined();
  });

  describe('a body', () => {
    const padded = (length: number) =>
      JSON.stringify(message('tools/list', { _meta: { padding: 'x'.repeat(length) } }));

    test('has the limit of what its key may call', async () => {
      const [reader, writer] = [await app.aUser({ scopes: ['user:read'] }), user];
      const statusOf = async (length: number, key?: string): Promise<number> =>
        (await post(padded(length), key === undefined ? {} : { Authorization: `Bearer ${key}` })).status;
      expect(await statusOf(READ_BODY_LIMIT - 200)).toBe(200);
      expect(await statusOf(READ_BODY_LIMIT)).toBe(413);
      expect(await statusOf(READ_BODY_LIMIT, reader.key)).toBe(413);
      expect(await statusOf(READ_BODY_LIMIT, writer.key)).toBe(200);
      expect(await statusOf(5 * 1024 * 1024, writer.key)).toBe(413);
      expect(await (await post(padded(READ_BODY_LIMIT))).json()).toEqual({
        jsonrpc: '2.0',
        id: null,
        error: {
          code: -32013,
          message: expect.any(String),
          data: expect.objectContaining({ reason: 'PAYLOAD_TOO_LARGE', httpStatus: 413 }),
        },
      });
    });

    test('that a tool alone would not take, it does not take either', async () => {
      const client = await connect(app.url, { key: user.key });
      const description = 'x'.repeat(1024 * 1024);
      expect(reasonOf(await callTool(client, 'game.create', { title: 'x', description }))).toBe('PAYLOAD_TOO_LARGE');
      expect(reasonOf(await callTool(client, 'game.batchCreate', { games: [{ title: 'x', description }] }))).toBe(
        'VALIDATION_FAILED',
      );
      expect(reasonOf(await callTool(client, 'game.list', { ...PAGE, search: 'x'.repeat(READ_BODY_LIMIT) }))).toBe(
        'PAYLOAD_TOO_LARGE',
      );
    });

    test('may be deep, and is refused for it', async () => {
      const deep = '['.repeat(20_000) + ']'.repeat(20_000);
      const call = JSON.stringify(message('tools/call', { name: 'game_list', arguments: { limit: 'DEEP' } }));
      const response = await post(call.replace('"DEEP"', deep));
      const { result } = (await response.json()) as { result: CallToolResult };
      expect(reasonOf(result)).toBe('VALIDATION_FAILED');
    });
  });

  describe('a request', () => {
    test.each(['GET', 'DELETE', 'PUT', 'HEAD'])(
      'by %s is refused, for want of sessions and streams',
      async (method) => {
        const response = await fetch(`${app.url}/mcp`, { method });
        expect([response.status, response.headers.get('Allow')]).toEqual([405, 'POST']);
      },
    );

    test.each([
      ['of another media type', handshake, { 'Content-Type': 'text/plain' }, 415, -32015],
      ['that is no JSON', '{"jsonrpc"', {}, 400, -32700],
      ['without a body', '', {}, 400, -32700],
      ['that is a list', [handshake], {}, 400, -32600],
      ['that is no message', { method: 1 }, {}, 400, -32600],
      ['with a handshake of no version', message('initialize', { capabilities: {} }), {}, 200, -32602],
      ['for a page of tools that is no text', message('tools/list', { cursor: 1 }), {}, 200, -32602],
      ['with a call that names no tool', message('tools/call'), {}, 200, -32602],
      [
        'with a call whose arguments are a list',
        message('tools/call', { name: 'game_list', arguments: [] }),
        {},
        200,
        -32602,
      ],
      ['with half a credential', handshake, { Authorization: 'Bearer' }, 401, -32001],
    ])('%s is refused', async (_, body, headers, status, code) => {
      const response = await post(body, headers);
      expect(response.status).toBe(status);
      expect(response.headers.get('Content-Type')).toMatch(/^application\/json/);
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code } });
    });

    test.each([
      ['at the top', '{"limit":1,"page":1,"__proto__":{"search":"x"}}', '/__proto__'],
      ['within', '{"limit":1,"page":1,"tagSlugs":[{"__proto__":1}]}', '/tagSlugs/0'],
      ['alone', '{"__proto__":{"limit":1,"page":1}}', '/__proto__'],
    ])('whose arguments have the member that parsers drop %s is refused as by the API', async (_, input, path) => {
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"game_list","arguments":${input}}}`;
      const { result } = (await (await post(body)).json()) as { result: CallToolResult };
      expect(result.isError).toBe(true);
      const direct = await app.http.post('/api/trpc/game.list').set(JSON_TYPE).send(`{"json":${input}}`);
      const { issues, reason } = (contentOf(result) as typeof direct.body).error.json.data;
      expect({ issues, reason }).toEqual({
        issues: direct.body.error.json.data.issues,
        reason: 'VALIDATION_FAILED',
      });
      expect(issues).toContainEqual(expect.objectContaining({ path }));
    });

    test('needs no word of what it accepts', async () => {
      const response = await post(message('tools/list'), { Accept: 'application/json' });
      expect(response.status).toBe(200);
      expect(((await response.json()) as { result: { tools: unknown[] } }).result.tools).not.toEqual([]);
    });

    test('has the headers of the API', async () => {
      const response = await post(handshake, { 'X-Request-Id': 'my-own', Origin: 'https://app.example.com' });
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'x-request-id': 'my-own',
        'access-control-allow-origin': '*',
        'x-content-type-options': 'nosniff',
      });
    });

    test('for a stream of news, of the newer revision, does not keep us', async () => {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const response = await post(
        message('subscriptions/listen', { _meta: meta, notifications: { toolsListChanged: true } }),
        {
          'MCP-Protocol-Version': '2026-07-28',
          'Mcp-Method': 'subscriptions/listen',
        },
      );
      expect(await response.json()).toMatchObject({ error: { message: 'Subscription limit reached' } });
    });
  });
});

describe('the limits of the API', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ rates: 'anonymous=6,read=3,write=1' });
  });
  afterAll(() => app.stop());

  test('hold for tools, and for what else is asked', async () => {
    const client = await connect(app.url, { era: 'legacy' });
    // It has taken two so far: the handshake, and the word that it is over.
    for (let count = 0; count < 3; count += 1) contentOf(await callTool(client, 'game.list', PAGE));
    expect((await app.send('game.list', PAGE)).status).toBe(200);

    const refused = await callTool(client, 'game.list', PAGE);
    expect(reasonOf(refused)).toBe('RATE_LIMITED');
    expect(await refusalOf(client.listTools())).toEqual({
      status: 429,
      error: expect.objectContaining({ code: -32029 }),
    });
    expect((await app.send('game.list', PAGE)).status).toBe(429);
  });

  test('are those of the key', async () => {
    const { key } = await app.aUser();
    const client = await connect(app.url, { key });
    contentOf(await callTool(client, 'game.create', { title: 'first' }));
    expect(reasonOf(await callTool(client, 'game.create', { title: 'second' }))).toBe('RATE_LIMITED');
    expect((await app.send('game.create', { title: 'third' }, key)).status).toBe(429);
  });

  test('are told in the headers', async () => {
    const { key } = await app.aUser();
    const response = await fetch(`${app.url}/mcp`, {
      method: 'POST',
      headers: { ...JSON_TYPE, Authorization: `Bearer ${key}` },
      body: JSON.stringify(message('tools/call', { name: 'game_list', arguments: PAGE })),
    });
    expect(response.headers.get('RateLimit')).toMatch(/^"read";r=2;t=\d+$/);
  });
});

describe('a crowd', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ settings: { MAX_QUEUE_MS: '0' } });
  });
  afterAll(() => app.stop());

  test('at one kind of tools is refused as the API refuses it, and leaves the others alone', async () => {
    const client = await connect(app.url);
    const { end, full } = fillUp(limiterOf(app, 'game.list'));
    expect(reasonOf(await callTool(client, 'game.list', PAGE))).toBe('OVERLOADED');
    expect((await app.send('game.list', PAGE)).status).toBe(503);
    expect((await callTool(client, 'image.list', PAGE)).isError).toBeUndefined();
    end();
    await full;
  });

  test('that takes up everything is refused before anything is done for it', async () => {
    let end!: () => void;
    const full = occupy(app.context, procedures, new Promise<void>((resolve) => (end = resolve)));
    const response = await fetch(`${app.url}/mcp`, {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify(handshake),
    });
    expect([response.status, Number(response.headers.get('Retry-After'))]).toEqual([503, expect.any(Number)]);
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32603, message: expect.any(String), data: expect.objectContaining({ reason: 'OVERLOADED' }) },
    });
    end();
    await full;
  });
});

describe('the sandbox', () => {
  let sandbox: ServeProcess;
  const { key } = sandboxKeys[0]!;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.stop());

  /** What is new each time: ids of new records, times, the names of requests. */
  const NEW = /"(id|createdAt|updatedAt|requestId)":"(?!019a3c5e)[^"]*"/g;
  const withoutNew = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replaceAll(NEW, '"$1":"new"'));

  const viaApi = async (space: string, id: string, input: unknown) => {
    const response = await fetch(`${sandbox.base}/api/trpc/${id}`, {
      method: 'POST',
      headers: { ...JSON_TYPE, Authorization: `Bearer ${key}`, 'X-Sandbox-Space': space },
      body: JSON.stringify({ json: input }),
    });
    const body = (await response.json()) as { result: { data: { json: unknown } } };
    expect([id, response.status]).toEqual([id, 200]);
    return body.result.data.json;
  };

  test.each(tools.map(({ id, example, effect }) => [id, example.input, effect] as const))(
    'answers the example of %s by its tool as by the API',
    async (id, input, effect) => {
      // A space costs more than a call: only what writes needs its own.
      const space = effect === 'read' ? 'reads' : id;
      const client = await connect(sandbox.base, { key, headers: { 'X-Sandbox-Space': `tool-${space}` } });
      const result = await callTool(client, id, input);
      expect(result.isError).toBeUndefined();
      expect(withoutNew(contentOf(result))).toEqual(withoutNew(await viaApi(`api-${space}`, id, input)));
      const { openWorldHint } = toolsFor(scopes).find(({ name }) => name === nameOf({ id }))!.annotations;
      expect(isMarked(result)).toBe(openWorldHint);
    },
  );

  test('keeps spaces apart', async () => {
    const [one, other] = await Promise.all(
      ['one', 'other'].map((space) => connect(sandbox.base, { key, headers: { 'X-Sandbox-Space': space } })),
    );
    await callTool(one!, 'game.create', { title: 'Only here' });
    const found = async (client: Client) =>
      contentOf(await callTool(client, 'game.list', { ...PAGE, search: 'Only here' })) as { total: number };
    expect([(await found(one!)).total, (await found(other!)).total]).toEqual([1, 0]);
  });
});

describe('a service with workers', () => {
  let database: TestDatabase;
  let service: ServeProcess;
  beforeAll(async () => {
    database = await createDatabase();
    service = await startServe({ url: database.url, env: { WORKERS: '2' } });
  });
  afterAll(async () => {
    await service.stop();
    await database.drop();
  });

  test('refuses other names, too', async () => {
    const asked = request(`${service.base}/mcp`, {
      method: 'POST',
      headers: { ...JSON_TYPE, Host: 'evil.example.com' },
    });
    asked.end(JSON.stringify(handshake));
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    expect(response.resume().statusCode).toBe(403);
  });

  test('any worker answers', async () => {
    const client = await connect(service.base, { era: 'legacy' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => callTool(client, 'game.list', PAGE)));
    expect(answers.map(({ isError }) => isError)).toEqual(Array(20).fill(undefined));
  });
});

describe('on standard input and output', () => {
  let app: TestApp;
  let user: TestUser;
  let env: Record<string, string>;
  beforeAll(async () => {
    app = await startApp();
    user = await app.aUser();
    env = { DATABASE_URL: app.databaseUrl, RATE_LIMIT: 'off' };
  });
  afterAll(() => app.stop());

  describe.each(eras)('a %s client', (era) => {
    test('gets what the API answers, in the name of its key', async () => {
      const game = await app.aGame({ title: `By stdio ${era}` });
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [PROGRAM, 'mcp'],
        env: { ...env, GATEWAY_KEY: user.key },
        stderr: 'pipe',
      });
      const client = aClient(era);
      await client.connect(transport);
      try {
        expect((await listOf(client)).length).toBe(tools.length);
        const input = { ...PAGE, search: `By stdio ${era}` };
        expect(contentOf(await callTool(client, 'game.list', input))).toEqual(
          await app.call('game.list', input, user.key),
        );
        expect(contentOf(await callTool(client, 'user.me'))).toEqual(await app.call('user.me', {}, user.key));
        expect(reasonOf(await callTool(client, 'game.list', { limit: 0 }))).toBe('VALIDATION_FAILED');
        const liked = await callTool(client, 'game.toggleFavorite', { gameId: game.id });
        expect(contentOf(liked)).toEqual({ gameId: game.id, favorited: true, favoriteCount: 1 });
      } finally {
        await client.close();
      }
    });
  });

  const lines = (...messages: object[]): string => messages.map((one) => `${JSON.stringify(one)}\n`).join('');

  interface Answer {
    id: number | null;
    result: CallToolResult & { tools: { name: string }[] };
    error?: { code: number; data: { reason: string } };
  }

  /** The answers on a standard output, by their ids. */
  const answersIn = (stdout: string): Answer[] =>
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Answer)
      .toSorted((one, other) => Number(one.id) - Number(other.id));

  /** The answers to an input that ends, of a command that succeeds. */
  const answersTo = async (input: string, more: Record<string, string> = {}): Promise<Answer[]> => {
    const { code, stdout, stderr } = await runCli(['mcp'], { env: { ...env, LOG_LEVEL: 'error', ...more }, input });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return answersIn(stdout);
  };

  /** Starts the command, and resolves when it has answered the handshake. */
  const shaken = async () => {
    const child = startCli(['mcp'], { ...env, LOG_LEVEL: 'silent' });
    child.stdin.on('error', () => undefined);
    child.stdin.write(lines(handshake));
    await once(child.stdout, 'readable');
    return child;
  };

  test('it answers what it was asked before its input ended, and says nothing else', async () => {
    const input = lines(
      handshake,
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      message('tools/call', { name: 'game_create', arguments: { title: 'The last word' } }, 2),
      message('tools/call', { name: 'game_list', arguments: PAGE }, 3),
    );
    const answers = await answersTo(input, { GATEWAY_KEY: user.key, LOG_LEVEL: 'info' });
    expect(answers.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(answers.filter(({ result }) => result.isError)).toEqual([]);
    const { items } = await app.call('game.list', { ...PAGE, search: 'The last word' });
    expect(items).toHaveLength(1);
  });

  test('without a key it has the tools that need none, takes null for no arguments, and passes over what is no message', async () => {
    const call = message('tools/call', { name: 'game_getTypeStats', arguments: null }, 3);
    const input = `nonsense\n${lines(handshake, message('tools/list', {}, 2), call)}`;
    const answers = await answersTo(input);
    const [, listed, called] = answers;
    expect(answers.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(listed?.result.tools.map(({ name }) => name)).toEqual(
      procedures.filter(({ access }) => access === 'public').map(nameOf),
    );
    expect(called?.result.content).toBeDefined();
    expect(called?.result.isError ?? false).toBe(false);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('it ends on %s, in order', async (signal) => {
    const child = await shaken();
    child.stdout.resume();
    child.kill(signal);
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  test('it ends when nobody reads what it says', async () => {
    const child = await shaken();
    child.stdout.destroy();
    child.stdin.write(lines(message('tools/list', {}, 2)));
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  test.each(['KEY_UNKNOWN', 'KEY_MALFORMED'] as const)('it does not start with a key that is %s', async (reason) => {
    const { [reason]: key } = await app.badKeys();
    const { code, stdout, stderr } = await runCommand(['mcp', '--key', key], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: .*key.*\n$/i);
    expect(stderr).not.toContain(key);
  });

  const MOST_ASKED = 5000;
  /** Starts it, and asks for its tools as often as it takes in while nobody reads its answers. */
  const askUnheard = async () => {
    const child = await shaken();
    let asked = 0;
    for (let isTaken = true; isTaken && asked < MOST_ASKED;) {
      asked += 1;
      if (child.stdin.write(lines(message('tools/list', {}, asked)))) continue;
      isTaken = await Promise.race([once(child.stdin, 'drain').then(() => true), sleep(1000, false)]);
    }
    return { child, asked };
  };

  test('it takes in no more while nobody reads its answers, and ends when it is told to', async () => {
    const { child, asked } = await askUnheard();
    // A megabyte of answers, and what the pipes hold.
    expect(asked).toBeLessThan(MOST_ASKED);
    if (process.platform === 'linux') expect(peakOf(child.pid!)).toBeLessThan(300);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('it answers all of it when they are read at last', async () => {
    const { child, asked } = await askUnheard();
    let answered = 0;
    child.stdout.on('data', (data: Buffer) => (answered += data.toString().split('\n').length - 1));
    child.stdin.end();
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(answered).toBe(1 + asked);
  });

  test.each([
    ['with an end', '\n'],
    ['without one', ''],
  ])('a line of 40 MB %s is refused, and nothing of it is kept', async (_, end) => {
    const child = startCli(['mcp'], env);
    let said = '';
    child.stdout.on('data', (data: Buffer) => (said += data.toString()));
    child.stdin.write(`${lines(handshake)}{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":"`);
    const part = Buffer.alloc(1024 * 1024, 'x');
    for (let n = 0; n < 40; n += 1) if (!child.stdin.write(part)) await once(child.stdin, 'drain');
    child.stdin.write(end);
    if (end !== '') child.stdin.write(lines(message('ping', {}, 3)));
    while (!said.includes(end === '' ? '"id":null' : '"id":3')) await sleep(20);
    if (process.platform === 'linux') expect(peakOf(child.pid!)).toBeLessThan(300);
    child.stdin.end();
    expect(await once(child, 'close')).toEqual([0, null]);
    const answers = answersIn(said);
    expect(answers.map(({ id, error }) => [id, error?.data.reason])).toEqual([
      [null, 'PAYLOAD_TOO_LARGE'],
      [1, undefined],
      ...(end === '' ? [] : [[3, undefined]]),
    ]);
  });

  test('it lives on after whatever is no message, and refuses what is too deep', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const odd = ['', 'null', '"x"', '[]', '{}', '\u0000', deep, '{"jsonrpc":"2.0","id":1', '\ufeff{}'];
    const call = message('tools/call', { name: 'game_list', arguments: { x: 'DEEP' } }, 2);
    const input = `${lines(handshake)}${odd.join('\n')}\n${lines(call).replace('"DEEP"', deep)}`;
    const answers = await answersTo(`${input}${lines(message('ping', {}, 3))}`, { LOG_LEVEL: 'silent' });
    expect(answers.map(({ id, result }) => [id, result.isError ?? false])).toEqual([
      [1, false],
      [2, true],
      [3, false],
    ]);
  });
});
