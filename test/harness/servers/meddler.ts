import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request on its way through the meddler. */
export interface PassingRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A reply on its way back. */
export interface PassingReply {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  /** Whether the connection breaks when half of the body is through. */
  breaksOff?: boolean;
}

type Forward = (request: PassingRequest) => Promise<PassingReply>;
/** What is done to a request and its reply; the default is to forward one and return the other. */
export type Meddle = (request: PassingRequest, forward: Forward) => Promise<PassingReply>;

/** An HTTP proxy that can be told to change what passes. */
export interface Meddler {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** Meddles with everything that comes from now on; undefined for nothing. */
  meddle(how: Meddle | undefined): void;
  stop(): Promise<void>;
}

const passOn: Meddle = (request, forward) => forward(request);

/** Meddles in all these ways. */
export const together = (meddles: readonly Meddle[]): Meddle =>
  meddles.reduce((inner, outer) => (request, forward) => outer(request, (passed) => inner(passed, forward)));

/** Starts a proxy in front of the service at `target`. */
export const startMeddler = async (target: string): Promise<Meddler> => {
  const { hostname, port } = new URL(target);
  // A connection that was used before may be closed while it is used again, where the machine is busy: that would meddle, too.
  const agent = new Agent({ keepAlive: false });
  let current = passOn;

  const forward: Forward = async ({ method, path, headers, body }) => {
    // Bodies pass as texts: what were compressed could not.
    const { 'content-length': _, 'transfer-encoding': __, connection: ___, 'accept-encoding': ____, ...rest } = headers;
    const length = body === '' && method !== 'POST' ? {} : { 'content-length': Buffer.byteLength(body) };
    const sent = httpRequest({ hostname, port, method, path, agent, headers: { ...rest, ...length } });
    sent.end(body);
    const [reply] = (await once(sent, 'response')) as [IncomingMessage];
    const { 'content-length': _____, ...given } = reply.headers;
    return { status: reply.statusCode ?? 0, headers: given, body: await text(reply) };
  };

  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = '', url: path = '', headers } = incoming;
    const reply = await current({ method, path, headers, body: await text(incoming) }, forward);
    const { connection: _, 'transfer-encoding': __, ...given } = reply.headers;
    outgoing.writeHead(reply.status, { 'content-length': Buffer.byteLength(reply.body), ...given });
    if (reply.breaksOff) outgoing.write(reply.body.slice(0, reply.body.length / 2), () => outgoing.destroy());
    else outgoing.end(reply.body);
  };
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
  });
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    meddle: (how = passOn) => {
      current = how;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      agent.destroy();
    },
  };
};
