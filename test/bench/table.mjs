import { demandEqualAnswers } from './compare.mjs';
import { demandExactCounts } from './exact.mjs';
import { startLoad } from './load/load.mjs';
import { operationsOf, requestsOf } from './load/operations.mjs';
import { takeSamples } from './load/samples.mjs';
import { startSeeded } from './machine/seeded.mjs';
import { PEERS, startServer } from './machine/servers.mjs';
import { median, ratioOf, refusalsOf, takeTurn, takeTurns, warmUp } from './measure.mjs';
import { circumstances, count, figure, markdownTable, refusalMark, refusalNote, share } from './report.mjs';

const MEASURES = ['perSecond', 'p50', 'p99', 'serverUs', 'databaseUs'];
const HEAD = [
  'operation',
  'connections',
  'server',
  'answered/s',
  'p50 ms',
  'p99 ms',
  'server µs',
  'database µs',
  'refused',
  'other',
  'gateway : this, answered/s',
  'server µs',
  'database µs',
];

/** The servers that an operation is timed on, the gateway first. */
const serversFor = (operation, servers) =>
  servers.filter(({ name }) => name === 'gateway' || operation.servers.includes(PEERS.includes(name) ? 'peers' : name));

const mediansOf = (turns) =>
  Object.fromEntries(MEASURES.map((measure) => [measure, median(turns.map((turn) => turn[measure]))]));

/** The rows of an operation, with what was refused: `{cells, refusals}`. */
const rowsOf = (name, connections, turns) => {
  const [[, gateway]] = turns;
  return [...turns].map(([server, own]) => {
    const medians = mediansOf(own);
    const refusals = refusalsOf(own);
    const ratio = (measure) => (server.name === 'gateway' ? '' : figure(ratioOf(gateway, own, measure)));
    const cells = [
      name,
      connections,
      server.name + refusalMark(refusals),
      ...MEASURES.map((measure) => figure(medians[measure])),
      share(refusals.refused, refusals.requests),
      count(refusals.other),
      ...['perSecond', 'serverUs', 'databaseUs'].map(ratio),
    ];
    return { cells, refusals };
  });
};

const startServers = (names, database) => Promise.all(names.map((name) => startServer(name, { url: database.url })));

/** Measures operations on the gateway and those beside it. Resolves with the table as Markdown. */
export const measureTable = async (options) => {
  const database = await startSeeded(options.games);
  const samples = await takeSamples(database);
  const names = ['gateway', ...(options.onlyGateway ? [] : ['bare', ...(options.peers ? PEERS : [])])];
  const servers = await startServers(names, database);
  const load = startLoad();
  const milliseconds = options.seconds * 1000;
  const rows = [];
  for (const [name, operation] of Object.entries(operationsOf(samples))) {
    if (options.operations && !options.operations.includes(name)) continue;
    const timed = serversFor(operation, servers);
    if (timed.length > 1) await demandEqualAnswers(timed, operation);
    await load.define(name, requestsOf(operation));
    for (const server of timed) await warmUp(load, server, name);
    for (const connections of operation.connections ?? options.connections) {
      const { settleMs } = operation;
      const turn = { load, database, set: name, connections, milliseconds, settleMs, tolerant: true };
      const turns = await takeTurns(timed, options.rounds, (server) => takeTurn({ ...turn, server }));
      const added = rowsOf(name, connections, turns);
      for (const { cells } of added) console.error(cells.join('  '));
      rows.push(...added);
    }
    if (operation.isWrite) await demandExactCounts(database);
  }
  for (const server of servers) await server.stop();
  await database.stop();
  return `${circumstances(database.version)}, ${figure(options.games)} games, ${options.rounds} rounds of ${options.seconds} s

${markdownTable(
  HEAD,
  rows.map(({ cells }) => cells),
  3,
)}${refusalNote(rows.map(({ refusals }) => refusals))}`;
};
