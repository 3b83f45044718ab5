import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a proxy shows of one connection. */
export interface Watch {
  /** Of what the client sends. `lose` breaks the connection instead of passing the chunk on. */
  request(chunk: Buffer, lose: () => void): void;
  /** Of what comes back, likewise. */
  reply(chunk: Buffer, lose: () => void): void;
}

/** A TCP proxy: what is behind it can be made to go away, to fall silent, to be slow, and to come back. */
export interface Proxy {
  /** The address of what is behind it, by way of the proxy. */
  url: string;
  /** Breaks every connection, and refuses new ones. */
  cut(): Promise<void>;
  /** Lets connections through again. */
  restore(): Promise<void>;
  /** Passes nothing on any more, either way, and tells nobody: connections stay open, new ones are accepted. */
  freeze(): void;
  /** Passes on what was held up, and all that comes. */
  thaw(): void;
  /**
   * Passes on nothing any more of the connections there are, and tells nobody, as a router does that was restarted; new
   * ones are let through. Returns how many there were.
   */
  forget(): number;
  /** Passes each piece of a reply on so many milliseconds later. */
  delayReplies(ms: number): void;
  /** Has every connection that begins from now on watched; undefined for none. */
  watch(begin: (() => Watch) | undefined): void;
  /** Breaks everything, for good. */
  close(): Promise<void>;
}

/** Starts a proxy in front of the server of a URL. `close` it at the end. */
export const startProxy = async (target: string): Promise<Proxy> => {
  const url = new URL(target);
  const sockets = new Set<Socket>();
  const forgotten = new WeakSet<Socket>();
  let frozen = false;
  let delayMs = 0;
  let watching: (() => Watch) | undefined;

  /** Passes on from one side to the other what `see` lets through. */
  const pump = (from: Socket, to: Socket, delayOf: () => number, see: (chunk: Buffer, lose: () => void) => void) => {
    sockets.add(from);
    let last = Promise.resolve();
    let held = 0;
    const later = (pass: () => void): void => {
      const ms = delayOf();
      if (ms === 0 && held === 0) {
        pass();
        return;
      }
      held += 1;
      const due = sleep(ms);
      const passLater = async (before: Promise<void>): Promise<void> => {
        await before;
        await due;
        held -= 1;
        if (!to.destroyed) pass();
      };
      last = passLater(last);
    };
    from.on('data', (chunk: Buffer) => {
      let isLost = false;
      see(chunk, () => (isLost = true));
      if (isLost) {
        from.destroy();
        to.destroy();
        return;
      }
      later(() => {
        if (forgotten.has(to) || to.write(chunk) || frozen) return;
        from.pause();
        to.once('drain', () => {
          if (!frozen) from.resume();
        });
      });
    });
    from.on('end', () => later(() => to.end()));
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      later(() => to.destroy());
    });
    if (frozen) from.pause();
  };

  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: Number(url.port || 3306), host: url.hostname, noDelay: true });
    const watch = watching?.();
    pump(
      client,
      upstream,
      () => 0,
      (chunk, lose) => watch?.request(chunk, lose),
    );
    pump(
      upstream,
      client,
      () => delayMs,
      (chunk, lose) => watch?.reply(chunk, lose),
    );
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };

  const port = await listen(0);
  const proxied = new URL(target);
  proxied.host = `127.0.0.1:${port}`;
  return {
    url: proxied.href.replace(/\/$/, ''),
    cut,
    restore: async () => {
      await listen(port);
    },
    freeze: () => {
      frozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw: () => {
      frozen = false;
      for (const socket of sockets) if (!forgotten.has(socket)) socket.resume();
    },
    forget: () => {
      for (const socket of sockets) {
        forgotten.add(socket);
        socket.pause();
      }
      return Math.ceil(sockets.size / 2);
    },
    delayReplies: (ms) => {
      delayMs = ms;
    },
    watch: (begin) => {
      watching = begin;
    },
    close: cut,
  };
};
