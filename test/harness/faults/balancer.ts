import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** An HTTP balancer that asks the servers in turn which say that they are ready. */
export interface Balancer {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** How many servers have ceased to be ready so far. */
  left(): number;
  /** How many said at the last look that they are ready. */
  ready(): number;
  close(): Promise<void>;
}

/** How often it looks who is ready. */
const WATCH_MS = 50;

/** Starts a balancer in front of services on these ports; each request has a connection of its own to one of them. */
export const startBalancer = async (ports: readonly number[]): Promise<Balancer> => {
  let [turn, left] = [0, 0];
  const ready = new Set(ports);

  const look = async (port: number): Promise<void> => {
    const isReady = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) ready.add(port);
    else if (ready.delete(port)) left += 1;
  };
  const watch = setInterval(() => void Promise.all(ports.map(look)), WATCH_MS);

  /** @throws Error of Node when the connection fails */
  const ask = async ({ method, url, headers }: IncomingMessage, body: string, port: number) => {
    const { connection: _, ...rest } = headers;
    const asked = httpRequest({ host: '127.0.0.1', port, method, path: url, agent: false, headers: rest });
    asked.end(body);
    const [reply] = (await once(asked, 'response')) as [IncomingMessage];
    return { reply, body: await text(reply) };
  };

  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = await text(incoming);
    turn += 1;
    const { reply, body: answered } = await ask(incoming, body, [...ready][turn % ready.size] ?? 0);
    const { connection: _, 'transfer-encoding': __, 'keep-alive': ___, ...headers } = reply.headers;
    outgoing.writeHead(reply.statusCode ?? 0, { ...headers, 'content-length': Buffer.byteLength(answered) });
    outgoing.end(answered);
  };
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    left: () => left,
    ready: () => ready.size,
    close: async () => {
      clearInterval(watch);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
