import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy: what is behind it can be made to go away and to come back. */
export interface Proxy {
  /** The address of what is behind it, by way of the proxy. */
  url: string;
  /** Breaks every connection, and refuses new ones. */
  cut(): Promise<void>;
  /** Lets connections through again. */
  restore(): Promise<void>;
}

/** Starts a proxy in front of the server of a URL. `cut` it at the end. */
export const startProxy = async (target: string): Promise<Proxy> => {
  const url = new URL(target);
  const sockets = new Set<Socket>();
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
      socket.pipe(other);
    }
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };

  const port = await listen(0);
  const proxied = new URL(target);
  proxied.host = `127.0.0.1:${port}`;
  return {
    url: proxied.href,
    cut: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    restore: async () => {
      await listen(port);
    },
  };
};
