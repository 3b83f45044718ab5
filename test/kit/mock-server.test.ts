/**
 * @engines none
 * @tier fast
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type MockServer, startMockServer } from '../../openapi/kit/mock-server/server.ts';
import { parseVectors } from '../../openapi/kit/mock-server/vector.ts';
import { type Environment, startCli } from '../harness/app/program.ts';
import { writeRaw } from '../harness/http/raw-http.ts';

// The server of scripted exchanges that SDKs are tested with: what it was told to do to a request, it does.

const ours = parseVectors(JSON.parse(readFileSync('openapi/sdk/vectors.json', 'utf8')));

const reply = (more: object) => ({ status: 200, headers: {}, ...more });
const script = (name: string, replies: object[], more: object = {}) => ({
  name,
  about: 'A test.',
  call: { operation: 'game.getById', input: { id: 'g1' } },
  replies,
  expect: { attempts: 1 },
  ...more,
});
const vectors = parseVectors({
  vectors: [
    script('output', [reply({ output: { id: 'mine' }, without: ['title'] })]),
    script('failure', [
      reply({ status: 503, failure: { reason: 'OVERLOADED' }, headers: { 'Retry-After': '{date+30}' } }),
    ]),
    script('text', [reply({ text: '<p>', contentType: 'text/html', headers: { Location: '{origin}/trap' } })]),
    script('reset', [reply({ end: 'reset' })]),
    script('reset-body', [reply({ end: 'reset-body' })]),
    script('short', [reply({ end: 'short' })]),
    script('cut', [reply({ end: 'cut' })]),
    script('slow', [reply({ delayMs: 300 })]),
    script('halves', [reply({ pauseMs: 300 })]),
    script('undated', [reply({ dated: false })]),
    script('stream', [
      reply({
        stream: [
          { event: 'connected', id: 'c0' },
          { item: 'mine', id: 'c1' },
          { text: ': silence\r\n' },
          { failure: { reason: 'EVENTS_GONE', httpStatus: 404 }, retry: 60_000 },
        ],
        end: 'close',
      }),
    ]),
    script('nobody', [], { connect: 'refused' }),
    script('silent', [], { connect: 'silent' }),
    script('behind-proxy', [reply({ text: 'ab', repeat: 3 })], { connect: 'proxy' }),
    script('any-operation', [reply({ output: { until: 1 } })], {
      call: { operation: 'game.getNewest', form: 'generic' },
    }),
  ],
});

let server: MockServer;
describe('mock server', () => {
  beforeAll(async () => {
    server = await startMockServer(vectors, 0);
  });
  afterAll(() => server.stop());

  /** Lets the command run until it has said something, or has ended by itself. Resolves with its output and exit status. */
  const runUntilReady = async (args: string[], env: Environment = {}) => {
    const child = startCli(['mock-server', ...args], env);
    const said = { stdout: '', stderr: '' };
    child.stdout.on('data', (text: string) => {
      said.stdout += text;
      child.kill();
    });
    child.stderr.on('data', (text: string) => (said.stderr += text));
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
    const [code] = (await once(child, 'close')) as [number | null];
    clearTimeout(late);
    return { code, ...said };
  };

  describe('the command', () => {
    test('starts where FORCE_COLOR colors what programs print', async () => {
      expect(await runUntilReady(['--port', '0'], { FORCE_COLOR: '1' })).toEqual({
        code: 0,
        stdout: expect.stringMatching(/^\d+ vectors at http:\/\/127\.0\.0\.1:\d+\/vectors\n$/),
        stderr: '',
      });
    });

    test('ends with an error, and leaves no process behind, where the port is taken', async () => {
      const { port } = new URL(server.url);
      expect(await runUntilReady(['--port', port])).toEqual({
        code: 1,
        stdout: '',
        stderr: `error: listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`,
      });
    });
  });

  interface Told {
    name: string;
    baseUrl: string;
    key: string | null;
  }

  const told = async (run: string): Promise<Told[]> =>
    (await (await fetch(`${server.url}/vectors?run=${run}`)).json()) as Told[];
  const seen = async (run: string): Promise<Record<string, { method: string; path: string; body: string }[]>> =>
    (await (await fetch(`${server.url}/seen?run=${run}`)).json()) as never;

  const call = async (name: string, run = 'test', options: RequestInit = {}): Promise<Response> => {
    const { baseUrl = '' } = (await told(run)).find((one) => one.name === name) ?? {};
    return fetch(`${baseUrl}/api/trpc/game.getById`, { method: 'POST', body: '{}', redirect: 'manual', ...options });
  };

  test.each(['//', '//vectors', '/\\', 'http://', '*'])('answers the target %s, and stays', async (target) => {
    const sent = `OPTIONS ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    expect(await writeRaw(server.url, sent)).toMatch(/^HTTP\/1\.1 40[04] /);
  });

  test('our own exchanges are at least sixty, and each has a reply for every attempt that it wants', () => {
    expect(ours.length).toBeGreaterThanOrEqual(60);
    const without = ours.filter(
      ({ connect, expect: { attempts }, replies }) => !connect && replies.length !== attempts,
    );
    expect(without.map(({ name }) => name)).toEqual([]);
  });

  test('replies come as they are scripted', async () => {
    const output = (await (await call('output')).json()) as { result: { data: { json: Record<string, unknown> } } };
    expect(output.result.data.json).toMatchObject({ id: 'mine', gameType: 'RPG' });
    expect(output.result.data.json).not.toHaveProperty('title');

    const failure = await call('failure');
    expect(failure.status).toBe(503);
    expect(await failure.json()).toMatchObject({
      error: { json: { data: { reason: 'OVERLOADED', path: 'game.getById', requestId: 'request-1' } } },
    });
    const wait = Date.parse(failure.headers.get('retry-after') ?? '') - Date.parse(failure.headers.get('date') ?? '');
    expect(wait / 1000).toBeGreaterThanOrEqual(29);
    expect(wait / 1000).toBeLessThanOrEqual(31);

    const page = await call('text');
    expect(page.headers.get('content-type')).toBe('text/html');
    expect(page.headers.get('location')).toBe(`${server.url.replace('127.0.0.1', 'localhost')}/trap`);
    expect(await page.text()).toBe('<p>');
    expect((await call('undated')).headers.get('date')).toBeNull();
  });

  test('a stream comes message by message, and its failure and its input are told', async () => {
    const stream = await call('stream', 'streams', { method: 'GET', body: null });
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    const lines = (await stream.text()).split('\n');
    const data = lines.find((line) => line.startsWith('data: {"json":{"id":"mine"'));
    expect(JSON.parse(data?.slice('data: '.length) ?? '')).toMatchObject({
      json: { id: 'mine', type: 'game.created' },
    });
    const named = lines.filter((line) => line !== '' && !line.startsWith('data: {'));
    expect(named).toEqual([
      'event: connected',
      'data: ',
      'id: c0',
      'id: c1',
      ': silence\r',
      'retry: 60000',
      'event: serialized-error',
    ]);
    const [came] = (await seen('streams'))['stream'] ?? [];
    const { reply: answered, atOnce } = came as unknown as { reply: { body: string }; atOnce: number };
    expect(JSON.parse(answered.body)).toMatchObject({ error: { json: { data: { reason: 'EVENTS_GONE' } } } });
    expect(atOnce).toBe(1);
  });

  test('it is the proxy of the one host that vectors have behind one', async () => {
    const { hostname, port } = new URL(server.url);
    /** Sends a request to the server as to a proxy, with the whole address in its first line. */
    const throughProxy = async (url: string) => {
      const sent = request({ host: hostname, port, path: url, method: 'POST' }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return { status: response.statusCode, body: await readText(response) };
    };
    const path = '/proxied/behind-proxy/api/trpc/game.getById';

    expect(await throughProxy(`http://gateway.invalid${path}`)).toEqual({ status: 200, body: 'ababab' });
    expect((await throughProxy(`${server.url}${path}`)).status).toBe(500);
    expect(await (await fetch(`${server.url}/seen?run=proxied`)).json()).toEqual({
      'behind-proxy': [expect.objectContaining({ path: '/api/trpc/game.getById' })],
    });
  });

  test('an operation that the contract lacks is for generic calls alone', async () => {
    const url = `${server.url}/generic/any-operation/api/trpc/game.getNewest`;

    expect(await (await fetch(url, { method: 'POST', body: '{}' })).json()).toEqual({
      result: { data: { json: { until: 1 } } },
    });
    expect(() => parseVectors({ vectors: [script('other', [], { call: { operation: 'game.getNewest' } })] })).toThrow(
      'is no operation of the contract',
    );
  });

  describe('connections', () => {
    test.each(['reset', 'reset-body', 'short', 'cut'])('end by %s', async (name) => {
      await expect(call(name).then((response) => response.text())).rejects.toThrow(
        /fetch failed|terminated|other side/,
      );
    });

    test('are refused, or never made', async () => {
      await expect(call('nobody')).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
      await expect(call('silent', 'test', { signal: AbortSignal.timeout(300) })).rejects.toThrow(/timeout/);
    });

    test('wait before the first byte, or between two', async () => {
      for (const name of ['slow', 'halves']) {
        const began = performance.now();
        const response = await call(name);
        const begun = performance.now() - began;
        await response.text();
        const whole = performance.now() - began;
        expect(name === 'slow' ? begun : whole).toBeGreaterThanOrEqual(290);
        if (name === 'halves') expect(whole - begun).toBeGreaterThanOrEqual(200);
      }
    });
  });

  test('runs are apart, and what came is told', async () => {
    await Promise.all([call('output', 'one'), call('output', 'two')]);
    const again = await call('output', 'one');
    expect(again.status).toBe(500);
    const { output = [] } = await seen('one');
    expect(output).toHaveLength(2);
    expect(output[0]).toMatchObject({ method: 'POST', path: '/api/trpc/game.getById', body: '{}' });
    expect(output[1]).toMatchObject({ reply: null });
    expect((await seen('two'))['output']).toHaveLength(1);
    expect((await fetch(`${server.url}/one/nothing/api/trpc/game.list`, { method: 'POST' })).status).toBe(404);
  });

  test('a caller that leaves does no harm', async () => {
    await expect(call('slow', 'left', { signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/);
    await sleep(350);
    expect((await call('output', 'left')).status).toBe(200);
  });

  test('a file of another form is refused by what is wrong', () => {
    expect(() => parseVectors({ vectors: [script('a b', [])] })).toThrow(/name/);
    expect(() => parseVectors({ vectors: [script('twice', []), script('twice', [])] })).toThrow(/Two vectors/);
    expect(() => parseVectors({ vectors: [script('typo', [{ statuss: 500 }])] })).toThrow(/statuss/);
  });
});
