/** Handles connections that misbehave: input that is not a request, and answers that clients do not read. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { currentDate, randomUUID, setTimeout } from '../../base/runtime.ts';
import { AppError } from '../../base/errors.ts';
import { type ErrorDocs, errorReply, failureReply } from '../message/failures.ts';
import { type HeaderList, NO_STORE } from '../message/reply.ts';
import type { RequestObserver } from '../../base/observer.ts';
import { REQUEST } from '../middleware/request-log.ts';
import { currentResponse, type ParserFault, queuedBytes } from './node-internals.ts';
import { ANSWER_IDLE_SECONDS, HEADERS_SECONDS, REQUEST_SECONDS } from '../../../contract/index.ts';

/** The limits of the HTTP server of one process: times in milliseconds, sizes in bytes. */
export interface HttpServerLimits {
  /**
   * Longer than the idle time of common load balancers, so that they close connections and no request arrives on a
   * closing one.
   */
  keepAliveMs: number;
  /** The time in which the headers of a request must arrive. */
  headersMs: number;
  /** The time in which a whole request must arrive. */
  requestMs: number;
  /** The interval of checks of slow requests. */
  checkMs: number;
  /** The time in which a caller must read part of its answer. */
  answerIdleMs: number;
  /** The interval of checks of unread answers. */
  sweepMs: number;
  /** The bytes of unread answers of all callers: a dozen of the largest answers, or thousands of pages. */
  heldBytes: number;
  /** How long a refused connection stays half open, so that the client reads the refusal (RFC 9112, section 9.6). */
  lingerMs: number;
  /** The time that an idle connection stays open when the service stops, since a request may be arriving. */
  stopIdleMs: number;
}

const MIB = 1024 * 1024;

export const defaultLimits: HttpServerLimits = {
  keepAliveMs: 65_000,
  headersMs: HEADERS_SECONDS * 1000,
  requestMs: REQUEST_SECONDS * 1000,
  checkMs: 2000,
  answerIdleMs: ANSWER_IDLE_SECONDS * 1000,
  sweepMs: 250,
  heldBytes: 128 * MIB,
  lingerMs: 5000,
  stopIdleMs: 500,
};

/** The interval of checks of a request whose body is not yet read. */
const AGAIN_MS = 500;

const refusalOf = (fault: ParserFault): AppError => {
  switch (fault.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError('REQUEST_TIMEOUT');
    case 'HPE_HEADER_OVERFLOW':
      return new AppError('HEADERS_TOO_LARGE');
    case undefined:
    default:
      return new AppError('BAD_HTTP_REQUEST', { ...(fault.reason && { hint: `${fault.reason}.` }) });
  }
};

interface ClientErrorOptions {
  /** The headers of every reply. */
  headers: HeaderList;
  docs: ErrorDocs;
  log: Logger | undefined;
  observer: RequestObserver | undefined;
}

/**
 * Answers input that Node cannot parse, or that is late, with the envelope of failures, and closes the connection.
 * Earlier requests of the connection are answered first.
 */
export class ClientErrorHandler {
  readonly #options: ClientErrorOptions;
  readonly #refused = new WeakSet<Socket>();
  /** Requests that were answered before they had fully arrived, by their connections. */
  readonly #answeredEarly = new WeakMap<Socket, IncomingMessage>();

  constructor(options: ClientErrorOptions) {
    this.#options = options;
  }

  /** Called for each answered request. */
  noteAnswered(request: IncomingMessage): void {
    if (!request.complete) this.#answeredEarly.set(request.socket, request);
  }

  /** Answers a `clientError` of the server; `linger` closes the connection once the answer is written. */
  readonly refuse = (fault: ParserFault, socket: Socket, linger: () => void): void => {
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    this.#inTurn(fault, socket, linger);
  };

