/**
 * @engines sqlite
 * @tier fast
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { HttpServer } from '../../src/http/server/http-server.ts';
import { startApp } from '../harness/app/app.ts';

// What one connection may have the service read: requests that wait for answers, and the chunks of a body.

const app = await startApp();
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});
afterAll(() => app.stop());

interface Caller {
  socket: Socket;
  heard(): string;
  /** Resolves when the service closes the connection. */
  closed: Promise<unknown>;
}

const open = async (): Promise<Caller> => {
  const { hostname, port } = new URL(app.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  sockets.add(socket);
  let heard = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (heard += chunk));
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  return { socket, heard: () => heard, closed };
};

const heads = (text: string): string[] => text.match(/HTTP\/1\.1 \d+/g) ?? [];
const idsOf = (text: string): string[] => [...text.matchAll(/x-request-id: ([\w-]+)/gi)].map(([, id]) => id ?? '');

const BODY = '{"json":{"limit":1,"page":1}}';
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const postTo = (id: string, name: string): string =>
  `POST /api/trpc/${id} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${name}\r\nContent-Type: application/json\r\n`;
const chunked = 'Transfer-Encoding: chunked\r\n\r\n';

describe('pipelined requests', () => {
  const requestAt = (index: number): string => {
    const name = `r-${index}`;
    const start = postTo('game.list', name);
    const requests = [
      `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${name}\r\n\r\n`,
      `${start}Content-Length: ${BODY.length}\r\n\r\n${BODY}`,
      `${start}${chunked}${chunk(BODY.slice(0, 7))}${chunk(BODY.slice(7))}0\r\n\r\n`,
      `${start}Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
    ];
    return requests[index % requests.length] as string;
  };
  const COUNT = 300;
  const indices = Array.from({ length: COUNT }, (_, index) => index);
  const sent = indices.map(requestAt).join('');

  test.each([
    ['at once', sent.length],
    ['in small writes', 1013],
  ])('are all answered, in order, when sent %s', async (_, size) => {
    const { socket, heard } = await open();
    for (let at = 0; at < sent.length; at += size) {
      socket.write(sent.slice(at, at + size));
      if (size < sent.length) await new Promise(setImmediate);
    }
    while (idsOf(heard()).length < COUNT) await once(socket, 'data');
    expect(idsOf(heard())).toEqual(indices.map((index) => `r-${index}`));
    expect(new Set(heads(heard()))).toEqual(new Set(['HTTP/1.1 200', 'HTTP/1.1 100']));
  });

  test('wait unread while 33 are not answered', async () => {
    let running = 0;
    let most = 0;
    const begun: (() => void)[] = [];
    const listener = new HttpServer((_request, response) => {
      running += 1;
      most = Math.max(most, running);
      begun.push(() => {
        running -= 1;
        response.end('x');
      });
    });
    const { hostname, port } = new URL(`http://127.0.0.1:${await listener.listen(0, '127.0.0.1')}`);
    const socket = connect(Number(port), hostname);
    sockets.add(socket);
    let heard = '';
    socket.on('data', (bytes: Buffer) => (heard += bytes.toString()));
    socket.write('GET /a HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(500));
    while (running < 33) await new Promise((resolve) => setTimeout(resolve, 5));
    while (heads(heard).length < 500) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      for (const end of begun.splice(0)) end();
    }
    await listener.stop(0);
    expect(most).toBe(33);
  });
});

