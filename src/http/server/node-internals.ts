/**
 * The private members of Node.js that this server uses, since no public API does the same. No other file names one. If
 * a version of Node.js changes them, test/http/intake.test.ts and test/http/timeouts.test.ts fail.
 *
 * - `socket.parser.onIncoming` gets each request once its headers are parsed. A parser reads 64 KiB at a time, with
 *   thousands of requests. Only returning `HPE_PAUSED` here stops it between them; `parser.resume` continues.
 * - `socket._paused` is set while Node waits for the client to take its answers; Node then resumes by itself.
 * - `socket._handle.readStart` and `reading` make a socket read again after Node stopped it while its parser consumed
 *   it. Its streams would wait for a read under way.
 * - `socket._handle.writeQueueSize` is the only progress of one large write; Node's own time limits use it.
 * - `socket._httpMessage` is the response that a connection is sending.
 * - `server.pauseOnConnect` is an option of net servers that HTTP servers do not pass on.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as NetServer, Socket } from 'node:net';

/** llhttp's HPE_PAUSED. */
const PAUSED = 21;

interface PrivateSocket extends Socket {
  parser?: {
    onIncoming: (request: IncomingMessage, keepAlive: boolean) => number;
    resume: () => void;
  } | null;
  _paused?: boolean;
  _handle?: { reading: boolean; readStart: () => void; writeQueueSize?: number } | null;
  _httpMessage?: ServerResponse | null;
}

/** The error that Node raises when its parser stops. */
export interface ParserFault extends Error {
  code?: string;
  /** The message of the parser. */
  reason?: string;
  /** The parsed length of `rawPacket`. */
  bytesParsed?: number;
  rawPacket?: Buffer;
}

/** Receives each request of a connection before Node's server does. */
interface Interceptor {
  arrived: (request: IncomingMessage) => void;
  /** Whether the parser stops after the headers of this request. */
  mustStop: () => boolean;
}

/** Sets the interceptor of a new connection. */
export const interceptRequests = (socket: Socket, { arrived, mustStop }: Interceptor): void => {
  const { parser } = socket as PrivateSocket;
  if (!parser) return;
  const { onIncoming } = parser;
  parser.onIncoming = (request, keepAlive) => {
    arrived(request);
    const result = onIncoming(request, keepAlive);
    return result === 0 && mustStop() ? PAUSED : result;
  };
};

/** Whether `interceptRequests` stopped the parser of a connection. */
export const isStop = ({ code }: ParserFault): boolean => code === 'HPE_PAUSED';

/** Whether a connection has an HTTP parser. */
export const hasParser = (socket: Socket): boolean => Boolean((socket as PrivateSocket).parser);

/** Resumes a stopped parser. */
export const resumeParser = (socket: Socket): void => (socket as PrivateSocket).parser?.resume();

/** Whether Node waits for the client to read its answers. */
export const awaitsReader = (socket: Socket): boolean =>
  // oxlint-disable-next-line no-underscore-dangle -- Node's name
  (socket as PrivateSocket)._paused === true;

/** Makes a socket read again after Node stopped it while its parser consumed it. */
export const startReading = (socket: Socket): void => {
  // oxlint-disable-next-line no-underscore-dangle -- Node's name
  const handle = (socket as PrivateSocket)._handle;
  if (!handle || handle.reading) return;
  handle.reading = true;
  handle.readStart();
};

/** The bytes passed to a socket that the kernel has not yet taken. */
export const queuedBytes = (socket: Socket): number =>
  // oxlint-disable-next-line no-underscore-dangle -- Node's name
  (socket as PrivateSocket)._handle?.writeQueueSize ?? 0;

/** The response that a connection is sending, if any. */
export const currentResponse = (socket: Socket): ServerResponse | null | undefined =>
  // oxlint-disable-next-line no-underscore-dangle -- Node's name
  (socket as PrivateSocket)._httpMessage;

/** Makes a server accept connections without reading from them. */
export const acceptPaused = (server: Server | NetServer): void => {
  Object.assign(server, { pauseOnConnect: true });
};
