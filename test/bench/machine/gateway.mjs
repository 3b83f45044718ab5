import { once } from 'node:events';
import { openSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { start, stop } from './processes.mjs';
import { freePort } from '../../harness/free-ports.mjs';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const START_TIMEOUT_MS = 30_000;

const waitUntilItListens = async ({ port, child }) => {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      const socket = connect({ port, host: '127.0.0.1' });
      await once(socket, 'connect');
      socket.destroy();
      return;
    } catch (error) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error('A server did not start.', { cause: error });
      await sleep(50);
    }
  }
};

/**
 * Starts the gateway as operators run it, of this version unless `root` is the folder of another, built. Its log goes to
 * /dev/null, which costs it what a file would.
 *
 * @returns `port`, `pid`, `child`, and `stop()`
 */
export const startGateway = async ({ url, env = {}, root = ROOT }) => {
  const port = await freePort();
  const server = start(process.execPath, ['dist/src/cli.js', 'serve'], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      PORT: String(port),
      DATABASE_URL: url,
      RATE_LIMIT: 'off',
      ...env,
    },
    stdio: ['ignore', 'ignore', openSync('/dev/null', 'w')],
  });
  await waitUntilItListens({ port, child: server.child });
  return { port, pid: server.child.pid, child: server.child, stop: (signal) => stop(server, signal) };
};
