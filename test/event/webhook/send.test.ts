/**
 * @engines none
 * @tier fast
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { challengeFlaw } from '../../../src/event/webhook/sender/challenges.ts';
import { type Answer, send } from '../../../src/event/webhook/sender/send.ts';

// Plays all ends that an exchange can have, byte by byte.

const OK = 'HTTP/1.1 200 OK\r\n';
const NOTHING = 'It did not answer within 0.3 seconds.';

type End = readonly [name: string, play: (socket: Socket) => void, answer: Partial<Answer>];
const writes = (name: string, bytes: string, answer: Partial<Answer>): End => [
  name,
  (socket) => socket.write(bytes),
  answer,
];
const says = (name: string, bytes: string | Buffer, answer: Partial<Answer>): End => [
  name,
  (socket) => socket.end(bytes),
  answer,
];
const failed = (why: string): Partial<Answer> => ({
  status: undefined,
  text: expect.stringContaining(why) as unknown as string,
});
const silent = failed(NOTHING);
const broken = failed('The connection failed: ');
/** Sends a text again and again. */
const repeats =
  (beginning: string, text: string) =>
  (socket: Socket): void => {
    socket.write(beginning);
    const more = setInterval(() => socket.write(text), 5);
    socket.once('close', () => clearInterval(more));
  };

const coded = (coding: string): Buffer => Buffer.from(`${OK}Content-Encoding: ${coding}\r\n\r\n`);
const OTHER_CODING = 'a Content-Encoding other than gzip and deflate';

