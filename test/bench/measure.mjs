import { setTimeout as sleep } from 'node:timers/promises';
import { countCpu } from './machine/cpu.mjs';

/** Alone, too: equal requests that come together may be answered by one run, which then hardly warms up. */
const WARM_UPS = [
  { connections: 1, milliseconds: 12_000, count: 4000 },
  { connections: 16, milliseconds: 12_000, count: 4000 },
];

/** The middle one of some numbers, undefined for none. */
export const median = (numbers) => {
  const sorted = numbers.filter((number) => number !== undefined).toSorted((a, b) => a - b);
  if (sorted.length === 0) return undefined;
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** How much more of a measure these turns have than others: the median over the rounds, which the same noise befell. */
export const ratioOf = (turns, others, measure) => {
  const ratios = turns.map((turn, index) => turn[measure] / others[index][measure]);
  return median(ratios.filter((ratio) => Number.isFinite(ratio)));
};

/** How many requests of some turns were made, refused, and met another status. */
export const refusalsOf = (turns) => {
  const sum = (measure) => turns.reduce((total, turn) => total + turn[measure], 0);
  return { requests: sum('requests'), refused: sum('refused'), other: sum('other') };
};

/** Lets a server compile what it runs often, and read what it remembers, before anything counts. */
export const warmUp = async (load, server, set, { turns = WARM_UPS, callers } = {}) => {
  for (const turn of turns) await load.run({ port: server.port, set, ...turn, callers, tolerant: true });
};

/** The turns of some servers, A B C A B C …: for each its rounds. */
export const takeTurns = async (servers, rounds, turn) => {
  const turns = new Map(servers.map((server) => [server, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const server of servers) turns.get(server).push(await turn(server));
  }
  return turns;
};

/**
 * One turn of a server: what the load generator says of it, and `serverUs` and `databaseUs`, the CPU time of both processes
 * per answer in microseconds, what they spent on refusals included. `databaseUs` is undefined where the database has no process.
 */
export const takeTurn = async ({ load, server, database, settleMs = 0, ...order }) => {
  const serverCpu = countCpu(server.pid);
  const databaseCpu = database.pid === undefined ? undefined : countCpu(database.pid);
  const result = await load.run({ port: server.port, ...order });
  await sleep(settleMs);
  const { answered } = result.whole;
  return {
    ...result,
    serverUs: answered > 0 ? serverCpu() / answered : undefined,
    databaseUs: answered > 0 ? databaseCpu && databaseCpu() / answered : undefined,
  };
};
