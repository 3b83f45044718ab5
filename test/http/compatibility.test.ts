/**
 * @engines sqlite
 * @tier fast
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HttpServer } from '../../src/http/server/http-server.ts';
import { startApp } from '../harness/app/app.ts';
import { writeRaw } from '../harness/http/raw-http.ts';

// What Node and Express leave to others: targets in absolute form, and requests that are sent before others are answered.

const app = await startApp();
describe('HTTP compatibility', () => {
  afterAll(() => app.stop());

  const post = (id: string, body: string): string =>
    `POST /api/trpc/${id} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const LIST = post('game.list', '{"json":{"limit":1,"page":1}}');
  const STATS = post('game.getTypeStats', '{}');

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
      const get = (target: string) =>
        writeRaw(app.url, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(await get('http://gateway.test')).toContain('<!doctype html>');
      expect(await get('http://gateway.test?input=1')).toContain('<!doctype html>');
    });
  });

  test('what is no HTTP is refused when all before is answered', async () => {
    const received = await writeRaw(app.url, `${LIST}${STATS}NOT HTTP\r\n\r\n`);
    expect(answers(received)).toEqual(['200 game.list', '200 game.getTypeStats', '400 -']);
  });

  describe('a body that waits to be asked for', () => {
    const listener = new HttpServer(({ url }, response) => {
      const answer = () => response.writeHead(200, ['Content-Length', '2']).end(Buffer.from('ok'));
      if (url === '/slow') setTimeout(answer, 100);
      else answer();
    });
    let url: string;
    beforeAll(async () => {
      url = `http://127.0.0.1:${await listener.listen(0, '127.0.0.1')}`;
    });
    afterAll(() => listener.stop(1000));

    const slow = 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n';
    const expecting = 'POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}';
    const last = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    /** First lines and bodies of replies. */
    const told = (received: string) => received.match(/HTTP\/1\.1 \d+|ok/g);
    const [invited, answered] = [['HTTP/1.1 100'], ['HTTP/1.1 200', 'ok']];

    test('is asked for when all before is answered, not within the answer', async () => {
      const received = await writeRaw(url, slow + expecting + last);
      expect(told(received)).toEqual([...answered, ...invited, ...answered, ...answered]);
    });

    test('is asked for at once where nothing is before it', async () => {
      expect(told(await writeRaw(url, expecting + last))).toEqual([...invited, ...answered, ...answered]);
    });
  });

  test('all replies are done with when the caller goes away, those too whose turn never came', async () => {
    let [begun, closed] = [0, 0];
    const listener = new HttpServer((_, response) => {
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
});
