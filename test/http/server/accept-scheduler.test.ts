/**
 * @engines none
 * @tier fast
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, Server as NetServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { AcceptScheduler } from '../../../src/http/server/accept-scheduler.ts';

const CALLERS = 100;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

/** A clock of milliseconds that passes only as told: how busy the machine is, does not count. */
const aClock = () => {
  let ms = 0;
  return { now: () => ms, pass: (more: number) => void (ms += more) };
};

/** An HTTP server with the scheduler, and how many connections it had accepted when it began the first request. */
const aServer = async (work = () => {}, now?: () => number) => {
  const seen = { connections: 0, atFirstRequest: 0, requests: 0 };
  const server = createServer((_request, response) => {
    if (seen.requests === 0) seen.atFirstRequest = seen.connections;
    seen.requests += 1;
    work();
    response.end('answer');
  });
  const scheduler = new AcceptScheduler(server, undefined, now);
  server.on('connection', () => (seen.connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, scheduler, seen, port: (server.address() as AddressInfo).port };
};

const answerOf = async (socket: Socket): Promise<string> => String((await once(socket, 'data'))[0]);

describe('accept scheduler', () => {
  test('accepts a crowd before it serves any of it, and then all of it', async () => {
    const { server, seen, port } = await aServer(undefined, aClock().now);
    const sockets = Array.from({ length: CALLERS }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) socket.write(REQUEST);
    const answers = await Promise.all(sockets.map(answerOf));
    expect(answers.every((answer) => answer.endsWith('answer'))).toBe(true);
    expect(seen).toMatchObject({ connections: CALLERS, requests: CALLERS });
    expect(seen.atFirstRequest).toBe(CALLERS);
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  test('reads first from the connections accepted last', async () => {
    const clock = aClock();
    const { server, port } = await aServer(() => clock.pass(1), clock.now);
    const order: number[] = [];
    const sockets = Array.from({ length: CALLERS }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) socket.write(REQUEST);
    await Promise.all(sockets.map(async (socket, index) => (await answerOf(socket), order.push(index))));
    expect(order.indexOf(CALLERS - 1)).toBeLessThan(CALLERS / 2);
    expect(order.indexOf(0)).toBeGreaterThan(CALLERS / 2);
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  test('is idle once all connections are accepted', async () => {
    const { server, scheduler, seen, port } = await aServer();
    const sockets = Array.from({ length: CALLERS }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) socket.write(REQUEST);
    const answers = Promise.all(sockets.map(answerOf));
    await scheduler.whenIdle(10_000);
    expect(seen.connections).toBe(CALLERS);
    // Nobody is reset who came before.
    NetServer.prototype.close.call(server);
    expect(await answers).toHaveLength(CALLERS);
    for (const socket of sockets) socket.destroy();
  });

  test('serves later requests of a connection, and survives callers that leave', async () => {
    const { server, seen, port } = await aServer();
    const left = connect(port, '127.0.0.1');
    await once(left, 'connect');
    left.destroy();
    const socket = connect(port, '127.0.0.1');
    for (let request = 0; request < 3; request += 1) {
      socket.write(REQUEST);
      expect(await answerOf(socket)).toContain('200 OK');
    }
    expect(seen.requests).toBe(3);
    socket.destroy();
    server.close();
    await once(server, 'close');
  });

  describe('requests that come all at once', () => {
    const lone = () => 'lone';

    test('begin some at each turn, in their order', async () => {
      const scheduler = new AcceptScheduler(new NetServer(), undefined, aClock().now);
      const begun: number[] = [];
      for (let index = 0; index < 1000; index += 1) scheduler.schedule(lone, () => begun.push(index));
      const share = begun.length;
      expect(share).toBeGreaterThan(10);
      expect(share).toBeLessThan(500);
      while (begun.length < 1000) {
        const before = begun.length;
        await turn();
        expect(begun.length - before).toBeLessThanOrEqual(share);
      }
      expect(begun).toEqual(begun.map((_, index) => index));
      // All is as before.
      await turn();
      scheduler.schedule(lone, () => begun.push(1000));
      expect(begun).toHaveLength(1001);
    });

    test('begin in turns of their callers', async () => {
      const scheduler = new AcceptScheduler(new NetServer(), undefined, aClock().now);
      let before: number | undefined;
      let begun = 0;
      for (let index = 0; index < 1000; index += 1)
        scheduler.schedule(
          () => 'greedy',
          () => (begun += 1),
        );
      const atOnce = begun;
      scheduler.schedule(lone, () => (before = begun));
      while (begun < 1000) await turn();
      expect(before).toBeLessThanOrEqual(atOnce + 1);
    });

    test('begin for some milliseconds at each turn, however dear they are', async () => {
      const clock = aClock();
      const scheduler = new AcceptScheduler(new NetServer(), undefined, clock.now);
      let begun = 0;
      const dear = (): void => {
        clock.pass(3);
        begun += 1;
      };
      for (let index = 0; index < 20; index += 1) scheduler.schedule(lone, dear);
      // After 3, 6 and 9 ms.
      expect(begun).toBe(3);
      for (let before = begun; begun < 20; before = begun) {
        await turn();
        expect(begun - before).toBeLessThanOrEqual(3);
      }
    });

    test('are told how long they would wait, by what waits before them and how fast it begins', async () => {
      const clock = aClock();
      const scheduler = new AcceptScheduler(new NetServer(), undefined, clock.now);
      const greedy = () => 'greedy';
      let begun = 0;
      const add = (): void =>
        scheduler.schedule(greedy, () => {
          clock.pass(1);
          begun += 1;
        });
      for (let index = 0; index < 600; index += 1) add();
      // Nothing is known of the rate yet.
      expect(scheduler.waitMs(greedy)).toBe(0);
      while (begun < 300) await turn();
      const [waitMs, since, left] = [scheduler.waitMs(greedy), clock.now(), 600 - begun];
      expect(scheduler.waitMs(lone)).toBeLessThan(waitMs / 10);
      while (begun < 600) await turn();
      const tookMs = clock.now() - since;
      expect(left).toBeGreaterThan(200);
      expect(waitMs / tookMs).toBeCloseTo(1, 1);
      expect(scheduler.waitMs(greedy)).toBe(0);
    });

    test('wait while connections are accepted, but not for all of them, nor for long', async () => {
      const server = new NetServer();
      const clock = aClock();
      const scheduler = new AcceptScheduler(server, undefined, clock.now);
      let isBegun = false;
      let accepted = 0;
      const accept = (): void => {
        clock.pass(2);
        accepted += 1;
        server.emit('connection', { resume: () => undefined });
      };
      accept();
      scheduler.schedule(lone, () => (isBegun = true));
      expect(isBegun).toBe(false);
      while (!isBegun) {
        accept();
        await turn();
      }
      // One each 2 ms, and the burst ends after 100 ms.
      expect(accepted).toBe(52);
    });
  });
});
