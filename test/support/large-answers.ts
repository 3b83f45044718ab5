import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

// Answers that no kernel keeps whole for a caller who does not take them.

const CALLS = 16;

const url = (n: number, length: number) => `https://example.com/${n}/`.padEnd(length, 'x');

/** The input of `game.create` for a game of 340 KB, the most that there can be. */
export const largeGame = {
  title: 'large',
  description: 'x'.repeat(5000),
  extraInfo: {
    screenshots: Array.from({ length: 50 }, (_, n) => url(n, 2048)),
    downloads: Array.from({ length: 50 }, (_, n) => ({
      name: 'x'.repeat(200),
      url: url(n, 4096),
      password: 'x'.repeat(200),
    })),
  },
};

/** A request, as it goes on the wire, that is answered with five megabytes: with a large game, again and again. */
export const largeRequest = (id: string): string => {
  const calls = Array.from({ length: CALLS }, (_, n) => [n, { json: { id } }] as const);
  const body = JSON.stringify(Object.fromEntries(calls));
  return [
    `POST /api/trpc/${calls.map(() => 'game.getById').join(',')}?batch=1 HTTP/1.1`,
    'Host: gateway',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
};

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