describe('a body in chunks', () => {
  const start = `${postTo('game.list', 'chunks')}${chunked}`;

  test('is refused if they are too many for its bytes', async () => {
    const { socket, heard } = await open();
    socket.write(`${start}${chunk(' ').repeat(20_000)}`);
    await once(socket, 'end');
    expect(heads(heard())).toEqual(['HTTP/1.1 400']);
    expect(heard()).toContain('"reason":"BAD_HTTP_REQUEST"');
    expect(heard()).toContain('too many chunks');
    expect(heard()).toMatch(/connection: close/i);
  });

  test.each([
    ['1000 of one byte', 1, 1000],
    ['16 Ki of 64 bytes', 64, 16 * 1024],
  ])('is read: %s', async (_, size, count) => {
    const { key } = await app.aUser();
    const { socket, heard } = await open();
    const padding = chunk(' '.repeat(size)).repeat(count - 1);
    const last = chunk('{}'.padEnd(size));
    const head = postTo('game.create', 'chunks').replace('Host', `Authorization: Bearer ${key}\r\nHost`);
    socket.write(`${head}${chunked}${padding}${last}0\r\n\r\n`);
    while (!heard().includes('"reason"')) await once(socket, 'data');
    expect(heard()).toContain('"reason":"VALIDATION_FAILED"');
    expect(heard()).not.toMatch(/connection: close/i);
  });

  test.each([
    ['404', postTo('no.such', 'early'), 64],
    ['401', postTo('user.me', 'early'), 64],
    ['413', postTo('game.list', 'early'), 16_384],
  ])('that is answered early with %s is not read on', async (status, head, size) => {
    const { socket, heard, closed } = await open();
    const block = chunk('x'.repeat(size)).repeat(Math.ceil(131_072 / size));
    socket.write(`${head}${chunked}${block}`);
    while (!heard().includes('"reason"')) await once(socket, 'data');
    expect(heads(heard())).toEqual([`HTTP/1.1 ${status}`]);
    expect(heard()).toMatch(/connection: close/i);
    // It takes some more, so that the caller gets to read the answer, and then no more.
    const more = Buffer.from(block.repeat(16));
    let sent = 0;
    const send = (): void => {
      while (!socket.destroyed && sent < 256 * 1024 * 1024) {
        sent += more.length;
        if (!socket.write(more)) {
          socket.once('drain', send);
          return;
        }
      }
    };
    send();
    await closed;
    expect(heads(heard())).toHaveLength(1);
  });

  test.each([
    ['an early answer', postTo('no.such', 'r-0')],
    ['a health check', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: r-0\r\n'],
  ])('that comes whole with its request leaves the connection open after %s', async (_, head) => {
    const { socket, heard } = await open();
    socket.write(`${head}${chunked}${chunk(BODY)}0\r\n\r\n`);
    while (idsOf(heard()).length < 1) await once(socket, 'data');
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: r-1\r\n\r\n');
    while (idsOf(heard()).length < 2) await once(socket, 'data');
    expect(heard()).not.toMatch(/connection: close/i);
  });

  test('behind a large answer does not keep the service from seeing the end of the connection', async () => {
    const { socket, heard, closed } = await open();
    const large = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\nX-Request-Id: r-0\r\n\r\n';
    socket.write(large.repeat(3) + `${start}${chunk(BODY)}0\r\n\r\n`.repeat(2));
    while (idsOf(heard()).length < 5) await once(socket, 'data');
    socket.end();
    await closed;
    expect(new Set(heads(heard()))).toEqual(new Set(['HTTP/1.1 200']));
  });

  test('that is sent whole before the answer is read gets its answer', async () => {
    const { socket, heard, closed } = await open();
    socket.pause();
    socket.write(`${start}${chunk('x'.repeat(16_384)).repeat(256)}0\r\n\r\n`);
    await once(socket, 'drain');
    socket.resume();
    await once(socket, 'end');
    expect(heads(heard())).toEqual(['HTTP/1.1 413']);
    socket.end();
    await closed;
  });
});

describe('a body of known length', () => {
  const MIB = 1024 * 1024;
  // Each caller hears that the connection will close, by its own wish or the version of HTTP, and sends the rest all the same.
  const closing = [
    ['HTTP/1.1', 'Connection: close\r\n'],
    ['HTTP/1.0', ''],
  ] as const;
  const refusals = [
    ['404', 'no.such', 3 * MIB],
    ['401', 'user.me', 3 * MIB],
    ['413', 'game.list', 3 * MIB],
  ] as const;

  test.each(closing.flatMap(([version, header]) => refusals.map((refusal) => [version, header, ...refusal] as const)))(
    'that comes after its answer does not break the connection: %s %s%s',
    async (version, header, status, id, length) => {
      const { socket, heard, closed } = await open();
      const errors: unknown[] = [];
      socket.on('error', (error) => errors.push(error));
      const head = postTo(id, 'early').replace('HTTP/1.1', version);
      socket.write(`${head}${header}Content-Length: ${length}\r\n\r\n{`);
      await once(socket, 'end');
      for (let sent = 1; sent < length; sent += 65_536) {
        const isDrained = socket.write(Buffer.alloc(Math.min(65_536, length - sent), 'x'));
        if (!isDrained) await once(socket, 'drain');
      }
      socket.end();
      await closed;
      expect(errors).toEqual([]);
      expect(heads(heard())).toEqual([`HTTP/1.1 ${status}`]);
      expect(heard()).toContain('"reason"');
    },
  );

  test.each([
    ['is read to its end, for the next request', MIB, false],
    ['closes the connection if it is huge', 64 * MIB, true],
  ])('that is refused %s', async (_, length, closes) => {
    const { socket, heard } = await open();
    socket.write(`${postTo('no.such', 'r-0')}Content-Length: ${length}\r\n\r\n`);
    while (idsOf(heard()).length < 1) await once(socket, 'data');
    expect(/connection: close/i.test(heard())).toBe(closes);
    if (closes) return;
    socket.write('x'.repeat(length));
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: r-1\r\n\r\n');
    while (idsOf(heard()).length < 2) await once(socket, 'data');
    expect(heads(heard())).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200']);
  });

  test('is read no longer than its limit after the answer', async () => {
    const { socket, heard, closed } = await open();
    socket.write(`${postTo('no.such', 'r-0')}Connection: close\r\nContent-Length: ${64 * MIB}\r\n\r\n`);
    await once(socket, 'end');
    const block = Buffer.alloc(65_536, 'x');
    let sent = 0;
    const send = (): void => {
      while (!socket.destroyed && sent < 64 * MIB) {
        sent += block.length;
        if (socket.write(block)) continue;
        socket.once('drain', send);
        return;
      }
    };
    send();
    await closed;
    expect(sent).toBeLessThan(64 * MIB);
    expect(heads(heard())).toEqual(['HTTP/1.1 404']);
  });
});
