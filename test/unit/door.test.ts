import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, Server as NetServer, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Door } from '../../src/http/door.ts';

const CALLERS = 100;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

/** An HTTP server with the door, and how many had come in when it first heard a request. */
const aServer = async (work = () => {}) => {
  const seen = { connections: 0, atFirstRequest: 0, requests: 0 };
  const server = createServer((_request, response) => {
    if (seen.requests === 0) seen.atFirstRequest = seen.connections;
    seen.requests += 1;
    work();
    response.end('answer');
  });
  const door = new Door(server);
  server.on('connection', () => (seen.connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, door, seen, port: (server.address() as AddressInfo).port };
};

const answerOf = async (socket: Socket): Promise<string> => String((await once(socket, 'data'))[0]);

test('lets a crowd come in before it listens to any of it, and then to all of it', async () => {
  const { server, seen, port } = await aServer();
  const sockets = Array.from({ length: CALLERS }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) socket.write(REQUEST);
  const answers = await Promise.all(sockets.map(answerOf));
  expect(answers.every((answer) => answer.endsWith('answer'))).toBe(true);
  expect(seen).toMatchObject({ connections: CALLERS, requests: CALLERS });
  // Less than all where the machine is slow: nobody is held for long.
  expect(seen.atFirstRequest).toBeGreaterThan(CALLERS / 4);
  for (const socket of sockets) socket.destroy();
  server.close();
});

test('listens first to who came last', async () => {
  const { server, port } = await aServer(() => {
    const until = performance.now() + 1;
    while (performance.now() < until);
  });
  const order: number[] = [];
  const sockets = Array.from({ length: CALLERS }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) socket.write(REQUEST);
  await Promise.all(sockets.map(async (socket, index) => (await answerOf(socket), order.push(index))));
  expect(order.indexOf(CALLERS - 1)).toBeLessThan(CALLERS / 2);
  expect(order.indexOf(0)).toBeGreaterThan(CALLERS / 2);
  for (const socket of sockets) socket.destroy();
  server.close();
});

test('is empty once all who stood there are in', async () => {
  const { server, door, seen, port } = await aServer();
  const sockets = Array.from({ length: CALLERS }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) socket.write(REQUEST);
  const answers = Promise.all(sockets.map(answerOf));
  await door.whenEmpty(10_000);
  expect(seen.connections).toBe(CALLERS);
  // Nobody is reset who came before.
  NetServer.prototype.close.call(server);
  expect(await answers).toHaveLength(CALLERS);
  for (const socket of sockets) socket.destroy();
});

test('hears what comes later on the same connection, and who leaves meanwhile', async () => {
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
  test('are begun some at each turn, in their order, and told how long they waited', async () => {
    const door = new Door(new NetServer());
    const begun: number[] = [];
    const waited: number[] = [];
    for (let index = 0; index < 1000; index += 1) {
      door.hear((waitedMs) => {
        begun.push(index);
        waited.push(waitedMs);
      });
    }
    const share = begun.length;
    expect(share).toBeGreaterThan(10);
    expect(share).toBeLessThan(500);
    expect(waited.every((ms) => ms === 0)).toBe(true);
    await sleep(20);
    while (begun.length < 1000) {
      const before = begun.length;
      await turn();
      expect(begun.length - before).toBeLessThanOrEqual(share);
    }
    expect(begun).toEqual(begun.map((_, index) => index));
    expect(waited.at(-1)).toBeGreaterThan(0);
    // All is as before.
    door.hear((waitedMs) => waited.push(waitedMs));
    expect(waited.at(-1)).toBe(0);
  });

  test('wait while others come in, but not for all of them, nor for long', async () => {
    const server = new NetServer();
    const door = new Door(server);
    let isHeard = false;
    const began = performance.now();
    let came = 0;
    const come = (): void => {
      came += 1;
      server.emit('connection', { resume: () => undefined });
    };
    come();
    door.hear(() => (isHeard = true));
    expect(isHeard).toBe(false);
    while (!isHeard) {
      come();
      await turn();
    }
    expect(came).toBeGreaterThan(10);
    expect(came).toBeLessThan(1000);
    expect(performance.now() - began).toBeLessThan(1000);
  });
});
