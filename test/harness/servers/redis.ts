import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from '@jest/globals';
import type { Certificate } from './certificates.ts';
import { freePort } from '../free-ports.mjs';

declare global {
  /** The path of its program, set by jest.config.mjs. */
  var TEST_REDIS: string;
}

/** A Redis of our own, empty, which forgets everything when it ends. */
export interface RedisServer {
  url: string;
  port: number;
  child: ChildProcess;
  /** Has it do a command, of words without blanks, and returns what it answers, as it comes. */
  command: (text: string) => Promise<string>;
  /** Kills it. */
  kill: () => Promise<void>;
  /** Starts it again, empty, on the same port. */
  restart: () => Promise<void>;
}

const running = new Set<ChildProcess>();
const folders: string[] = [];
// A test that failed halfway leaves no process behind.
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const answers = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

/** Starts a Redis on a free port; with certificates, by TLS alone. @throws Error when it does not come up */
export const startRedis = async ({
  tls,
  password,
}: { tls?: { ca: Certificate; own: Certificate }; password?: string } = {}): Promise<RedisServer> => {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'content-gateway-redis-'));
  folders.push(folder);
  const listen = tls
    ? ['--port', '0', '--tls-port', String(port), '--tls-cert-file', tls.own.cert, '--tls-key-file', tls.own.key]
    : ['--port', String(port)];
  const options = [
    ...listen,
    ...(tls ? ['--tls-ca-cert-file', tls.ca.cert, '--tls-auth-clients', 'no'] : []),
    ...(password === undefined ? [] : ['--requirepass', password]),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    folder,
  ];
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(TEST_REDIS, options, { stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    child.once('exit', () => running.delete(child));
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error('Redis did not start.');
      await sleep(20);
    }
    return child;
  };
  const server: RedisServer = {
    url: `${tls ? 'rediss' : 'redis'}://${password === undefined ? '' : `:${password}@`}localhost:${port}`,
    port,
    child: await start(),
    command: async (text) => {
      const socket = connect(port, '127.0.0.1');
      let answer = '';
      socket.on('data', (data) => (answer += data.toString()));
      // It closes the connection when it has answered.
      socket.write(`${text}\r\nQUIT\r\n`);
      await once(socket, 'close');
      return answer.replace(/\+OK\r\n$/, '');
    },
    kill: async () => {
      const { child } = server;
      if (!running.has(child)) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    restart: async () => {
      server.child = await start();
    },
  };
  return server;
};
