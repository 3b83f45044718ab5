import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * Starts a TCP proxy in front of a database on this machine, which passes each piece of a reply on `ms` later: timers of one
 * length end in their order, so that replies sent without waiting stay so.
 *
 * @returns `url` of the database by way of the proxy, and `stop()`
 */
export const startDelay = async (target, ms) => {
  const { hostname: host, port } = new URL(target);
  const sockets = new Set();
  const server = createServer({ noDelay: true }, (client) => {
    const database = connect({ port: Number(port), host, noDelay: true });
    client.pipe(database);
    database.on('data', (chunk) => setTimeout(() => client.write(chunk), ms));
    database.on('close', () => setTimeout(() => client.destroy(), ms));
    client.on('close', () => database.destroy());
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.port = String(server.address().port);
  return {
    url: url.href,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};