const ends: readonly End[] = [
  ['nothing', () => undefined, silent],
  ['the end of the connection', (socket) => socket.end(), broken],
  ['a reset', (socket) => socket.resetAndDestroy(), broken],
  ['a reset amid the headers', (socket) => socket.write(`${OK}Content-Le`, () => socket.resetAndDestroy()), broken],
  says('an end amid the headers', `${OK}Content-Le`, broken),
  writes('half of the headers', `${OK}Content-Le`, silent),
  writes('101 with an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n', {
    status: 101,
  }),
  [
    '101 with an upgrade, and a reset',
    (socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nbytes', () =>
        socket.resetAndDestroy(),
      ),
    { status: 101 },
  ],
  writes('101 without an upgrade', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', { status: 101 }),
  writes('200 with an upgrade', `${OK}Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\nok`, {
    status: 200,
    text: 'ok',
  }),
  writes('100 alone', 'HTTP/1.1 100 Continue\r\n\r\n', silent),
  ['103 again and again', repeats('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'), silent],
  writes('102, then an answer', `HTTP/1.1 102 Processing\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`, { status: 200 }),
  writes('a body shorter than it says', `${OK}Content-Length: 9\r\n\r\nok`, silent),
  says('a body that ends early', `${OK}Content-Length: 9\r\n\r\nok`, broken),
  writes('chunks without an end', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n`, silent),
  ['chunks again and again', repeats(`${OK}Transfer-Encoding: chunked\r\n\r\n`, '1\r\no\r\n'), silent],
  ['headers again and again', repeats(OK, 'A: b\r\n'), silent],
  writes('a chunk that is none', `${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, broken),
  [
    'a reset amid the body',
    (socket) => socket.write(`${OK}Content-Length: 9\r\n\r\nok`, () => socket.resetAndDestroy()),
    broken,
  ],
  writes('a body without a length', `${OK}\r\nok`, silent),
  says('a body up to the end', `${OK}\r\nok`, { status: 200, text: 'ok' }),
  says('more than is read', `${OK}\r\n${'x'.repeat(1_000_000)}`, { status: 200, body: 'x'.repeat(65_536) }),
  says('gzip that is cut off', Buffer.concat([coded('gzip'), gzipSync('x'.repeat(99)).subarray(0, -9)]), {
    text: expect.stringMatching(/^x+$/) as unknown as string,
  }),
  says('br', Buffer.concat([coded('br'), brotliCompressSync('ok')]), {
    text: `It answered with ${OTHER_CODING}.`,
  }),
  writes('headers without end', `${OK}A: ${'a'.repeat(100_000)}`, broken),
  writes('bytes that are no HTTP', '\u0016\u0003\u0001\u0002', broken),
  writes('two answers', `${OK}Content-Length: 2\r\n\r\nok`.repeat(2), { status: 200 }),
  writes('204 with a body', 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok', { status: 204 }),
  writes('no status', 'HTTP/1.1 \r\n\r\n', broken),
  writes('a status of its own', 'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n', { status: 999 }),
];

describe('an exchange with an endpoint', () => {
  let server: Server;
  let play: (socket: Socket) => void;
  const closed: Promise<unknown>[] = [];
  beforeAll(async () => {
    server = createServer({ allowHalfOpen: true }, (socket) => {
      closed.push(new Promise((resolve) => socket.once('close', resolve)));
      socket.on('error', () => undefined);
      // As soon as the request begins to come.
      socket.once('data', () => play(socket));
      socket.on('end', () => socket.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    server.close();
  });

  test.each(ends)('ends and leaves no connection, where it is answered by %s', async (_, end, expected) => {
    play = end;
    const { port } = server.address() as AddressInfo;
    const policy = { allowed: ['127.0.0.0/8'], ports: [port], allowsHttp: true };
    const message = { url: `http://127.0.0.1:${port}/`, headers: {}, body: '{}' };
    // Only where nothing more comes is the time to end.
    const answer = await send(message, policy, undefined, expected === silent ? 300 : 20_000);
    expect(answer).toMatchObject(expected);
    await Promise.all(closed.splice(0));
  });

  const CHALLENGE = 'n7mGqL2b0yq1u6cI5v3W8w';
  const right = JSON.stringify({ challenge: CHALLENGE });
  const bomb = Buffer.alloc(60_000_000, ' ');
  test.each<[string, string, string | Buffer, string | undefined]>([
    ['the text', '', right, undefined],
    ['white space around it', '', ` \r\n${right}\n`, undefined],
    ['a byte order mark', '', `\uFEFF${right}`, undefined],
    ['gzip', 'gzip', gzipSync(right), undefined],
    ['gzip with a byte order mark', 'GZIP', gzipSync(`\uFEFF${right}`), undefined],
    ['x-gzip', 'x-gzip', gzipSync(right), undefined],
    ['deflate', 'deflate', deflateSync(right), undefined],
    ['deflate without a header', 'deflate', deflateRawSync(right), undefined],
    ['no encoding by its name', 'identity', right, undefined],
    ['br', 'br', brotliCompressSync(right), OTHER_CODING],
    ['gzip twice', 'gzip, gzip', gzipSync(gzipSync(right)), OTHER_CODING],
    ['an encoding that every object has', 'constructor', right, OTHER_CODING],
    ['no gzip', 'gzip', right, 'a body that is not compressed as its Content-Encoding says'],
    ['a bomb', 'gzip', gzipSync(bomb), 'more than 64 KiB'],
    ['much space', '', right.padEnd(70_000), 'more than 64 KiB'],
    ['nothing', '', '', 'an empty body'],
    ['nothing by gzip', 'gzip', '', 'an empty body'],
    ['white space', '', ' \n', 'an empty body'],
    ['bare text', '', CHALLENGE, 'text that is no JSON'],
    ['UTF-16', '', Buffer.from(`\uFEFF${right}`, 'utf16le'), 'text that is no JSON'],
    ['a string', '', JSON.stringify(CHALLENGE), 'JSON without `challenge`'],
    ['null', '', 'null', 'JSON without `challenge`'],
    ['a list', '', `[${right}]`, 'JSON without `challenge`'],
    ['another text', '', '{"challenge": "another"}', 'another text in `challenge`'],
    ['a null', '', '{"challenge": null}', 'another text in `challenge`'],
  ])('with %s as the answer to a challenge is right, or it says what is wrong', async (_, coding, body, flaw) => {
    play = (socket) => socket.end(Buffer.concat([coded(coding), Buffer.from(body)]));
    const { port } = server.address() as AddressInfo;
    const policy = { allowed: ['127.0.0.0/8'], ports: [port], allowsHttp: true };
    const answer = await send({ url: `http://127.0.0.1:${port}/`, headers: {}, body: '{}' }, policy);
    expect(challengeFlaw(answer, CHALLENGE)).toBe(flaw);
    expect(answer.body.length).toBeLessThanOrEqual(65_536);
    await Promise.all(closed.splice(0));
  });
});
