import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo, Server as NetServer } from 'node:net';
import type { Logger } from 'pino';
import { HEADERS_LIMIT, MAX_HEADERS } from '../../../contract/index.ts';
import { AcceptScheduler } from './accept-scheduler.ts';
import { defaultLimits, type HttpServerLimits } from './limits.ts';
import { type ErrorDocs, errorDocs } from '../message/failures.ts';
import type { LoadShedder } from './load-shedder.ts';
import { isHealthCheck, routeOf } from '../routes.ts';
import { RequestIntake } from '../message/request-intake.ts';
import { fromPath, inviteBody } from './compatibility.ts';
import { ClientErrorHandler } from './client-errors.ts';
import type { HeaderList } from '../message/reply.ts';
import type { RequestObserver } from '../../telemetry/hooks.ts';
import { callerOf } from '../../overload/caller.ts';
import { SlowReaderGuard } from './slow-readers.ts';

/**
 * Connections that the kernel keeps until we get to them, as far as it is told to allow it: whoever comes when there are
 * more is not heard for a second.
 */
const BACKLOG = 4096;

/** How long, at most, those still come in who stood at the door when it is to be shut, milliseconds. */
const DRAIN_MS = 100;

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

/** Whence a request comes, as far as trusted proxies tell: Express' requests know. */
const addressOf = (request: IncomingMessage): string =>
  (request as { ip?: string }).ip ?? request.socket.remoteAddress ?? '';

interface HttpServerOptions {
  /** Those of an Express app. */
  prototypes?: Prototypes;
  /** The headers of every reply, for those that the app does not give. */
  headers?: HeaderList;
  /** The addresses of the pages about errors. */
  docs?: ErrorDocs;
  log?: Logger;
  /** Refuses early what would wait too long. */
  shedder?: LoadShedder;
  observer?: RequestObserver | undefined;
  limits?: Partial<HttpServerLimits>;
}

/**
 * An HTTP server that waits for no caller forever, be it for its request or for it to take its answer, and that stops
 * without breaking a request.
 */
export class HttpServer {
  readonly #server: Server;
  readonly #limits: HttpServerLimits;
  readonly #log: Logger | undefined;
  readonly #scheduler: AcceptScheduler;
  readonly #running = new Set<ServerResponse>();
  readonly #slowReaders: SlowReaderGuard;
  #stopping = false;

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
    const refusals = new ClientErrorHandler({ limits, headers, docs, log, observer });
    const begin = (
      request: IncomingMessage,
      response: ServerResponse,
      caller: () => string,
      waitedMs: number,
    ): void => {
      // Nobody waits for it any more.
      if (response.destroyed) return;
      if (!shedder?.refuses(request, response, caller, waitedMs)) app(request, response);
    };
    const answer: RequestListener = (request, response) => {
      this.#running.add(response);
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
    // Node itself would refuse a missing Host with an empty reply: the app does it.
    this.#server = createServer(
      {
        ...bornWith(prototypes),
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
    // Node would refuse an expectation other than 100-continue, which may as well be ignored (RFC 9110, section 10.1.1).
    this.#server.on('checkExpectation', answer);
    const intake = new RequestIntake(this.#server, refusals.refuse);
    this.#scheduler = new AcceptScheduler(this.#server, shedder?.onPhase);
    // Node drops headers beyond this, and says nothing: the app has to see that there is more than it takes.
    this.#server.maxHeadersCount = MAX_HEADERS + 1;
  }

  /**
   * Listens; port 0 means any free one.
   * @returns the port
   * @throws Error of Node, with a `code` such as EADDRINUSE
   */
  async listen(port: number, host: string): Promise<number> {
    this.#server.listen({ port, host, backlog: BACKLOG });
    await once(this.#server, 'listening');
    const sweep = setInterval(() => this.#sweep(), this.#limits.sweepMs).unref();
    this.#server.once('close', () => clearInterval(sweep));
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
    // The kernel resets who is not in yet.
    await this.#scheduler.whenIdle(Math.min(DRAIN_MS, timeoutMs));
    const closed = once(this.#server, 'close');
    // Node's own way for HTTP would also close each connection that is silent at this moment, under a next request.
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

  #sweep(): void {
    // Node forgets to close the responses that wait behind another one when their connection breaks.
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
