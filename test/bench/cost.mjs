import { setTimeout as sleep } from 'node:timers/promises';
import { startLoad } from './load/load.mjs';
import { operationsOf, requestsOf } from './load/operations.mjs';
import { takeSamples } from './load/samples.mjs';
import { countCpu } from './machine/cpu.mjs';
import { startSeeded } from './machine/seeded.mjs';
import { startGateway } from './machine/gateway.mjs';
import { kindsOf } from './machine/versions.mjs';
import { median, refusalsOf, warmUp } from './measure.mjs';
import { circumstances, figure, markdownTable, refusalMark, refusalNote } from './report.mjs';

const OPERATIONS = ['getById', 'list', 'toggleFavorite'];
const CONNECTIONS = 16;
/** Processes of each kind: two that are alike differ by what their compilers and memory happen to do. */
const SETS = 3;
const TURN_MS = 300;

/**
 * One round of a set of processes: many short turns of each, so that what disturbs one disturbs the others as well. Returns
 * `us`, the CPU time per answer of each in microseconds, and the `results` of all turns.
 */
const takeRound = async (servers, turn) => {
  const cpus = servers.map(({ pid }) => countCpu(pid));
  const answered = servers.map(() => 0);
  const results = [];
  const until = performance.now() + servers.length * turn.milliseconds;
  while (performance.now() < until) {
    for (const [index, { port }] of servers.entries()) {
      const result = await turn.load.run({ ...turn, port, milliseconds: TURN_MS });
      answered[index] += result.answered;
      results.push(result);
    }
  }
  // What is done later on is theirs, too.
  await sleep(turn.settleMs);
  return { us: cpus.map((used, index) => used() / answered[index]), results };
};

/** What a version or a setting costs: CPU time per answer of several gateways, in turns, each set beside the one before it. */
export const measureCost = async (options) => {
  const database = await startSeeded(options.games);
  const operations = operationsOf(await takeSamples(database));
  const load = startLoad();
  const names = options.operations ?? OPERATIONS;
  const milliseconds = options.seconds * 1000;
  const taken = new Map(names.map((name) => [name, []]));
  const results = new Map(names.map((name) => [name, []]));
  const kinds = kindsOf(options);
  for (const name of names) await load.define(name, requestsOf(operations[name]));
  for (let set = 0; set < SETS; set += 1) {
    const servers = [];
    for (const { env, root } of kinds) servers.push(await startGateway({ url: database.url, env, root }));
    for (const name of names) {
      for (const server of servers) await warmUp(load, server, name);
      const { settleMs = 0 } = operations[name];
      const turn = { load, set: name, connections: CONNECTIONS, milliseconds, settleMs };
      const rounds = [];
      for (let round = 0; round < options.rounds; round += 1) {
        const taking = await takeRound(servers, turn);
        rounds.push(taking.us);
        results.get(name).push(...taking.results);
      }
      console.error(name, `set ${set + 1}`, ...kinds.map((__, kind) => figure(median(rounds.map((us) => us[kind])))));
      taken.get(name).push(rounds);
    }
    for (const server of servers) await server.stop();
  }
  await database.stop();
  const refusals = new Map(names.map((name) => [name, refusalsOf(results.get(name))]));
  const rows = names.flatMap((name) => {
    const sets = taken.get(name);
    return kinds.slice(1).map((kind, index) => {
      const ratios = (rounds) => rounds.map((us) => us[index + 1] / us[index]);
      const ofSets = sets.map((rounds) => median(ratios(rounds))).toSorted((a, b) => a - b);
      return [
        name + refusalMark(refusals.get(name)),
        `${kind.name} : ${kinds[index].name}`,
        ...[index, index + 1].map((at) => figure(median(sets.flat().map((us) => us[at])))),
        ...[median(ratios(sets.flat())), ofSets[0], ofSets.at(-1)].map((n) => n.toFixed(3)),
      ];
    });
  });
  const head = ['operation', 'what', 'µs without', 'µs with', 'with : without', 'lowest of a set', 'highest of a set'];
  return `${circumstances(database.version)}, ${figure(options.games)} games, ${SETS} sets of processes, ${options.rounds} rounds of ${options.seconds} s each, ${CONNECTIONS} connections

${markdownTable(head, rows, 2)}${refusalNote([...refusals.values()])}`;
};
