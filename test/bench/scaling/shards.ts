import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, test } from '@jest/globals';
import type { VitessProgram } from '../../harness/servers/servers.ts';
import { until } from '../../harness/until.ts';
import { RECORDS, startVitessCluster, type VitessCluster } from '../../harness/vitess/cluster.ts';
import { aKey } from '../../harness/http/load.ts';
import { countCpu, fill, type Load, median, processes, requestText, share, startLoad, startServer } from './parts.ts';

declare global {
  var TEST_VITESS: VitessProgram;
}

// What two shards give and cost, beside the same cluster with all tables on one MySQL: the CPU time of each part for each
// answer, which hardly depends on what else the machine does, and the rows that each MySQL writes. In turns, A B C A B C …

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const TURN_MS = Number(process.env.TURN_MS ?? 4000);
const CONNECTIONS = Number(process.env.CONNECTIONS ?? 16);
const GAMES = Number(process.env.GAMES ?? 2000);
const OPERATIONS = ['create', 'batchCreate', 'toggle', 'getById', 'list'] as const;
const WRITTEN = ['Innodb_rows_inserted', 'Innodb_rows_updated', 'Innodb_rows_deleted'];

/** The parts of a cluster whose work is told apart, by what their command line holds. */
const PARTS: Record<string, RegExp> = {
  vtgate: /\/vtgate\0/,
  tablets: /\/vttablet\0/,
  'MySQL, unsharded': /mysql-0\/data/,
  'MySQL, -80': /mysql-1\/data/,
  'MySQL, 80-': /mysql-2\/data/,
};

interface Setup {
  name: string;
  cluster: VitessCluster;
  port: number;
  pids: Map<string, number[]>;
  key: string;
  gameIds: string[];
}

const stops: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

/** Moves the empty tables of the records to the shards. */
const shard = async (cluster: VitessCluster): Promise<void> => {
  const prepare = ['deploy/vitess/prepare.mjs', '--server', cluster.control, '--vtctldclient', cluster.client];
  execFileSync(process.execPath, prepare, { stdio: ['ignore', 'ignore', 'inherit'] });
  const { tables } = JSON.parse(readFileSync('deploy/vitess/vschema.json', 'utf8')) as { tables: object };
  const move = (...args: string[]) =>
    cluster.command('MoveTables', '--workflow=records', `--target-keyspace=${RECORDS}`, ...args);
  await move('create', '--source-keyspace=content', `--tables=${Object.keys(tables).join(',')}`);
  await until(async () => (await move('status')).match(/Status: Running\. VStream Lag: 0s/g)?.length === 2, {
    withinMs: 60_000,
    everyMs: 200,
  });
  await move('switchtraffic');
  await move('complete', '--keep-routing-rules');
};

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
};

const start = async (name: string, options: { isSharded: boolean; atomic: boolean }): Promise<Setup> => {
  const before = processes();
  const cluster = await startVitessCluster(options);
  stops.push(() => cluster.remove());
  await aKey(cluster.url);
  if (options.isSharded) await shard(cluster);
  const ours = [...processes().keys()].filter((pid) => !before.has(pid));
  const server = await startServer('gateway', { url: cluster.url, env: { AUTO_MIGRATE: 'false' } });
  stops.push(() => server.stop());
  const pids = new Map([['service', [server.pid]]]);
  for (const [part, pattern] of Object.entries(PARTS))
    pids.set(
      part,
      ours.filter((pid) => pattern.test(commandOf(pid)) && !commandOf(pid).startsWith('sh')),
    );
  return { name, cluster, port: server.port, pids, ...(await fill(cluster.url, GAMES)) };
};

const requestsOf = ({ gameIds, key }: Setup, operation: (typeof OPERATIONS)[number]): string[] => {
  const game = { title: 'measured', gameType: 'RPG', tagNames: ['one', 'two', 'three'] };
  if (operation === 'create') return [requestText('game.create', game, key)];
  if (operation === 'batchCreate')
    return [requestText('game.batchCreate', { games: Array.from({ length: 20 }, () => game) }, key)];
  if (operation === 'toggle') return gameIds.map((gameId) => requestText('game.toggleFavorite', { gameId }, key));
  if (operation === 'getById') return gameIds.map((id) => requestText('game.getById', { id }));
  return [requestText('game.list', { limit: 20, page: 1 })];
};

