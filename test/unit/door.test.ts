import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { Door } from '../../src/http/door.ts';

const CALLERS = 100;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

/** An HTTP server with the door, and how many had come in when it first heard a request. */
const aServer = async () => {
  const seen = { connections: 0, atFirstRequest: 0, requests: 0 };
  const server = createServer((_request, response) => {
    if (seen.requests === 0) seen.atFirstRequest = seen.connections;
    seen.requests += 1;
    response.end('answer');
  });
  server.on('connection', () => (seen.connections += 1));
  new Door().attachTo(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, seen, port: (server.address() as AddressInfo).port };
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
