/**
 * @engines sqlite
 * @tier long
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { HttpServerLimits } from '../../src/http/server/connections.ts';
import { HttpServer } from '../../src/http/server/http-server.ts';
import { startApp } from '../harness/app/app.ts';
import { parseReply } from '../harness/http/raw-http.ts';
import { startSilentReader } from '../harness/http/silent-reader.ts';

// How long the service waits for a caller: for its request, and for it to take its answer. All times are short here.

const HEADERS_MS = 300;
const REQUEST_MS = 1000;
const ANSWER_IDLE_MS = 800;

const edge = { headersMs: HEADERS_MS, requestMs: REQUEST_MS, checkMs: 50, lingerMs: 100 };
const app = await startApp({ edge });
/** One that only has the headers' time limit. */
const patient = await startApp({ edge: { ...edge, requestMs: 3_600_000 } });
describe('HTTP timeouts', () => {
  afterAll(async () => {
    await patient.stop();
    await app.stop();
  });

  interface Talk {
    socket: Socket;
    /** Resolves when the server ends the connection, with all that it said, and when. */
    ended: Promise<{ text: string; ms: number }>;
  }

  const talk = async (text: string | Buffer, { url } = app): Promise<Talk> => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const started = performance.now();
    let heard = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (heard += chunk));
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve())).then(() => ({
      text: heard,
      ms: performance.now() - started,
    }));
    await once(socket, 'connect');
    // The server reads no more once it has answered, and what was heard tells.
    socket.on('error', () => undefined);
    if (text.length > 0) socket.write(text);
    return { socket, ended };
  };

  const start =
    'POST /api/trpc/game.list HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Request-Id: slow\r\n';
  const body = '{"json":{"limit":1,"page":1}}';
  const packed = gzipSync(body);

  const timeout = (path: string | null) => ({
    status: 408,
    headers: {
      connection: 'close',
      'content-type': 'application/json; charset=utf-8',
      'access-control-allow-origin': '*',
      'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
    },
    body: {
      error: {
        json: {
          code: -32008,
          message: 'The request took too long to arrive.',
          data: {
            code: 'TIMEOUT',
            httpStatus: 408,
            path,
            reason: 'REQUEST_TIMEOUT',
            hint: 'Send the headers within 30 seconds and the whole request within 60.',
            docs: '/errors#REQUEST_TIMEOUT',
          },
        },
      },
    },
  });

  describe('a request that does not come is refused in time', () => {
    test.concurrent.each([
      ['a line cut short', 'POST /api'],
      ['headers without an end', start],
    ])('%s', async (_, text) => {
      const { text: reply, ms } = await (await talk(text, patient)).ended;
      expect(parseReply(reply)).toMatchObject(timeout(null));
      expect(ms).toBeGreaterThan(HEADERS_MS - 50);
    });

    test.concurrent.each<[name: string, sent: string | Buffer]>([
      ['no body', `${start}Content-Length: ${body.length}\r\n\r\n`],
      ['half a body', `${start}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`],
      ['no last chunk', `${start}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`],
      [
        'half a packed body',
        Buffer.concat([
          Buffer.from(`${start}Content-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`),
          packed.subarray(0, 22),
        ]),
      ],
    ])('%s', async (_, sent) => {
      const { text: reply, ms } = await (await talk(sent)).ended;
      expect(parseReply(reply)).toMatchObject(timeout('game.list'));
      expect(parseReply(reply).headers['x-request-id']).toBe('slow');
      expect(ms).toBeGreaterThan(REQUEST_MS - 50);
    });

    test.concurrent('a body that trickles in', async () => {
      const { socket, ended } = await talk(`${start}Content-Length: 60000\r\n\r\n`);
      const trickle = setInterval(() => socket.write(' '), 20);
      const { text: reply } = await ended;
      clearInterval(trickle);
      expect(parseReply(reply)).toMatchObject(timeout('game.list'));
    });

    test.concurrent('not a second time, if it was answered before it had come', async () => {
      const { text: reply, ms } = await (await talk(`${start}Content-Length: 1000000\r\n\r\n`)).ended;
      expect(parseReply(reply).status).toBe(413);
      expect(reply.lastIndexOf('HTTP/1.1')).toBe(0);
      expect(ms).toBeGreaterThan(REQUEST_MS - 50);
    });

    test.concurrent('without a word, if there was none', async () => {
      const { text: reply } = await (await talk('', patient)).ended;
      expect(reply).toBe('');
    });

    test.concurrent('but a connection may rest between two requests', async () => {
      const { socket, ended } = await talk('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      await sleep(REQUEST_MS + HEADERS_MS);
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      expect((await ended).text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
    });
  });

  describe('an answer that is not taken', () => {
    /** Several times what the kernel keeps for a slow reader. */
    const LARGE = 40_000_000;
    const answer = Buffer.alloc(LARGE);
    const listeners: HttpServer[] = [];
    afterAll(() => Promise.all(listeners.map((listener) => listener.stop(0))));

    const listen = async (more: Partial<HttpServerLimits>, onClose = () => {}): Promise<string> => {
      const listener = new HttpServer(
        (_request, response) => {
          response.once('close', onClose).writeHead(200, { 'Content-Length': LARGE });
          response.end(answer);
        },
        { limits: { sweepMs: 50, ...more } },
      );
      listeners.push(listener);
      return `http://127.0.0.1:${await listener.listen(0, '127.0.0.1')}`;
    };
    const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

    test.concurrent('is given up', async () => {
      let close!: () => void;
      const closed = new Promise<void>((resolve) => (close = resolve));
      const { read } = await startSilentReader(await listen({ answerIdleMs: ANSWER_IDLE_MS }, close), request);
      await closed;
      expect(await read()).toMatchObject({ whole: false });
    });

    test.concurrent('waits for a slow reader', async () => {
      const { read } = await startSilentReader(await listen({ answerIdleMs: ANSWER_IDLE_MS }), request);
      const started = performance.now();
      const { whole } = await read({ bytes: LARGE / 40, everyMs: (3 * ANSWER_IDLE_MS) / 40 });
      expect(whole).toBe(true);
      expect(performance.now() - started).toBeGreaterThan(2 * ANSWER_IDLE_MS);
    });

    test.concurrent('makes room for another, the oldest first', async () => {
      const server = await listen({ answerIdleMs: 60_000, heldBytes: 1.5 * LARGE });
      const first = await startSilentReader(server, request);
      await sleep(300);
      const second = await startSilentReader(server, request);
      await sleep(300);
      expect(await first.read()).toMatchObject({ whole: false });
      expect(await second.read()).toMatchObject({ whole: true });
    });
  });

  test.concurrent('a connection that breaks ends all that was asked on it', async () => {
    let asked = 0;
    let ended = 0;
    const listener = new HttpServer(
      (_request, response) => {
        asked += 1;
        response.once('close', () => (ended += 1));
        // The second and third wait behind the first, which is not answered.
        if (asked > 1) response.end('{}');
      },
      { limits: { sweepMs: 50 } },
    );
    const port = await listener.listen(0, '127.0.0.1');
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3));
    while (asked < 3) await sleep(10);
    socket.destroy();
    await sleep(300);
    const complete = await listener.stop(0);
    expect({ ended, complete }).toEqual({ ended: 3, complete: true });
  });
});
