import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROGRAM, type ServeProcess, startServe } from '../../harness/app/program.ts';
import { isFrozen } from '../../harness/faults/guarded.ts';
import { freePorts } from '../../harness/free-ports.mjs';
import { startProxy } from '../../harness/servers/proxy.ts';
import { until } from '../../harness/until.ts';

declare global {
  /** The library that moves the clock of a process, set by jest.config.mjs. */
  var TEST_FAKETIME: string;
}

export const PAUSE_MS = 400;
/** Of each instance. */
const SETTINGS = { LOG_LEVEL: 'error', RATE_LIMIT: 'off', REQUEST_TIMEOUT_MS: '5000' };

interface Options {
  url: string;
  env?: Record<string, string>;
  hasProxy?: boolean;
  hasClock?: boolean;
}

/** An instance: the service as a process that is started again at the same address, by a network and with a clock of its own. */
export const startInstance = async ({ url, env = {}, hasProxy = false, hasClock = false }: Options) => {
  const proxy = hasProxy ? await startProxy(url) : undefined;
  const [port = 0, metricsPort = 0] = await freePorts(2);
  const folder = await mkdtemp(join(tmpdir(), 'content-gateway-clock-'));
  const offset = join(folder, 'offset');
  const all = {
    ...SETTINGS,
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    ...env,
    ...(hasClock && {
      LD_PRELOAD: globalThis.TEST_FAKETIME,
      FAKETIME_TIMESTAMP_FILE: offset,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }),
  };
  const setClock = async (seconds: number): Promise<void> => {
    await writeFile(`${offset}.new`, `${seconds < 0 ? '' : '+'}${seconds}`);
    await rename(`${offset}.new`, offset);
  };
  await setClock(0);
  const start = (program: string): Promise<ServeProcess> =>
    startServe({
      url: proxy?.url ?? url,
      env: { ...all, ...(program !== PROGRAM && { AUTO_MIGRATE: 'false' }) },
      program,
    });
  let served = await start(PROGRAM);
  return {
    base: served.base,
    proxy,
    setClock,
    /** Its clock, in milliseconds since 1970 and whole seconds. */
    time: async () => Date.parse((await fetch(`${served.base}/healthz`)).headers.get('date') ?? ''),
    metric: async (name: string) => {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      return Number(new RegExp(`^content_gateway_${name} (\\S+)$`, 'm').exec(text)?.[1]);
    },
    kill: async () => {
      await served.stop('SIGKILL');
    },
    /** Starts it after it has ended. */
    start: async (program = PROGRAM) => {
      served = await start(program);
    },
    /** Ends it as a new version does. */
    stop: async () => {
      await served.stop();
    },
    pause: async () => {
      const { pid = 0 } = served.child;
      served.child.kill('SIGSTOP');
      await until(() => isFrozen(pid));
      await sleep(PAUSE_MS);
      served.child.kill('SIGCONT');
    },
    remove: async () => {
      await served.stop('SIGKILL');
      await proxy?.close();
      await rm(folder, { recursive: true });
    },
  };
};
export type Instance = Awaited<ReturnType<typeof startInstance>>;