const rowsWritten = async ({ cluster }: Setup): Promise<number[]> =>
  Promise.all(
    [0, 1, 2].map(async (n) => {
      const rows = (await cluster.below(n, "SHOW GLOBAL STATUS LIKE 'Innodb_rows%'")) as Record<string, string>[];
      const own = rows.filter(({ Variable_name: variable = '' }) => WRITTEN.includes(variable));
      return own.reduce((sum, { Value = '0' }) => sum + Number(Value), 0);
    }),
  );

/** What each MySQL holds of a cluster on shards: its games, and the MiB of its tables with their indexes. */
const held = async ({ cluster }: Setup): Promise<string> => {
  const each = ['content', RECORDS, RECORDS].map(async (database, n) => {
    const first = async (sql: string): Promise<number> => {
      const [row = {}] = (await cluster.below(n, sql)) as Record<string, string>[];
      return Number(Object.values(row)[0]);
    };
    const bytes = await first(
      `SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE '${database}/%'`,
    );
    const games = n === 0 ? 0 : await first(`SELECT COUNT(*) FROM ${database}.games`);
    return `${games} games, ${(bytes / 2 ** 20).toFixed(0)} MiB`;
  });
  return (await Promise.all(each)).join(' | ');
};

type Turn = Record<string, number>;

const takeTurn = async (load: Load, one: Setup, operation: string): Promise<Turn> => {
  const counters = [...one.pids].map(([part, pids]) => [part, pids.map(countCpu)] as const);
  const before = await rowsWritten(one);
  const set = `${one.name} ${operation}`;
  const result = await load.run({ port: one.port, set, connections: CONNECTIONS, milliseconds: TURN_MS });
  const { answered } = result.whole;
  const used = counters.map(([part, counts]) => [part, counts.reduce((sum, count) => sum + count(), 0) / answered]);
  const after = await rowsWritten(one);
  const rows = after.map((n, index) => [`rows ${index}`, (n - (before[index] ?? 0)) / answered]);
  const { perSecond, requests, refused } = result;
  return { perSecond, requests, refused, ...Object.fromEntries([...used, ...rows]) } as Turn;
};

test('what two shards give and cost', async () => {
  globalThis.TEST_ENGINE = { name: 'vitess', server: globalThis.TEST_VITESS };
  const setups = [
    await start('one MySQL', { isSharded: false, atomic: true }),
    await start('two shards', { isSharded: true, atomic: false }),
    await start('two shards, 2PC', { isSharded: true, atomic: true }),
  ];
  const say = (cells: readonly string[]): void => void process.stderr.write(`${cells.join(' | ')}\n`);
  for (const one of setups.slice(1)) say([one.name, await held(one)]);
  const load = startLoad();
  stops.push(async () => load.stop());
  const measures = ['perSecond', 'service', ...Object.keys(PARTS), 'rows 0', 'rows 1', 'rows 2'];
  say(['operation', 'setup', ...measures, 'refused']);
  for (const operation of OPERATIONS) {
    const turns = new Map<string, Turn[]>(setups.map(({ name }) => [name, []]));
    for (const one of setups) {
      await load.define(`${one.name} ${operation}`, requestsOf(one, operation));
      await takeTurn(load, one, operation);
    }
    for (let round = 0; round < ROUNDS; round += 1)
      for (const one of setups) turns.get(one.name)?.push(await takeTurn(load, one, operation));
    for (const { name } of setups) {
      const own = turns.get(name) ?? [];
      const sum = (measure: string): number => own.reduce((total, turn) => total + (turn[measure] ?? 0), 0);
      say([
        operation,
        name,
        ...measures.map((measure) => median(own.map((turn) => turn[measure] ?? 0)).toFixed(1)),
        share(sum('refused'), sum('requests')),
      ]);
    }
  }
});
