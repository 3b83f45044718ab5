import { setTimeout as sleep } from 'node:timers/promises';
import { startLoad } from './load/load.mjs';
import { crowdRequestsOf, operationsOf } from './load/operations.mjs';
import { median, ratioOf, refusalsOf, takeTurns, warmUp } from './measure.mjs';
import { circumstances, count, figure, markdownTable, refusalMark, refusalNote, share } from './report.mjs';
import { callersOf, demandRunning, startVersions } from './machine/versions.mjs';

const OPERATIONS = ['getRelated', 'search', 'hotToggle', 'batch20', 'mcp', 'create'];
const WARM_UP = [{ connections: 16, milliseconds: 2000, count: 4000 }];
const WARM_UP_MS = 1000;
const SETTLE_MS = 1200;
/** Between an answer and the next request of a lone caller, which shall be no load of its own. */
const PAUSE_MS = 5;
/** What the other caller does, on a connection each. */
const LONE = { reads: ['getById', 'list'], writes: ['toggleFavorite'] };
const HEAD = ['beside', 'version', 'crowd answered/s', 'crowd refused', 'lone caller', 'alone p50 ms', 'p99'];
const BESIDE_HEAD = ['beside p50 ms', 'p99', 'refused', 'other', 'p99 beside : alone'];

/** Requests of several operations in turn. */
const interleaved = (lists) =>
  lists[0].flatMap((first, index) => [first, ...lists.slice(1).map((list) => list[index % list.length])]);

/** One turn: the lone caller, and the crowd when `crowdSet` names one. Resolves with the results by name. */
const visit = async ({ load, beside }, version, crowdSet, { seconds, connections, obedient }) => {
  const { name, server, database } = version;
  const [one, other] = callersOf(database.samples);
  const milliseconds = seconds * 1000 + WARM_UP_MS;
  const common = { port: server.port, milliseconds, warmUpMs: WARM_UP_MS, tolerant: true, obedient };
  const alone = { ...common, connections: 1, callers: [other], pauseMs: PAUSE_MS };
  const [crowd, ...lone] = await Promise.all([
    crowdSet && load.run({ ...common, set: crowdSet, connections, callers: [one] }),
    ...Object.keys(LONE).map((set) => beside.run({ ...alone, set: `${name} ${set}` })),
  ]);
  await sleep(SETTLE_MS);
  demandRunning(version);
  return { crowd, ...Object.fromEntries(Object.keys(LONE).map((set, index) => [set, lone[index]])) };
};

/** A row for the reads and one for the writes of the lone caller. */
const rowsOf = (name, version, turns) =>
  Object.entries(LONE).map(([set, what]) => {
    const alone = turns.map((turn) => turn.alone[set]);
    const beside = turns.map((turn) => turn.beside[set]);
    const crowd = turns.map((turn) => turn.beside.crowd);
    const of = (results, measure) => figure(median(results.map((result) => result[measure])));
    const refusals = refusalsOf(beside);
    const ofCrowd = refusalsOf(crowd);
    return {
      refusals,
      cells: [
        name,
        version,
        of(crowd, 'perSecond'),
        share(ofCrowd.refused, ofCrowd.requests),
        what.join(', ') + refusalMark(refusals),
        of(alone, 'p50'),
        of(alone, 'p99'),
        of(beside, 'p50'),
        of(beside, 'p99'),
        `${share(refusals.refused, refusals.requests)} of ${count(refusals.requests)}`,
        count(refusals.other),
        figure(ratioOf(beside, alone, 'p99')),
      ],
    };
  });

/**
 * Sets one caller with many connections beside another with a connection that reads and one that writes. Says as Markdown how
 * the other fares, alone and beside.
 */
export const measureFairness = async (options) => {
  const versions = await startVersions(options);
  const [load, beside] = [startLoad(), startLoad()];
  const context = { load, beside };
  const [connections] = options.connections;
  const turnOptions = { ...options, connections };
  const operations = new Map(versions.map((version) => [version, operationsOf(version.database.samples)]));
  for (const version of versions) {
    const callers = callersOf(version.database.samples);
    for (const [set, names] of Object.entries(LONE)) {
      const name = `${version.name} ${set}`;
      await beside.define(name, interleaved(names.map((one) => crowdRequestsOf(operations.get(version), one))));
      await warmUp(beside, version.server, name, { turns: WARM_UP, callers });
    }
  }
  const rows = [];
  for (const name of options.operations ?? OPERATIONS) {
    for (const version of versions) {
      const set = `${version.name} ${name}`;
      await load.define(set, crowdRequestsOf(operations.get(version), name));
      await warmUp(load, version.server, set, { turns: WARM_UP, callers: callersOf(version.database.samples) });
    }
    const turns = await takeTurns(versions, options.rounds, async (version) => ({
      alone: await visit(context, version, undefined, turnOptions),
      beside: await visit(context, version, `${version.name} ${name}`, turnOptions),
    }));
    for (const [version, own] of turns) {
      const added = rowsOf(name, version.name, own);
      for (const { cells } of added) console.error(cells.join('  '));
      rows.push(...added);
    }
  }
  load.stop();
  beside.stop();
  for (const { stop } of versions) await stop();
  const table = markdownTable(
    [...HEAD, ...BESIDE_HEAD],
    rows.map(({ cells }) => cells),
    2,
  );
  return `${circumstances(versions[0].database.version)}, ${figure(options.games)} games, ${options.rounds} rounds of ${options.seconds} s; one caller with ${connections} connections, another with two

${table}${refusalNote(rows.map(({ refusals }) => refusals))}`;
};
