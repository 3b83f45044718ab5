import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** Listens, reports the port, and blocks its thread: it accepts no connection. */
const PROGRAM = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;
/** The kernel keeps one more than the backlog. */
const ROOM = 4;

export interface Silence {
  port: number;
  stop: () => void;
}

/**
 * A port that neither accepts nor refuses connections: its thread is blocked, and the queue of the kernel is full.
 * Linux drops further ones.
 */
export const keepSilence = async (): Promise<Silence> => {
  const worker = new Worker(PROGRAM, { eval: true });
  const [port] = (await once(worker, 'message')) as [number];
  // It ends with the process.
  worker.unref();
  const sockets: Socket[] = [];
  for (let index = 0; index < ROOM; index += 1) {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => undefined).unref();
    sockets.push(socket);
  }
  return {
    port,
    stop: () => {
      sockets.forEach((socket) => socket.destroy());
      void worker.terminate();
    },
  };
};
