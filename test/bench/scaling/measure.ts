import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, test } from '@jest/globals';
import { startCluster } from '../../harness/faults/galera.ts';
import { startDurableServer } from '../../harness/faults/durable-server.ts';
import { startHaproxy } from '../../harness/faults/haproxy.ts';
import type { VitessProgram } from '../../harness/servers/servers.ts';
import {
  countCpu,
  fill,
  type Load,
  median,
  processes,
  refusalMark,
  requestText,
  share,
  startLoad,
  startServer,
} from './parts.ts';

declare global {
  var TEST_VITESS: VitessProgram;
}

// Each setup in its turn, A B C A B C …; a ratio is the median over the rounds, within each of which the same noise befell
// all. CPU time hardly depends on what else the machine does, where requests per second do.

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const TURN_MS = Number(process.env.TURN_MS ?? 2000);
const CONNECTIONS = Number(process.env.CONNECTIONS ?? 32);
const POOL = /reads: 24, writes: 16/;
const WIDER_POOL = 'reads: 96, writes: 64';

const folders: string[] = [];
const stops: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

interface Setup {
  name: string;
  port: number;
  /** Of the service, the balancer, the database. */
  pids: { service: number[]; balancer: number[]; database: number[] };
  gameIds: string[];
  key: string;
}

const setups: Setup[] = [];

type Filled = Awaited<ReturnType<typeof fill>> & { url: string; pids: number[] };

/** Starts a database by `start`, and notes its processes. */
const database = async (start: () => Promise<{ url: string; stop(): Promise<void> }>): Promise<Filled> => {
  const before = processes();
  const { url, stop } = await start();
  stops.push(stop);
  const pids = [...processes()].filter(([pid, name]) => !before.has(pid) && name !== 'sh' && name !== 'cat');
  return { url, pids: pids.map(([pid]) => pid), ...(await fill(url)) };
};

const service = async (url: string, { env = {}, root }: { env?: Record<string, string>; root?: string } = {}) => {
  const before = processes();
  const server = await startServer('gateway', { url, env, ...(root !== undefined && { root }) });
  stops.push(() => server.stop());
  // Workers, too.
  await new Promise((done) => setTimeout(done, 2000));
  return { port: server.port, pids: [...processes().keys()].filter((pid) => !before.has(pid)) };
};

const setup = (name: string, filled: Filled, port: number, pids: number[], balancer: number[] = []): void => {
  const { key, gameIds } = filled;
  setups.push({ name, port, key, gameIds, pids: { service: pids, balancer, database: filled.pids } });
};

/** This version with a wider pool. */
const withWiderPool = (): string => {
  const root = mkdtempSync(join(tmpdir(), 'content-gateway-pool-'));
  folders.push(root);
  for (const path of ['dist', 'package.json', 'docs', 'openapi', 'src/site/assets', 'CHANGELOG.md', 'README.md'])
    cpSync(path, join(root, path), { recursive: true });
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  const file = join(root, 'dist/src/db/mysql/open.js');
  const text = readFileSync(file, 'utf8');
  if (!POOL.test(text)) throw new Error('The pool is not where it was.');
  writeFileSync(file, text.replace(POOL, WIDER_POOL));
  return root;
};

