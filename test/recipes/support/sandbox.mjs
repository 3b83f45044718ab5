import { createServer } from 'node:net';
import { once } from 'node:events';
import { PROGRAM, startServer } from '../../clients/sdk/gateway.mjs';

/** The key of the sandbox with every scope, as docs/sandbox.md prints it. */
export const KEY = 'cgk_sandboxAll00000000000000000000002FwSwT';

/** Starts a sandbox on a free port. Returns its `url` and `stop`. */
export const startSandbox = () =>
  startServer(
    PROGRAM,
    ['serve', '--sandbox'],
    { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'warn' },
    /^ *Docs: +(http\S+)\/docs\/$/m,
  );

/** A port that nobody listens on. */
export const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
};
