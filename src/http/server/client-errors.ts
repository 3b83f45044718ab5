import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { currentDate, randomUUID, setTimeout } from '../../base/runtime.ts';
import { AppError } from '../../base/errors.ts';
import { type ErrorDocs, errorReply, failureMessage } from '../message/failures.ts';
import type { HeaderList } from '../message/reply.ts';
import type { RequestObserver } from '../../base/observer.ts';
import { REQUEST } from '../middleware/request-log.ts';

/** The interval of checks of a request whose body is not read yet. */
const AGAIN_MS = 500;

/** The error of Node for a request that it cannot parse, or that does not arrive. */
interface ParseFault extends Error {
  code?: string;
  /** The message of the parser. */
  reason?: string;
}

const refusalOf = (fault: ParseFault): AppError => {
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

/** The current response of a connection; Node uses the same member. */
const currentOf = (socket: Socket): ServerResponse | null | undefined =>
  // oxlint-disable-next-line no-underscore-dangle -- Node's name
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage;

interface ClientErrorOptions {
  /** The headers of every reply. */
  headers: HeaderList;
  docs: ErrorDocs;
  log: Logger | undefined;
  observer: RequestObserver | undefined;
}

/**
 * Answers input that Node cannot parse, or has waited for too long, with the envelope of failures, and closes the
 * connection. Earlier requests of the connection are answered first.
 */
export class ClientErrorHandler {
  readonly #options: ClientErrorOptions;
  readonly #refused = new WeakSet<Socket>();
  /** Requests that were answered before they had arrived whole, by their connections. */
  readonly #answeredEarly = new WeakMap<Socket, IncomingMessage>();

  constructor(options: ClientErrorOptions) {
    this.#options = options;
  }

  /** Called for each request that was answered. */
  noteAnswered(request: IncomingMessage): void {
    if (!request.complete) this.#answeredEarly.set(request.socket, request);
  }

  /** Answers a `clientError` of the server; `linger` closes the connection once the answer is written. */
  readonly refuse = (fault: ParseFault, socket: Socket, linger: () => void): void => {
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    this.#inTurn(fault, socket, linger);
  };

  #inTurn(fault: ParseFault, socket: Socket, linger: () => void): void {
    const response = currentOf(socket);
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

  #betweenAnswers(fault: ParseFault, socket: Socket, linger: () => void): void {
    // A client would take a second answer for that of its next request.
    const isAnswered = this.#answeredEarly.get(socket)?.complete === false;
    if (isAnswered || socket.bytesRead === 0) socket.destroy();
    else this.#write(refusalOf(fault), socket, linger);
  }

  #write(refusal: AppError, socket: Socket, linger: () => void): void {
    const { headers, docs, log, observer } = this.#options;
    const requestId = randomUUID();
    const failure = errorReply(refusal, null, requestId, docs);
    const { status } = failure;
    const message = failureMessage(failure, { common: headers, requestId });
    const lines = [...message.headers, 'Date', currentDate().toUTCString(), 'Connection', 'close'].map(
      (part, index) => part + (index % 2 === 0 ? ': ' : '\r\n'),
    );
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${message.text}`);
    linger();
    observer?.unreadable(status);
    // Without headers, the caller behind a proxy is unknown.
    log?.info({ requestId, address: socket.remoteAddress, status, reason: refusal.reason }, REQUEST);
  }
}
