import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { counted } from '../../../contract/text.ts';
import { bodyOf, failureInStream } from './bodies.ts';
import { play } from './play.ts';
import { keepSilence } from './silence.ts';
import type { Vector } from './vector.ts';

/** A received request. */
interface Seen {
  method: string;
  /** The path after the base URL of the vector. */
  path: string;
  headers: IncomingMessage['headers'];
  /** The body; for a GET, its `input`. */
  body: string;
  /** The number of the vector's requests in progress on arrival, including this one. */
  atOnce: number;
  /** The reply to it; null after the last reply of the vector. */
  reply: { status: number; headers: Record<string, string>; body: string } | null;
}

/** Hosts that do not exist: clients reach one through the proxy that this server is; they call the other directly. */
const PROXIED_HOST = 'gateway.invalid';
const DIRECT_HOST = 'direct.invalid';
/** Longer bodies are not reported. */
const MAX_TOLD_BODY = 65_536;

export interface MockServer {
  /** `http://127.0.0.1:4010` */
  url: string;
  stop: () => void;
}

const HOST = '127.0.0.1';
/** The key for clients: well-formed, and unknown to all gateways. */
export const VECTOR_KEY = 'cgk_vectors00000000000000000000000002sQ9nO';

/** A port without a listener: systems give none below 1024 to programs that ask for any. `fetch` refuses port 1. */
const REFUSED_PORT = 2;

const answer = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
};

/**
 * Serves scripted exchanges, which test the behavior of clients.
 *
 * - `GET /vectors?run=go` lists the tasks of a client for the run `go`: for each vector its name, its call, the base
 *   URL to call, the key to use or null, and the offset of its clock.
 * - `POST /<run>/<vector>/api/trpc/<operation>` returns the replies of the vector in turn; so does `GET`.
 * - `GET /seen?run=go` returns all requests of a run, by vector.
 *
 * It is also a proxy, for the one host of the vectors whose client must use one: set `HTTP_PROXY` to its address, and
 * `NO_PROXY` to `direct.invalid`.
 */
export const startMockServer = async (vectors: readonly Vector[], port: number): Promise<MockServer> => {
  const byName = new Map(vectors.map((vector) => [vector.name, vector]));
  const runs = new Map<string, Map<string, Seen[]>>();
  const silence = await keepSilence();
  const seenIn = (run: string): Map<string, Seen[]> => {
    const seen = runs.get(run) ?? new Map<string, Seen[]>();
    runs.set(run, seen);
    return seen;
  };

  const origins = (own: string) => ({
    own,
    refused: `http://${HOST}:${REFUSED_PORT}`,
    silent: `http://${HOST}:${silence.port}`,
    proxy: `http://${PROXIED_HOST}`,
    'no-proxy': `http://${DIRECT_HOST}`,
  });
  const list = (run: string, own: string) =>
    vectors.map(({ name, call, keyed, clockOffsetSeconds, connect, typed }) => ({
      name,
      call,
      baseUrl: `${origins(own)[connect ?? 'own']}/${run}/${name}`,
      key: keyed ? VECTOR_KEY : null,
      ...(clockOffsetSeconds !== undefined && { clockOffsetSeconds }),
      ...(typed && { typed }),
    }));

  const underWay = new Map<string, number>();
  /** Counts a request until it is answered. Returns the number of requests in progress. */
  const count = (path: string, response: ServerResponse): number => {
    const atOnce = (underWay.get(path) ?? 0) + 1;
    underWay.set(path, atOnce);
    let isOver = false;
    const end = (): void => {
      if (!isOver) underWay.set(path, (underWay.get(path) ?? 1) - 1);
      isOver = true;
    };
    response.once('finish', end).once('close', end);
    return atOnce;
  };

  const exchange = async (
    request: IncomingMessage,
    response: ServerResponse,
    { pathname, searchParams }: URL,
    otherOrigin: string,
  ) => {
    const [, run = '', name = '', ...rest] = pathname.split('/');
    const vector = byName.get(name);
    if (!vector) {
      answer(response, 404, `There is no vector ${name}.`);
      return;
    }
    const seen = seenIn(run).get(name) ?? [];
    seenIn(run).set(name, seen);
    const { method = '', headers } = request;
    const reply = vector.replies[seen.length];
    const requestId = `request-${seen.length + 1}`;
    const body = reply ? bodyOf(reply, vector, requestId) : '';
    const told = reply?.stream ? failureInStream(reply, vector, requestId) : body;
    const atOnce = count(pathname, response);
    seen.push({
      method,
      path: `/${rest.join('/')}`,
      headers,
      body: method === 'GET' ? (searchParams.get('input') ?? '') : await text(request),
      atOnce,
      reply: reply ? { status: reply.status, headers: reply.headers, body: told.slice(0, MAX_TOLD_BODY) } : null,
    });
    if (reply) await play(response, reply, body, { requestId, otherOrigin });
    else answer(response, 500, `The vector ${name} has ${counted(vector.replies.length, 'reply', 'replies')}.`);
  };

  const listener: RequestListener = (request, response) => {
    const own = `http://${HOST}:${request.socket.localPort}`;
    const { url: target = '' } = request;
    const address = target.startsWith('/') ? own + target : target;
    if (!URL.canParse(address)) {
      answer(response, 400, `${target} is no path.`);
      return;
    }
    const url = new URL(address);
    const { pathname, searchParams, hostname } = url;
    const run = searchParams.get('run') ?? '';
    if (pathname === '/vectors') answer(response, 200, list(run, own));
    else if (pathname === '/seen') answer(response, 200, Object.fromEntries(seenIn(run)));
    // A client that uses a proxy names the host in the request line.
    else if (!target.startsWith('/') && hostname !== PROXIED_HOST)
      answer(response, 500, `${hostname} is not to be asked for through a proxy.`);
    // A caller that has disconnected needs no answer.
    else void exchange(request, response, url, own.replace(HOST, 'localhost')).catch(() => undefined);
  };
  const server = createServer(listener).listen(port, HOST);
  try {
    await once(server, 'listening');
  } catch (error) {
    silence.stop();
    throw error;
  }
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    stop: () => {
      silence.stop();
      server.close();
      server.closeAllConnections();
    },
  };
};