const start = async (): Promise<void> => {
  const durable = async () => {
    const server = await startDurableServer();
    return { url: server.url, stop: () => server.remove() };
  };
  const mariadb = await database(durable);
  const one = await service(mariadb.url);
  setup('one process', mariadb, one.port, one.pids);
  const wide = await service(mariadb.url, { root: withWiderPool() });
  setup('pool of 96 and 64', mariadb, wide.port, wide.pids);
  const workers = await service(mariadb.url, { env: { WORKERS: '2' } });
  setup('two workers', mariadb, workers.port, workers.pids);
  const instances = [];
  for (let n = 0; n < 4; n += 1) instances.push(await service(mariadb.url));
  const before = processes();
  const balancer = await startHaproxy(instances.map(({ port }) => port));
  stops.push(() => balancer.close());
  const balancing = [...processes()].filter(([pid, name]) => !before.has(pid) && name.startsWith('haproxy'));
  setup(
    'four instances, HAProxy',
    mariadb,
    Number(new URL(balancer.url).port),
    instances.flatMap(({ pids }) => pids),
    balancing.map(([pid]) => pid),
  );

  for (const [name, settings] of [
    ['Galera, three nodes', {}],
    ['Galera, wsrep_sync_wait=7', { wsrep_sync_wait: '7' }],
  ] as const) {
    const galera = await database(async () => {
      const cluster = await startCluster({ settings });
      return { url: cluster.url(0, 1, 2), stop: () => cluster.remove() };
    });
    const onGalera = await service(galera.url);
    setup(name, galera, onGalera.port, onGalera.pids);
  }

  const { mysql } = globalThis.TEST_VITESS;
  globalThis.TEST_ENGINE = { name: 'mysql', server: mysql };
  const alone = await database(durable);
  const onMysql = await service(alone.url);
  setup('MySQL', alone, onMysql.port, onMysql.pids);
  globalThis.TEST_ENGINE = { name: 'vitess', server: globalThis.TEST_VITESS };
  const vitess = await database(durable);
  const onVitess = await service(vitess.url);
  setup('Vitess over MySQL', vitess, onVitess.port, onVitess.pids);
};

const OPERATIONS = ['list', 'getById', 'create'] as const;
type Operation = (typeof OPERATIONS)[number];

const requestsOf = ({ gameIds, key }: Setup, operation: Operation): string[] => {
  if (operation === 'list') return [requestText('game.list', { limit: 20, page: 1 })];
  if (operation === 'getById') return gameIds.map((id) => requestText('game.getById', { id }));
  return [requestText('game.create', { title: 'measured', gameType: 'RPG', tagNames: ['one', 'two', 'three'] }, key)];
};

interface Turn {
  requests: number;
  refused: number;
  perSecond: number;
  p99: number;
  service: number;
  balancer: number;
  database: number;
}

const MEASURES = ['perSecond', 'p99', 'service', 'balancer', 'database'] as const;

const takeTurn = async (load: Load, one: Setup, operation: Operation, milliseconds: number): Promise<Turn> => {
  const counters = Object.entries(one.pids).map(([name, pids]) => [name, pids.map(countCpu)] as const);
  const set = `${one.name} ${operation}`;
  const result = await load.run({ port: one.port, set, connections: CONNECTIONS, milliseconds });
  const used = counters.map(([name, counts]) => [
    name,
    counts.reduce((sum, count) => sum + count(), 0) / result.whole.answered,
  ]);
  const { requests, refused, perSecond, p99 } = result;
  return { requests, refused, perSecond, p99, ...Object.fromEntries(used) } as Turn;
};

test('what each step gives and costs', async () => {
  await start();
  const load = startLoad();
  stops.push(async () => load.stop());
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  say(
    'operation | setup | answered/s | p99 ms | service µs | balancer µs | database µs | refused | ratios: answered/s, service, database',
  );
  for (const operation of OPERATIONS) {
    const turns = new Map<string, Turn[]>(setups.map(({ name }) => [name, []]));
    for (const one of setups) {
      await load.define(`${one.name} ${operation}`, requestsOf(one, operation));
      await takeTurn(load, one, operation, TURN_MS);
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const one of setups) turns.get(one.name)?.push(await takeTurn(load, one, operation, TURN_MS));
    }
    for (const { name } of setups) {
      const base = name.startsWith('Vitess') ? 'MySQL' : 'one process';
      const own = turns.get(name) ?? [];
      const medians = MEASURES.map((measure) => median(own.map((turn) => turn[measure])).toFixed(1));
      const ratio = (measure: 'perSecond' | 'service' | 'database'): string =>
        median(own.map((turn, n) => turn[measure] / (turns.get(base)?.[n]?.[measure] ?? 0))).toFixed(2);
      const total = (measure: 'requests' | 'refused'): number => own.reduce((sum, turn) => sum + turn[measure], 0);
      const refused = total('refused');
      const ratios = [ratio('perSecond'), ratio('service'), ratio('database')];
      const cells = [
        operation,
        name + refusalMark({ refused }),
        ...medians,
        share(refused, total('requests')),
        ...ratios,
      ];
      say(cells.join(' | '));
    }
  }
});
