/**
 * Limits the work that one connection causes: requests that wait for answers, chunks of a body, and input after an
 * early answer. Node's parser would first finish every read of 64 KiB, with thousands of requests or chunks. Others
 * would then wait 16 to 22 ms instead of 2 ms (8 attacking connections, p50). This file drives the parser by private
 * members of Node.js, which node-internals.ts lists.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clearTimeout, setImmediate, setTimeout } from '../../base/runtime.ts';
import { AppError } from '../../base/errors.ts';
import { type BodyChunks, stateOf } from '../message/request-state.ts';
import {
  awaitsReader,
  hasParser,
  interceptRequests,
  isStop,
  type ParserFault,
  resumeParser,
  startReading,
} from './node-internals.ts';

/** The requests of one connection that may wait for answers. Beyond, the connection is not read. */
const MAX_PENDING = 32;
/** Reading resumes when at most this number wait: each stop costs about as much as a request. */
const RESUME_PENDING = 16;

/** The chunks that a body may have in addition to one for each BYTES_PER_CHUNK. */
const FREE_CHUNKS = 1024;
const BYTES_PER_CHUNK = 16;
/** The parser gets the bytes of a chunked body in slices of this size. */
const SLICE_BYTES = 2048;
/** A slice with more chunks is the connection's last in a turn of the event loop. The next slices are smaller. */
const DENSE_SLICE = 64;
const SMALL_SLICE_BYTES = 512;

/** The input that is discarded after an early answer: twice the largest body. */
const LINGER_BYTES = 8 * 1024 * 1024;

const isChunked = ({ headers }: IncomingMessage): boolean => headers['transfer-encoding'] !== undefined;

const tooManyChunks = (): AppError =>
  new AppError('BAD_HTTP_REQUEST', {
    hint: `The body comes in too many chunks. Send at least ${BYTES_PER_CHUNK} bytes in each, or a \`Content-Length\`.`,
  });

/**
 * One connection. Node's parser consumes the socket directly until a limit or a chunked body stops it. From then on
 * this object feeds the parser.
 */
class IntakeConnection {
  readonly #socket: Socket;
  readonly #lingerMs: number;
  /** The latest request. */
  #latest: IncomingMessage | undefined;
  #pending = 0;
  /** The request whose chunked body is being read. */
  #body: IncomingMessage | undefined;
  /** Node's own listener, once this object feeds it. */
  #parse: ((bytes: Buffer) => void) | undefined;
  /** The bytes that are not yet parsed. */
  #rest: Buffer | undefined;
  #isParsing = false;
  /** Whether the next slice waits for the next turn. */
  #isYielding = false;
  #sliceBytes = SLICE_BYTES;
  /** Whether further input is discarded without parsing. */
  #isClosing = false;
  #isHeld = false;
  #discarded = 0;

  constructor(socket: Socket, lingerMs: number) {
    this.#socket = socket;
    this.#lingerMs = lingerMs;
    // Node calls it after the last answer of a connection.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      if (this.#latest?.complete === false) this.linger();
      else destroySoon();
    };
    interceptRequests(socket, {
      arrived: (request) => {
        this.#pending += 1;
        this.#latest = request;
        if (!isChunked(request)) return;
        this.#body = request;
        this.#countChunks(request);
      },
      mustStop: () => {
        if (this.#pending > MAX_PENDING) this.#isHeld = true;
        return this.#isHeld || (this.#body !== undefined && !this.#parse);
      },
    });
  }

  /** Continues where the parser stopped. */
  stopped({ rawPacket, bytesParsed = 0 }: ParserFault): void {
    const rest = rawPacket?.subarray(bytesParsed);
    if (this.#parse) {
      // `#pump` is running, and supplies the bytes.
      this.#rest = this.#rest && rest ? Buffer.concat([rest, this.#rest]) : (rest ?? this.#rest);
      return;
    }
    this.#rest = rest;
    this.#takeOver();
    this.#pump();
  }

