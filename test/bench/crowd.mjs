import { startLoad } from './load/load.mjs';
import { crowdRequestsOf, operationsOf } from './load/operations.mjs';
import { median, ratioOf, refusalsOf, takeTurn, takeTurns, warmUp } from './measure.mjs';
import { circumstances, count, figure, markdownTable, refusalMark, refusalNote, share } from './report.mjs';
import { callersOf, demandRunning, startVersions } from './machine/versions.mjs';

const OPERATIONS = [
  'getById',
  'listPages',
  'getProfile',
  'search',
  'userSearch',
  'getRelated',
  'toggleFavorite',
  'hotToggle',
  'create',
  'batch20',
  'mcp',
  'mix',
];
const WARM_UP = [{ connections: 16, milliseconds: 2000, count: 4000 }];
/** A large crowd takes this long to arrive, since Node accepts few connections at each look at the network. */
const ARRIVAL_MS = { small: 500, large: 4000 };
const LARGE = 500;
/** Views and replies under way are finished after a turn, before the next one begins. */
const SETTLE_MS = 1200;

const HEAD = [
  'operation',
  'callers',
  'version',
  'answered/s',
  'refused',
  'other',
  'p50 ms',
  'p99 ms',
  'refused p50',
  '/healthz p99',
  'worst',
  'arriving: p99',
  '/healthz',
  'server µs',
  'database µs',
];
const RATIO_HEAD = ['now : this, answered/s', 'p99', 'server µs', 'database µs'];
const RATIOS = ['perSecond', 'p99', 'serverUs', 'databaseUs'];
const MEASURES = [
  ...RATIOS,
  'p50',
  'refusedPerSecond',
  'refusedP50',
  'healthMs',
  'healthWorstMs',
  'earlyP99',
  'arrivalMs',
];

/** One turn of a crowd; another process asks `/healthz` meanwhile. */
const visit = async ({ load, beside, callers }, version, set, connections, { seconds, obedient, oneCaller }) => {
  demandRunning(version);
  const { server, database } = version;
  const warmUpMs = connections >= LARGE ? ARRIVAL_MS.large : ARRIVAL_MS.small;
  const milliseconds = seconds * 1000 + warmUpMs;
  const common = { load, server, database, set, connections, milliseconds, warmUpMs, settleMs: SETTLE_MS };
  const own = callers.get(version);
  const [turn, health] = await Promise.all([
    takeTurn({ ...common, callers: oneCaller ? own.slice(0, 1) : own, tolerant: true, obedient }),
    beside.watchHealth({ port: server.port, milliseconds, warmUpMs }),
  ]);
  demandRunning(version);
  return {
    ...turn,
    healthMs: health.p99,
    healthWorstMs: health.worst,
    arrivalMs: health.arriving.p99,
    healthFailed: health.failed + health.arriving.failed,
  };
};

const summaryOf = (turns) => ({
  ...Object.fromEntries(MEASURES.map((measure) => [measure, median(turns.map((turn) => turn[measure]))])),
  ...refusalsOf(turns),
  healthFailed: turns.reduce((sum, turn) => sum + turn.healthFailed, 0),
});

const rowOf = (name, connections, version, level, ratios, withRatios) => [
  name,
  connections,
  version,
  figure(level.perSecond) + refusalMark(level),
  share(level.refused, level.requests),
  count(level.other),
  figure(level.p50),
  figure(level.p99),
  figure(level.refusedP50),
  figure(level.healthMs) + (level.healthFailed > 0 ? `, ${level.healthFailed} failed` : ''),
  figure(level.healthWorstMs),
  figure(level.earlyP99),
  figure(level.arrivalMs),
  figure(level.serverUs),
  figure(level.databaseUs),
  ...(withRatios ? RATIOS.map((measure) => (ratios ? figure(ratios[measure]) : '')) : []),
];

/** Measures all operations at all numbers of connections. Resolves with a table of them as Markdown. */
const measureVersions = async (options, versions) => {
  const load = startLoad();
  const beside = startLoad();
  const callers = new Map(versions.map((version) => [version, callersOf(version.database.samples)]));
  const context = { load, beside, callers };
  const operations = new Map(versions.map((version) => [version, operationsOf(version.database.samples)]));
  const setOf = (version, name) => `${version.name} ${name}`;
  const levels = [];
  const rows = [];
  for (const name of options.operations ?? OPERATIONS) {
    for (const version of versions) {
      await load.define(setOf(version, name), crowdRequestsOf(operations.get(version), name));
      await warmUp(load, version.server, setOf(version, name), { turns: WARM_UP, callers: callers.get(version) });
    }
    for (const connections of options.connections) {
      const turns = await takeTurns(versions, options.rounds, (version) =>
        visit(context, version, setOf(version, name), connections, options),
      );
      const [[, base]] = turns;
      for (const [version, own] of turns) {
        const level = { name, connections, version: version.name, ...summaryOf(own) };
        const ratios =
          own === base
            ? undefined
            : Object.fromEntries(RATIOS.map((measure) => [measure, ratioOf(base, own, measure)]));
        const row = rowOf(name, connections, version.name, level, ratios, versions.length > 1);
        console.error(row.join('  '), JSON.stringify(own.map(({ statuses }) => statuses)));
        levels.push(level);
        rows.push(row);
      }
    }
  }
  load.stop();
  beside.stop();
  const head = [...HEAD, ...(versions.length > 1 ? RATIO_HEAD : [])];
  return `${markdownTable(head, rows, 3)}${refusalNote(levels)}`;
};

/**
 * Sends crowds of closed-loop callers to the gateway and the versions beside it, and says as Markdown how many are answered
 * and refused, how long that takes, and what an answer costs.
 */
export const measureCrowds = async (options) => {
  const { games, seconds, rounds, obedient, oneCaller, distance = [0] } = options;
  const texts = [];
  let databaseVersion;
  for (const distanceMs of distance) {
    const versions = await startVersions(options, distanceMs);
    databaseVersion = versions[0].database.version;
    const text = await measureVersions(options, versions);
    for (const { stop } of versions) await stop();
    texts.push(distanceMs > 0 ? `**The database ${distanceMs} ms away**\n\n${text}` : text);
  }
  const manners = `${oneCaller ? 'all connections are one caller' : 'each connection is a caller of its own'}; a refused caller comes back ${obedient ? 'after `Retry-After`' : 'at once'}`;
  return [
    `${circumstances(databaseVersion)}, ${figure(games)} games, ${rounds} rounds of ${seconds} s; ${manners}`,
    ...texts,
  ].join('\n\n');
};