  #inTurn(fault: ParserFault, socket: Socket, linger: () => void): void {
    const response = currentResponse(socket);
    if (fault.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
    } else if (!response) {
      this.#betweenAnswers(fault, socket, linger);
    } else if (response.headersSent || response.req.complete) {
      response.once('close', () => this.#inTurn(fault, socket, linger));
    } else if (response.req.listenerCount('error') > 0) {
      // The reader of this request's body fails with the error, and answers.
      response.setHeader('Connection', 'close');
      response.req.emit('error', refusalOf(fault));
    } else {
      setTimeout(() => this.#inTurn(fault, socket, linger), AGAIN_MS).unref();
    }
  }

  #betweenAnswers(fault: ParserFault, socket: Socket, linger: () => void): void {
    // A client would take a second answer for the answer to its next request.
    const isAnswered = this.#answeredEarly.get(socket)?.complete === false;
    if (isAnswered || socket.bytesRead === 0) socket.destroy();
    else this.#write(refusalOf(fault), socket, linger);
  }

  #write(refusal: AppError, socket: Socket, linger: () => void): void {
    const { headers, docs, log, observer } = this.#options;
    const requestId = randomUUID();
    const failure = errorReply(refusal, null, requestId, docs);
    const { status } = failure;
    const closing = ['Date', currentDate().toUTCString(), 'Connection', 'close'];
    const reply = failureReply(failure, [...headers, ...NO_STORE, 'X-Request-Id', requestId, ...closing]);
    const lines = reply.headers.map((part, index) => part + (index % 2 === 0 ? ': ' : '\r\n'));
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${reply.text}`);
    linger();
    observer?.unreadable(status);
    // Without headers, the caller behind a proxy is unknown.
    log?.info({ requestId, address: socket.remoteAddress, status, reason: refusal.reason }, REQUEST);
  }
}

/** A client with an unread response. */
interface SlowReader {
  /** The bytes buffered for the client. A chunk counts whole until its last byte is sent. */
  held: number;
  /** Decreases with every byte that the client reads. */
  left: number;
  /** The time at which the client last read something, by the clock of the sweeps. */
  since: number;
}

/**
 * Limits the memory of responses that clients do not read. A client that reads nothing for too long is disconnected. If
 * all unread responses together take too much memory, the longest idle clients are disconnected first.
 */
export class SlowReaderGuard {
  readonly #limits: Pick<HttpServerLimits, 'answerIdleMs' | 'sweepMs' | 'heldBytes'>;
  /** A clock in milliseconds that the sweeps advance: a stall of this process does not count against clients. */
  #now = 0;
  /** Sorted by idle time, longest first. */
  readonly #readers = new Map<Socket, SlowReader>();

  constructor(limits: Pick<HttpServerLimits, 'answerIdleMs' | 'sweepMs' | 'heldBytes'>) {
    this.#limits = limits;
  }

  /** Checks all unfinished responses, each `sweepMs`, and disconnects idle clients. Returns their number. */
  sweep(responses: Iterable<ServerResponse>): number {
    this.#now += this.#limits.sweepMs;
    return this.#cut(this.#look(responses));
  }

  /** Updates the readers. Returns the bytes held for all of them. */
  #look(responses: Iterable<ServerResponse>): number {
    const heldFor = new Map<Socket, number>();
    let total = 0;
    for (const response of responses) {
      const held = response.writableLength;
      if (held === 0) continue;
      const { socket } = response.req;
      heldFor.set(socket, (heldFor.get(socket) ?? 0) + held);
      total += held;
    }
    for (const socket of this.#readers.keys()) {
      if (!heldFor.has(socket)) this.#readers.delete(socket);
    }
    for (const [socket, held] of heldFor) this.#note(socket, held);
    return total;
  }

  #note(socket: Socket, held: number): void {
    const left = held + queuedBytes(socket);
    const reader = this.#readers.get(socket);
    if (reader && left >= reader.left) {
      // The client read nothing. Answers to its further requests may have been added.
      reader.held = held;
      reader.left = left;
      return;
    }
    this.#readers.delete(socket);
    this.#readers.set(socket, { held, left, since: this.#now });
  }

  #cut(total: number): number {
    let heldBytes = total;
    let count = 0;
    for (const [socket, { held, since }] of this.#readers) {
      if (heldBytes <= this.#limits.heldBytes && this.#now - since < this.#limits.answerIdleMs) break;
      // Closes by a reset: the kernel would keep its buffer for an orderly close.
      socket.resetAndDestroy();
      this.#readers.delete(socket);
      heldBytes -= held;
      count += 1;
    }
    return count;
  }
}
