import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** An HTTP balancer that knows nothing of its servers' health: it asks the next one when a connection is refused. */
export interface Balancer {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** How many connections were refused so far. */
  refused(): number;
  close(): Promise<void>;
}

/** Starts a balancer in front of services on these ports; each request has a connection of its own to one of them. */
export const startBalancer = async (ports: readonly number[]): Promise<Balancer> => {
  let [turn, refused] = [0, 0];

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
    const first = (turn += 1);
    for (let attempt = 0; ; attempt += 1) {
      try {
        const port = ports[(first + attempt) % ports.length] ?? 0;
        const { reply, body: answered } = await ask(incoming, body, port);
        const { connection: _, 'transfer-encoding': __, 'keep-alive': ___, ...headers } = reply.headers;
        outgoing.writeHead(reply.statusCode ?? 0, { ...headers, 'content-length': Buffer.byteLength(answered) });
        outgoing.end(answered);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED' || attempt + 1 === ports.length) throw error;
        refused += 1;
      }
    }
  };
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused: () => refused,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
