import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A program that listens, and never takes more connections than the kernel keeps for it. */
const PROGRAM = `
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));
`;
/** The kernel keeps one more than the backlog. */
const ROOM = 4;

export interface Silence {
  port: number;
  stop: () => void;
}

/**
 * A port where connections are never made, nor refused: its process has been stopped, and the queue of the kernel is full.
 * Linux drops what comes then.
 */
export const keepSilence = async (): Promise<Silence> => {
  const child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(text.toString());
  child.kill('SIGSTOP');
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
      child.kill('SIGKILL');
    },
  };
};
