import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { startApp } from '../support/app.ts';
import { largeGame, largeRequest, startSilentReader } from '../support/large-answers.ts';
import { parseReply } from '../support/raw-http.ts';

// How long the service waits for a caller: for its request, and for it to take its answer. All times are short here.

const HEADERS_MS = 300;
const REQUEST_MS = 500;
const ANSWER_IDLE_MS = 700;
const LARGE = 5_000_000;

const patience = { headersMs: HEADERS_MS, requestMs: REQUEST_MS, checkMs: 50, sweepMs: 50, lingerMs: 100 };
const app = await startApp({ edge: { ...patience, answerIdleMs: ANSWER_IDLE_MS } });
/** Has room for one large answer, not for two, and all the time there is. */
const small = await startApp({ edge: { ...patience, answerIdleMs: 60_000, unsentBytes: 1.6 * LARGE } });
afterAll(async () => {
  await app.stop();
  await small.stop();
});
const large = largeRequest((await app.aGame(largeGame)).id);
const largeForSmall = largeRequest((await small.aGame(largeGame)).id);

interface Talk {
  socket: Socket;
  /** Resolves when the server ends the connection, with all that it said, and when. */
  ended: Promise<{ text: string; ms: number }>;
}

const talk = async (text: string | Buffer): Promise<Talk> => {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  const started = performance.now();
  let heard = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (heard += chunk));
  const ended = once(socket, 'close').then(() => ({ text: heard, ms: performance.now() - started }));
  await once(socket, 'connect');
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
          hint: 'Send the headers within 30 seconds, the whole request within 60.',
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
    const { text: reply, ms } = await (await talk(text)).ended;
    expect(parseReply(reply)).toMatchObject(timeout(null));
    expect(ms).toBeGreaterThan(HEADERS_MS - 50);
    expect(ms).toBeLessThan(10 * HEADERS_MS);
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
    expect(ms).toBeLessThan(10 * REQUEST_MS);
  });

  test.concurrent('a body that trickles in', async () => {
    const { socket, ended } = await talk(`${start}Content-Length: 100000\r\n\r\n`);
    const trickle = setInterval(() => socket.write(' '), 20);
    const { text: reply } = await ended;
    clearInterval(trickle);
    expect(parseReply(reply)).toMatchObject(timeout('game.list'));
  });

  test.concurrent('not a second time, if it was answered before it had come', async () => {
    const { text: reply, ms } = await (await talk(`${start}Content-Length: 9999999\r\n\r\n`)).ended;
    expect(parseReply(reply).status).toBe(413);
    expect(reply.lastIndexOf('HTTP/1.1')).toBe(0);
    expect(ms).toBeGreaterThan(REQUEST_MS - 50);
  });

  test.concurrent('without a word, if there was none', async () => {
    const { text: reply, ms } = await (await talk('')).ended;
    expect(reply).toBe('');
    expect(ms).toBeLessThan(10 * HEADERS_MS);
  });

  test.concurrent('but a connection may rest between two requests', async () => {
    const { socket, ended } = await talk('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await sleep(REQUEST_MS + HEADERS_MS);
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect((await ended).text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });
});

describe('an answer that is not taken', () => {
  test('is given up', async () => {
    const { read } = await startSilentReader(app.url, large);
    await sleep(2 * ANSWER_IDLE_MS);
    expect(await read()).toMatchObject({ whole: false });
  });

  test('waits for a slow reader', async () => {
    const { read } = await startSilentReader(app.url, large);
    const started = performance.now();
    const { bytes, whole } = await read({ bytes: LARGE / 20, everyMs: (2 * ANSWER_IDLE_MS) / 20 });
    expect(whole).toBe(true);
    expect(bytes).toBeGreaterThan(LARGE);
    expect(performance.now() - started).toBeGreaterThan(1.5 * ANSWER_IDLE_MS);
  });

  test('makes room for another, the oldest first', async () => {
    const first = await startSilentReader(small.url, largeForSmall);
    await sleep(400);
    const second = await startSilentReader(small.url, largeForSmall);
    await sleep(400);
    expect(await first.read()).toMatchObject({ whole: false });
    expect(await second.read()).toMatchObject({ whole: true });
  });
});
