import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import { AppError } from '../errors.ts';
import { errorReply } from './errors.ts';
import { fromPath, inviteBody } from './quirks.ts';

/** Longer than the idle time of common load balancers, so that they close connections, not we under their requests. */
const KEEP_ALIVE_MS = 65_000;
/** For a whole request, also one that trickles in. */
const REQUEST_TIMEOUT_MS = 60_000;
/** How long a silent connection may live on while stopping: a request may be under way to it. */
const STOP_IDLE_MS = 500;

/** What Node cannot read as HTTP is refused with the envelope of all failures. */
const refuse = (error: Error & { code?: string }, socket: Socket): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = randomUUID();
  const { body } = errorReply(new AppError('BAD_HTTP_REQUEST'), null, requestId);
  const text = JSON.stringify(body);
  socket.end(
    [
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(text)}`,
      `X-Request-Id: ${requestId}`,
      'Connection: close',
      '',
      text,
    ].join('\r\n'),
  );
};

/** The prototypes that an Express app gives to requests and responses. */
interface Prototypes {
  request?: object;
  response?: object;
}

/** A constructor that does what `parent`, a function, does, to objects with this prototype. */
const withPrototype = <T extends object>(parent: T, prototype: object): T => {
  function Born(this: object, ...given: unknown[]) {
    Reflect.apply(parent as unknown as (...args: unknown[]) => void, this, given);
  }
  Born.prototype = prototype;
  return Born as unknown as T;
};

/**
 * Express changes the prototype of each request and response, after which V8 treats both as slow objects. Born with these
 * prototypes, they stay as they are.
 */
const bornWith = ({ request, response }: Prototypes) => {
  if (!request || !response) return {};
  return {
    IncomingMessage: withPrototype(IncomingMessage, request),
    ServerResponse: withPrototype(ServerResponse, response),
  };
};

/** An HTTP server that stops without breaking a request. */
export class Listener {
  readonly #server: Server;
  readonly #running = new Set<ServerResponse>();
  /** Connections that said what is no HTTP: whatever more they say is none either. */
  readonly #refused = new WeakSet<Socket>();
  #stopping = false;

  constructor(app: RequestListener, prototypes: Prototypes = {}) {
    const answer: RequestListener = (request, response) => {
      this.#note(response);
      request.url = fromPath(request.url ?? '');
      if (this.#stopping) response.setHeader('Connection', 'close');
      app(request, response);
    };
    // Node itself would refuse a missing Host with an empty reply: the app does it.
    this.#server = createServer(
      {
        ...bornWith(prototypes),
        keepAliveTimeout: KEEP_ALIVE_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        requireHostHeader: false,
      },
      answer,
    );
    const invite = inviteBody(answer);
    this.#server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      this.#note(response);
      invite(request, response);
    });
    // Node would also refuse an expectation other than 100-continue, which may as well be ignored (RFC 9110, section 10.1.1).
    this.#server.on('checkExpectation', answer);
    this.#server.on('clientError', (error, socket: Socket) => this.#refuse(error, socket));
    // Node forgets the replies that wait for others when their connection breaks.
    this.#server.on('connection', (socket) => {
      socket.once('close', () => {
        for (const response of this.#of(socket)) response.emit('close');
      });
    });
  }

  #note(response: ServerResponse): void {
    this.#running.add(response);
    response.once('close', () => this.#running.delete(response));
  }

  /** The replies under way on a connection, in their order. */
  #of(socket: Socket): ServerResponse[] {
    return [...this.#running].filter(({ req }) => req.socket === socket);
  }

  /** Refuses once all requests before on this connection are answered: callers tell answers by their order. */
  #refuse(error: Error, socket: Socket): void {
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    const last = this.#of(socket).findLast(({ req }) => req.complete);
    if (last) last.once('close', () => refuse(error, socket));
    else refuse(error, socket);
  }

  /**
   * Listens; port 0 means any free one.
   * @returns the port
   * @throws Error of Node, with a `code` such as EADDRINUSE
   */
  async listen(port: number, host: string): Promise<number> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Accepts no more connections, answers what runs, and what still comes in on open connections with the word that it
   * was their last. Whatever is not done after `timeoutMs` is cut off.
   * @returns whether everything was answered
   */
  async stop(timeoutMs: number): Promise<boolean> {
    this.#stopping = true;
    for (const response of this.#running) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
    }
    const closed = once(this.#server, 'close');
    // Node's own way for HTTP would also close each connection that is silent at this moment, under a next request.
    NetServer.prototype.close.call(this.#server);
    let complete = true;
    const idle = setInterval(() => this.#server.closeIdleConnections(), STOP_IDLE_MS);
    const deadline = setTimeout(() => {
      complete = this.#running.size === 0;
      this.#server.closeAllConnections();
    }, timeoutMs);
    await closed;
    clearInterval(idle);
    clearTimeout(deadline);
    return complete;
  }
}
