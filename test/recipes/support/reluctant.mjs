import { once } from 'node:events';
import { createServer } from 'node:http';

const PASSED_ON = ['authorization', 'content-type', 'idempotency-key'];

/**
 * Starts what passes calls on to a gateway, but answers the first attempt of each with 503. Calls are told apart by their
 * `Idempotency-Key`.
 *
 * @returns `url`, `attempts` by the key of a call, and `stop`
 */
export const startReluctant = async (gateway) => {
  const attempts = new Map();
  const answer = async (request, response) => {
    const key = request.headers['idempotency-key'];
    attempts.set(key, (attempts.get(key) ?? 0) + 1);
    const body = Buffer.concat(await request.toArray());
    if (attempts.get(key) === 1) {
      response.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': '0' }).end('{}');
      return;
    }
    const headers = Object.fromEntries(PASSED_ON.map((name) => [name, request.headers[name] ?? '']));
    const reply = await fetch(gateway + request.url, { method: request.method, headers, body });
    const received = Buffer.from(await reply.arrayBuffer());
    response.writeHead(reply.status, { 'Content-Type': reply.headers.get('content-type') }).end(received);
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    attempts,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
