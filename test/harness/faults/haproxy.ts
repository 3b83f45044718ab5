import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { blocksOf } from '../documents/guide.ts';
import { freePorts } from '../free-ports.mjs';
import { type Guarded, startGuarded } from './guarded.ts';

declare global {
  /** The paths of HAProxy and of nginx, set by jest.config.mjs. */
  var TEST_HAPROXY: string;
  var TEST_NGINX: string;
}

/** A balancer that the guide for operators sets up, in front of services on other ports. */
export interface PrintedBalancer {
  /** `http://127.0.0.1:<port>` */
  url: string;
  close(): Promise<void>;
}

const GUIDE = 'docs/scaling.md';

/** The configuration that the guide prints for a program. @throws Error when there is none */
export const printedFor = (program: 'haproxy' | 'nginx'): string => {
  const block = blocksOf(readFileSync(GUIDE, 'utf8')).find(({ language }) => language === program);
  if (!block) throw new Error(`${GUIDE} shows no configuration of ${program}.`);
  return block.text;
};

/** The configuration of the guide, as it stands but for the ports. @throws Error when it names fewer services */
const configurationFor = (program: 'haproxy' | 'nginx', port: number, ports: readonly number[]): string => {
  const services = new Map<string, number>();
  const text = printedFor(program)
    .replace(/^( *bind |  listen )[^;\n]*/m, `$1127.0.0.1:${port}`)
    .replaceAll(/^( *server (?:\w+ )?)(10\.\S+?)((?: .*)?\n)/gm, (_, start: string, address: string, end: string) => {
      if (!services.has(address)) services.set(address, services.size);
      const service = ports[services.get(address) ?? 0];
      return service === undefined ? '' : `${start}127.0.0.1:${service}${end}`;
    });
  if (services.size < ports.length)
    throw new Error(`${GUIDE} balances ${services.size} services, not ${ports.length}.`);
  return text;
};

/** Starts a balancer; resolves when it answers for the services. */
const start = async (
  program: 'haproxy' | 'nginx',
  ports: readonly number[],
  run: (folder: string, text: string) => Promise<Guarded>,
): Promise<PrintedBalancer> => {
  const folder = await mkdtemp(join(tmpdir(), `content-gateway-${program}-`));
  const [port = 0] = await freePorts(1);
  const balancer = await run(folder, configurationFor(program, port, ports));
  const url = `http://127.0.0.1:${port}`;
  const isUp = (): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (balancer.isRunning() && !(await isUp())) await sleep(50);
  if (!balancer.isRunning()) throw new Error(`${program} did not start:\n${balancer.words()}`);
  return {
    url,
    close: async () => {
      if (balancer.isRunning()) balancer.signal('SIGKILL');
      await balancer.ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
};

/** Starts HAProxy in front of services on these ports, `without` words that the guide says to leave out for some. */
export const startHaproxy = (ports: readonly number[], without = ''): Promise<PrintedBalancer> =>
  start('haproxy', ports, async (folder, text) => {
    if (!text.includes(without)) throw new Error(`${GUIDE} has no ${without}.`);
    const file = join(folder, 'haproxy.cfg');
    await writeFile(file, text.replace(without, ''));
    // With its own words when it does not understand the guide.
    execFileSync(globalThis.TEST_HAPROXY, ['-c', '-q', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] });
    return startGuarded(globalThis.TEST_HAPROXY, ['-db', '-f', file]);
  });

/** Around the guide's part: one process, which keeps its files in a folder. */
const nginxWith = (folder: string, text: string): string => `
daemon off;
master_process off;
error_log stderr error;
pid ${folder}/pid;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((use) => `${use}_temp_path ${folder}/${use};`).join(' ')}
${text}
}`;

/** Starts nginx in front of services on these ports. */
export const startNginx = (ports: readonly number[]): Promise<PrintedBalancer> =>
  start('nginx', ports, async (folder, text) => {
    const file = join(folder, 'nginx.conf');
    await writeFile(file, nginxWith(folder, text));
    return startGuarded(globalThis.TEST_NGINX, ['-c', file]);
  });
