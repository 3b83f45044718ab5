import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A caller that takes nothing until it is told to. */
export interface SilentReader {
  socket: Socket;
  /** Takes all there is, `bytes` each `everyMs` if told; resolves with how much came, and whether it was all. */
  read(pace?: { bytes: number; everyMs: number }): Promise<{ bytes: number; whole: boolean }>;
}

/** Sends a text, and takes nothing of what comes back. */
export const startSilentReader = async (server: string, text: string): Promise<SilentReader> => {
  const { hostname, port } = new URL(server);
  const socket = connect(Number(port), hostname);
  // It ends early either way: by an error, or as if that were all.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.pause();
  socket.write(text);
  return {
    socket,
    read: (pace) =>
      new Promise((resolve) => {
        let head = '';
        let bytes = 0;
        let expected = Infinity;
        let allowed = pace ? pace.bytes : Infinity;
        const done = (): void => {
          clearInterval(timer);
          resolve({ bytes, whole: bytes >= expected });
          socket.destroy();
        };
        const timer = setInterval(() => {
          allowed += pace?.bytes ?? 0;
          socket.resume();
        }, pace?.everyMs ?? 1000);
        socket.on('data', (chunk: Buffer) => {
          if (expected === Infinity) {
            head += chunk.toString('latin1');
            const [, length] = /content-length: (\d+)/i.exec(head) ?? [];
            const end = head.indexOf('\r\n\r\n');
            if (end >= 0) expected = end + 4 + Number(length);
          }
          bytes += chunk.length;
          if (bytes >= expected) done();
          else if (bytes >= allowed) socket.pause();
        });
        socket.once('close', done);
        socket.resume();
      }),
  };
};