  /** Reads the socket in place of Node's parser. */
  #takeOver(): void {
    const socket = this.#socket;
    this.#parse = socket.listeners('data')[0] as (bytes: Buffer) => void;
    socket.removeListener('data', this.#parse);
    // Node stops consuming the socket for a listener of this event.
    socket.on('data', this.#onData);
    socket.on('resume', this.#onResume);
    startReading(socket);
  }

  answered(): void {
    this.#pending -= 1;
    if (this.#isHeld && this.#pending <= RESUME_PENDING) {
      this.#isHeld = false;
      this.#pump();
    }
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isClosing) {
      this.#discarded += bytes.length;
      if (this.#discarded > LINGER_BYTES) this.#socket.destroy();
      else this.#discardLater();
      return;
    }
    this.#rest = this.#rest ? Buffer.concat([this.#rest, bytes]) : bytes;
    this.#pump();
  };

  /** Reads once in a turn: libuv would read 32 times. */
  #discardLater(): void {
    const socket = this.#socket;
    socket.pause();
    setImmediate(() => socket.resume());
  }

  /** Node may resume the socket for its own reasons. */
  readonly #onResume = (): void => {
    if (this.#isClosing) return;
    if (this.#isHeld || this.#isYielding) this.#socket.pause();
    else this.#pump();
  };

  /** Parses the remaining bytes, as far as the limits allow. */
  #pump(): void {
    if (this.#isParsing || !this.#parse) return;
    this.#isParsing = true;
    const socket = this.#socket;
    while (this.#rest && !this.#isHeld && !this.#isYielding && !this.#isClosing) {
      // Node continues by itself when the caller takes its answers.
      if (socket.destroyed || !hasParser(socket) || awaitsReader(socket)) break;
      this.#parseSlice(this.#rest, this.#parse);
    }
    this.#isParsing = false;
    if (socket.destroyed || this.#isClosing) return;
    if (this.#rest || this.#isHeld) socket.pause();
    else if (!awaitsReader(socket)) socket.resume();
  }

  #parseSlice(rest: Buffer, parse: (bytes: Buffer) => void): void {
    const body = this.#body;
    const count = body && stateOf(body).chunks;
    const before = count?.count ?? 0;
    const length = body ? this.#sliceBytes : rest.length;
    this.#rest = rest.length > length ? rest.subarray(length) : undefined;
    resumeParser(this.#socket);
    parse(rest.subarray(0, length));
    if (!body || !count) return;
    if (body.complete && this.#body === body) this.#body = undefined;
    if (count.fault) this.#isHeld = true;
    else if (count.count - before > (DENSE_SLICE * length) / SLICE_BYTES) this.#yield();
  }

  #yield(): void {
    this.#isYielding = true;
    this.#sliceBytes = SMALL_SLICE_BYTES;
    setImmediate(() => {
      this.#isYielding = false;
      this.#pump();
    });
  }

  #countChunks(request: IncomingMessage): void {
    const count: BodyChunks = { count: 0, bytes: 0 };
    stateOf(request).chunks = count;
    const push = request.push.bind(request);
    request.push = (chunk: Buffer | null, encoding) => {
      if (chunk === null) return push(null, encoding);
      if (count.fault) return false;
      count.count += 1;
      count.bytes += chunk.length;
      if (count.count <= FREE_CHUNKS + count.bytes / BYTES_PER_CHUNK) return push(chunk, encoding);
      count.fault = tooManyChunks();
      if (request.listenerCount('error') > 0) request.emit('error', count.fault);
      return false;
    };
  }

  /**
   * Ends the write side and discards further input, so that the caller reads the answer before a reset (RFC 9112,
   * section 9.6).
   */
  linger(): void {
    const socket = this.#socket;
    if (this.#isClosing || socket.destroyed) return;
    this.#isClosing = true;
    this.#rest = undefined;
    if (!this.#parse) this.#takeOver();
    const timer = setTimeout(() => socket.destroy(), this.#lingerMs).unref();
    socket.once('close', () => clearTimeout(timer));
    socket.end();
    socket.resume();
  }
}

/** Closes the connection after an answer that was sent before the end of the body. */
const closeAfterEarly = (request: IncomingMessage, response: ServerResponse): void => {
  const writeHead = response.writeHead.bind(response) as (...given: unknown[]) => ServerResponse;
  response.writeHead = (...given: unknown[]) => {
    if (!request.complete) response.shouldKeepAlive = false;
    return writeHead(...given);
  };
};

/** Whether the announced body is too long to read it only for the next request. */
const isHuge = ({ headers }: IncomingMessage): boolean => Number(headers['content-length'] ?? 0) > LINGER_BYTES;

/** The intake for all connections of a server. */
export class RequestIntake {
  readonly #connections = new WeakMap<Socket, IntakeConnection>();

  /**
   * Must be created before the server's connection listeners are replaced. `refuse` gets the `clientError` events of
   * other causes, and may end a connection by `linger`. `lingerMs` is the longest time of a lingering close.
   */
  constructor(
    server: Server,
    refuse: (fault: ParserFault, socket: Socket, linger: () => void) => void,
    lingerMs: number,
  ) {
    server.on('connection', (socket: Socket) => {
      if (hasParser(socket)) this.#connections.set(socket, new IntakeConnection(socket, lingerMs));
    });
    server.on('clientError', (fault: ParserFault, socket: Socket) => {
      const connection = this.#connections.get(socket);
      if (connection && isStop(fault)) connection.stopped(fault);
      else refuse(fault, socket, () => connection?.linger());
    });
  }

  /**
   * Called for each request; `answer` answers it. The received part of a chunked body is parsed first. An answer before
   * the end of a chunked or huge body closes the connection.
   */
  begin(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    const mustParse = isChunked(request);
    if (mustParse || isHuge(request)) closeAfterEarly(request, response);
    if (mustParse) process.nextTick(answer);
    else answer();
  }

  /** Called when the response to a request is closed. */
  answered({ socket }: IncomingMessage): void {
    this.#connections.get(socket)?.answered();
  }
}
