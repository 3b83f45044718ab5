import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy that can be told what becomes of what the server answers. */
export interface Gate {
  /** The address of what is behind it, by way of the gate. */
  url: string;
  /** Breaks a connection as soon as the server answers on it. */
  lose(): void;
  /** Holds up all answers, and tells nobody. */
  hold(): void;
  /** Lets through what was held up, and all that comes. */
  open(): void;
  close(): Promise<void>;
}

/** Starts a gate in front of the server of a URL. */
export const startGate = async (target: string): Promise<Gate> => {
  const url = new URL(target);
  const sockets = new Set<Socket>();
  let state: 'open' | 'held' | 'losing' = 'open';
  let held: (() => void)[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(url.port || 3306), url.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      if (state === 'losing') client.destroy();
      else if (state === 'held') held.push(() => client.write(chunk));
      else client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = new URL(target);
  own.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: own.href,
    lose: () => (state = 'losing'),
    hold: () => (state = 'held'),
    open: () => {
      state = 'open';
      for (const pass of held) pass();
      held = [];
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
};
