import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../base/runtime.ts';
import { HEADERS_LIMIT, MAX_HEADERS } from '../../../contract/index.ts';
import { AcceptScheduler } from './accept-scheduler.ts';
import { defaultLimits, type HttpServerLimits, ClientErrorHandler, SlowReaderGuard } from './connections.ts';
import { type ErrorDocs, errorDocs } from '../message/failures.ts';
import type { LoadShedder } from './load-shedder.ts';
import { isHealthCheck, routeOf } from '../middleware/preconditions.ts';
import { RequestIntake } from './request-intake.ts';
import type { HeaderList } from '../message/reply.ts';
import type { RequestObserver } from '../../base/observer.ts';
import { callerOf } from '../../limits/caller.ts';

// Implements parts of HTTP/1.1 that Node and Express lack.

const SCHEME_AND_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The path and query of a request target. Express would also parse the host of an absolute target (RFC 9112, section
 * 3.2.2), and fails without a proper answer.
 */
const fromPath = (target: string): string => {
  if (target.startsWith('/') || !SCHEME_AND_HOST.test(target)) return target;
  const rest = target.replace(SCHEME_AND_HOST, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
};

/**
 * The listener of the event `checkContinue`: sends 100 (RFC 9110, section 10.1.1) and calls `answer` after all earlier
 * requests of the connection are answered. Node sends 100 at once, possibly between the head and the body of an earlier
 * reply.
 */
const inviteBody =
  (answer: RequestListener): RequestListener =>
  (request, response) => {
    const invite = (): void => {
      response.writeContinue();
      answer(request, response);
    };
    if (hasTurn(response)) invite();
    else response.once('socket', invite);
  };

const hasTurn = ({ socket }: ServerResponse): boolean => socket !== null;

/** The backlog of connections in the kernel, within its own limit. Beyond it, clients retry SYN after 1 s. */
const BACKLOG = 4096;

/** The longest time in which the backlog is still accepted when the service stops, in milliseconds. */
const DRAIN_MS = 100;

/** The prototypes that an Express app gives to requests and responses. */
interface Prototypes {
  request?: object;
  response?: object;
}

/** Returns a constructor that behaves as `parent` and creates objects with this prototype. */
const withPrototype = <T extends object>(parent: T, prototype: object): T => {
  function WithPrototype(this: object, ...given: unknown[]) {
    Reflect.apply(parent as unknown as (...args: unknown[]) => void, this, given);
  }
  WithPrototype.prototype = prototype;
  return WithPrototype as unknown as T;
};

/**
 * Express changes the prototype of each request and response, which makes both slow objects in V8. Objects created with
 * these prototypes stay fast.
 */
const createdWith = ({ request, response }: Prototypes) => {
  if (!request || !response) return {};
  return {
    IncomingMessage: withPrototype(IncomingMessage, request),
    ServerResponse: withPrototype(ServerResponse, response),
  };
};

/** The caller's address according to trusted proxies, by Express. */
const addressOf = (request: IncomingMessage): string =>
  (request as { ip?: string }).ip ?? request.socket.remoteAddress ?? '';

export interface HttpServerOptions {
  /** The prototypes of an Express app. */
  prototypes?: Prototypes;
  /** The headers of every reply, for replies that do not come from the app. */
  headers?: HeaderList;
  /** The addresses of the pages about errors. */
  docs?: ErrorDocs;
  log?: Logger;
  /** Refuses requests early that would wait too long. */
  shedder?: LoadShedder;
  observer?: RequestObserver | undefined;
  limits?: Partial<HttpServerLimits>;
}

/** An HTTP server with time limits for requests and for slow readers, which stops without breaking a request. */
export class HttpServer {
  readonly #server: Server;
  readonly #limits: HttpServerLimits;
  readonly #log: Logger | undefined;
  readonly #scheduler: AcceptScheduler;
  readonly #running = new Set<ServerResponse>();
  readonly #slowReaders: SlowReaderGuard;
  #stopping = false;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(
    app: RequestListener,
    {
      prototypes = {},
      headers = [],
      docs = errorDocs({ publicUrl: undefined }),
      log,
      shedder,
      observer,
      limits: changed,
    }: HttpServerOptions = {},
  ) {
    const limits = { ...defaultLimits, ...changed };
    const refusals = new ClientErrorHandler({ headers, docs, log, observer });
    const begin = (
      request: IncomingMessage,
      response: ServerResponse,
      caller: () => string,
      waitedMs: number,
    ): void => {
      // The caller has left.
      if (response.destroyed) return;
      if (!shedder?.refuses(request, response, caller, waitedMs)) app(request, response);
    };
    const answer: RequestListener = (request, response) => {
      this.#running.add(response);
      this.#sweepLater();
      const observation = observer?.begin(request, routeOf(request.url ?? ''));
      response.once('close', () => {
        this.#running.delete(response);
        observation?.end(response.writableFinished ? response.statusCode : undefined);
        refusals.noteAnswered(request);
        intake.answered(request);
      });
      const path = fromPath(request.url ?? '');
      request.url = path;
      if (this.#stopping) response.setHeader('Connection', 'close');
      const caller = (): string => callerOf(request.headers.authorization, addressOf(request));
      intake.begin(request, response, () => {
        // Health checks do not wait.
        if (isHealthCheck(path)) {
          app(request, response);
          return;
        }
        if (shedder?.refusesToWait(request, response, caller, this.#scheduler.waitMs(caller))) return;
        this.#scheduler.schedule(caller, (waitedMs) => {
          const beginNow = (): void => begin(request, response, caller, waitedMs);
          if (observation) observation.within(beginNow);
          else beginNow();
        });
      });
    };
    this.#limits = limits;
    this.#log = log;
    this.#slowReaders = new SlowReaderGuard(limits);
    // The app refuses a missing Host, since Node would answer with an empty reply.
    this.#server = createServer(
      {
        ...createdWith(prototypes),
        keepAliveTimeout: limits.keepAliveMs,
        headersTimeout: limits.headersMs,
        requestTimeout: limits.requestMs,
        connectionsCheckingInterval: limits.checkMs,
        maxHeaderSize: HEADERS_LIMIT,
        requireHostHeader: false,
      },
      answer,
    );
    this.#server.on('checkContinue', inviteBody(answer));
    // Node would refuse expectations other than 100-continue, which may be ignored (RFC 9110, section 10.1.1).
    this.#server.on('checkExpectation', answer);
    const intake = new RequestIntake(this.#server, refusals.refuse, limits.lingerMs);
    this.#scheduler = new AcceptScheduler(this.#server, shedder?.onPhase);
    // Node drops further headers silently, and the app must see that there are too many.
    this.#server.maxHeadersCount = MAX_HEADERS + 1;
  }

  /**
   * Listens. Port 0 means any free port.
   * @returns the port
   * @throws Error of Node, with a `code` such as EADDRINUSE
   */
  async listen(port: number, host: string): Promise<number> {
    this.#server.listen({ port, host, backlog: BACKLOG });
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Serves a connection that another listener accepted. */
  accept(connection: Socket): void {
    this.#server.emit('connection', connection);
  }

  /**
   * Accepts no more connections, and answers running requests and those that still arrive on open connections, which it
   * then closes. After `timeoutMs` it closes all remaining connections.
   * @returns whether everything was answered
   */
  async stop(timeoutMs: number): Promise<boolean> {
    this.#stopping = true;
    for (const response of this.#running) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
    }
    // The kernel resets connections that are not yet accepted.
    await this.#scheduler.whenIdle(Math.min(DRAIN_MS, timeoutMs));
    const closed = once(this.#server, 'close');
    // Node's own `close` of HTTP servers would also close idle connections on which a request may be arriving.
    NetServer.prototype.close.call(this.#server);
    let complete = true;
    const idle = setInterval(() => this.#server.closeIdleConnections(), this.#limits.stopIdleMs);
    const deadline = setTimeout(() => {
      complete = this.#running.size === 0;
      this.#server.closeAllConnections();
    }, timeoutMs);
    await closed;
    clearInterval(idle);
    clearTimeout(deadline);
    return complete;
  }

  /** Resolves when the current requests have ended, or after `timeoutMs`. New requests are still accepted. */
  async completeRunning(timeoutMs: number): Promise<void> {
    const running = Array.from(
      this.#running,
      (response) => new Promise<void>((end) => response.once('close', () => end())),
    );
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((end) => (timer = setTimeout(() => end(undefined), timeoutMs)));
    await Promise.race([Promise.all(running), late]);
    clearTimeout(timer);
  }

  /** Sweeps while requests run. */
  #sweepLater(): void {
    if (this.#sweeping) return;
    this.#sweeping = setTimeout(() => {
      this.#sweeping = undefined;
      this.#sweep();
      if (this.#running.size > 0) this.#sweepLater();
    }, this.#limits.sweepMs).unref();
  }

  #sweep(): void {
    // Node does not close responses that wait behind another one when their connection breaks.
    for (const response of this.#running) {
      if (response.req.socket.destroyed && !response.socket) {
        response.destroy();
        response.emit('close');
      }
    }
    const count = this.#slowReaders.sweep(this.#running);
    if (count > 0) this.#log?.warn({ count }, 'cut off callers that do not take their answers');
  }
}
