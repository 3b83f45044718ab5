import { once } from 'node:events';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

/** Headers that belong to one connection. */
const OF_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'content-encoding', 'host'];

const passedOn = (headers) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.includes(name)));

/**
 * Starts a server on a free port that passes requests on to another and keeps what was said.
 *
 * @param target where the other is, `http://127.0.0.1:3000`
 * @param options `onStream`, called when a stream of events has begun; `refuses`, which gets the headers of a request
 *   and the exchanges before it, and says whether the request is answered with 503, to be tried again at once
 * @returns `url`; `exchanges`, in their order: `{path, headers, body, status}`, the body as text; and `stop`
 */
export const startRecorder = async (target, { onStream = () => {}, refuses = () => false } = {}) => {
  const exchanges = [];
  const passOn = async (request, response) => {
    const body = await buffer(request);
    const { url: path, method, headers } = request;
    if (refuses(headers, exchanges)) {
      exchanges.push({ path, headers, body: body.toString(), status: 503 });
      response.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': '0' }).end('{}');
      return;
    }
    const reply = await fetch(target + path, {
      method,
      headers: passedOn(headers),
      body: body.length > 0 ? body : undefined,
    });
    exchanges.push({ path, headers, body: body.toString(), status: reply.status });
    response.writeHead(reply.status, passedOn(Object.fromEntries(reply.headers)));
    response.flushHeaders();
    if (reply.headers.get('content-type')?.startsWith('text/event-stream')) onStream();
    await pipeline(Readable.fromWeb(reply.body), response);
  };
  const server = createServer((request, response) => {
    passOn(request, response).catch((error) => response.destroy(error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    exchanges,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
