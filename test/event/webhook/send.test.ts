/**
 * @engines none
 * @tier fast
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
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
const says = (name: string, bytes: string, answer: Partial<Answer>): End => [
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
});
