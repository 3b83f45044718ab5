import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { blocksOf } from '../documents/guide.ts';
import { freePorts } from '../free-ports.mjs';
import { startGuarded } from './guarded.ts';

declare global {
  /** The path of HAProxy, set by test/fault/jest.config.mjs. */
  var TEST_HAPROXY: string;
}

/** The balancer that the guide for operators sets up, in front of services on other ports. */
export interface Haproxy {
  /** `http://127.0.0.1:<port>` */
  url: string;
  close(): Promise<void>;
}

const GUIDE = 'docs/scaling.md';

/** The configuration of the guide, as it stands but for the ports. @throws Error when it names fewer services */
const configurationFor = (port: number, ports: readonly number[]): string => {
  const block = blocksOf(readFileSync(GUIDE, 'utf8')).find(({ language }) => language === 'haproxy');
  if (!block) throw new Error(`${GUIDE} shows no configuration of HAProxy.`);
  let served = 0;
  const text = block.text
    .replace(/^( *bind ).*$/m, `$1127.0.0.1:${port}`)
    .replaceAll(/^( *server \w+ )\S+(.*\n)/gm, (_, start: string, end: string) => {
      const service = ports[served];
      if (service === undefined) return '';
      served += 1;
      return `${start}127.0.0.1:${service}${end}`;
    });
  if (served !== ports.length) throw new Error(`${GUIDE} balances ${served} services, not ${ports.length}.`);
  return text;
};

/** Starts HAProxy in front of services on these ports; resolves when it answers for them. */
export const startHaproxy = async (ports: readonly number[]): Promise<Haproxy> => {
  const folder = await mkdtemp(join(tmpdir(), 'content-gateway-haproxy-'));
  const file = join(folder, 'haproxy.cfg');
  const [port = 0] = await freePorts(1);
  await writeFile(file, configurationFor(port, ports));
  // With its own words when it does not understand the guide.
  execFileSync(globalThis.TEST_HAPROXY, ['-c', '-q', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const haproxy = await startGuarded(globalThis.TEST_HAPROXY, ['-db', '-f', file]);
  const url = `http://127.0.0.1:${port}`;
  const isUp = (): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (haproxy.isRunning() && !(await isUp())) await sleep(50);
  if (!haproxy.isRunning()) throw new Error(`HAProxy did not start:\n${haproxy.words()}`);
  return {
    url,
    close: async () => {
      if (haproxy.isRunning()) haproxy.signal('SIGKILL');
      await haproxy.ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
};
