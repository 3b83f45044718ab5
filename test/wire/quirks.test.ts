import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Listener } from '../../src/http/listener.ts';
import { startApp } from '../support/app.ts';
import { writeRaw } from '../support/raw-http.ts';

// What Node and Express leave to others: targets in absolute form, and requests that are sent before others are answered.

const app = await startApp();
afterAll(() => app.stop());

const post = (id: string, body: string, headers = ''): string =>
  `POST /api/trpc/${id} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\nContent-Type: application/json\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
const LIST = post('game.list', '{"json":{"limit":1,"page":1}}');
const STATS = post('game.getTypeStats', '{}');
const LAST = 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: last\r\nConnection: close\r\n\r\n';

/** Status and id of each reply, in their order; `-` for an id that the service chose. */
const answers = (received: string): string[] =>
  [...received.matchAll(/HTTP\/1\.1 ([2-5]\d\d)[^]*?^X-Request-Id: (\S+)\r$/gm)].map(
    ([, status, id = '']) => `${status} ${id.length === 36 ? '-' : id}`,
  );

describe('an absolute target', () => {
  test.each(['gateway.test', 'xn--a', '[', '[::1]:x', 'a:b@c:1:2', '%00', ''])(
    'names what follows its host, whatever that is: %j',
    async (host) => {
      const get = (path: string) =>
        writeRaw(app.url, `GET http://${host}${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(await get('/healthz')).toContain('{"status":"ok"}');
      expect(await get('/api/trpc/game.getTypeStats?input=%7B%7D')).toMatch(/^HTTP\/1\.1 200 /);
      expect(await get('/nowhere')).toContain('"reason":"ROUTE_NOT_FOUND"');
    },
  );

  test('without a path means the root', async () => {
    const get = (target: string) => writeRaw(app.url, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(await get('http://gateway.test')).toMatch(/^Location: docs\/\r$/m);
    expect(await get('http://gateway.test?input=1')).toMatch(/^Location: docs\/\r$/m);
  });
});

test('what is no HTTP is refused when all before is answered', async () => {
  const received = await writeRaw(app.url, `${LIST}${STATS}NOT HTTP\r\n\r\n`);
  expect(answers(received)).toEqual(['200 game.list', '200 game.getTypeStats', '400 -']);
});

describe('a body that waits to be asked for', () => {
  const expecting = post('image.list', '{"json":{"limit":1,"page":1}}', 'Expect: 100-continue\r\n');

  test('is asked for when all before is answered, not within an answer', async () => {
    const received = await writeRaw(app.url, LIST + expecting + STATS + LAST);
    expect(answers(received)).toEqual(['200 game.list', '200 image.list', '200 game.getTypeStats', '200 last']);
    expect(received).toMatch(/\}\}\}\}HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });

  test('is asked for at once where nothing is before it', async () => {
    expect(await writeRaw(app.url, expecting + LAST)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });
});

test('all replies are done with when the caller goes away, those too whose turn never came', async () => {
  let [begun, closed] = [0, 0];
  const listener = new Listener((_, response) => {
    begun += 1;
    response.once('close', () => (closed += 1));
  });
  const port = await listener.listen(0, '127.0.0.1');
  const socket = connect(port, '127.0.0.1', () => socket.write(LIST + STATS + LIST));
  while (begun < 3) await sleep(5);
  socket.resetAndDestroy();
  await once(socket, 'close');
  while (closed < 3) await sleep(5);
  expect(await listener.stop(1000)).toBe(true);
});
