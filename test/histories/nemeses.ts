import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, engine } from '../harness/app/database.ts';
import { type ServeProcess, startServe } from '../harness/app/program.ts';
import { startDurableServer } from '../harness/faults/durable-server.ts';
import { freePorts } from '../harness/free-ports.mjs';

const PAUSE_MS = 400;
const DOWN_MS = 300;

/** The service on a database of its own, and the ways to harm both. */
export interface Victim {
  base: string;
  url: string;
  /** The port to which it sends webhooks. */
  webhookPort: number;
  /** Harms it in one way after the other. Returns when it works again. */
  harm: (turn: number) => Promise<void>;
  remove: () => Promise<void>;
}

const isServer = engine !== 'sqlite';

/** Starts the service with the nemesis `kill`, `pause`, `database` or `all`. */
export const startVictim = async (nemesis: string, prepare: (url: string) => Promise<void>): Promise<Victim> => {
  const server = isServer ? await startDurableServer() : undefined;
  const database = server ? undefined : await createDatabase();
  const url = server?.url ?? database!.url;
  await prepare(url);
  const [port = 0, webhookPort = 0] = await freePorts(2);
  const env = {
    LOG_LEVEL: 'error',
    RATE_LIMIT: 'off',
    REQUEST_TIMEOUT_MS: '5000',
    PORT: String(port),
    WEBHOOK_ALLOW: '127.0.0.0/8',
    WEBHOOK_HTTP: 'true',
    WEBHOOK_PORTS: String(webhookPort),
  };
  const start = (): Promise<ServeProcess> => startServe({ url, env });
  let served = await start();
  const ways = {
    kill: async () => {
      await served.stop('SIGKILL');
      served = await start();
    },
    pause: async () => {
      served.child.kill('SIGSTOP');
      await sleep(PAUSE_MS);
      served.child.kill('SIGCONT');
      if (!server) return;
      await server.freeze();
      await sleep(PAUSE_MS);
      server.thaw();
    },
    database: async () => {
      if (!server) throw new Error('SQLite is no server that could be killed.');
      await server.kill();
      await sleep(DOWN_MS);
      await server.start();
    },
  };
  const all = [ways.kill, ...(server ? [ways.database] : []), ways.pause];
  const chosen = nemesis === 'all' ? all : [ways[nemesis as keyof typeof ways]];
  if (!chosen[0]) throw new Error(`There is no nemesis ${nemesis}: all, ${Object.keys(ways).join(', ')}.`);
  return {
    base: served.base,
    url,
    webhookPort,
    harm: (turn) => chosen[turn % chosen.length]!(),
    remove: async () => {
      await served.stop('SIGKILL');
      await server?.remove();
      await database?.drop();
    },
  };
};
