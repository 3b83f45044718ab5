import { setTimeout as sleep } from 'node:timers/promises';
import { countCpu } from './machine/cpu.mjs';

/** Alone, too: equal requests that come together may be answered by one run, which then hardly warms up. */
const WARM_UPS = [
  { connections: 1, milliseconds: 12_000, count: 4000 },
  { connections: 16, milliseconds: 12_000, count: 4000 },
];

/** The middle one of some numbers. */
export const median = (numbers) => {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** Lets a server compile what it runs often, and read what it remembers, before anything counts. */
export const warmUp = async (load, server, set) => {
  for (const warmUps of WARM_UPS) await load.run({ port: server.port, set, ...warmUps });
};

/**
 * One turn of a server: what the load generator says of it, and `serverUs` and `databaseUs`, the CPU time per request of
 * both processes in microseconds.
 */
export const takeTurn = async ({ load, server, database, set, connections, milliseconds, settleMs = 0 }) => {
  const serverCpu = countCpu(server.pid);
  const databaseCpu = countCpu(database.pid);
  const result = await load.run({ port: server.port, set, connections, milliseconds });
  await sleep(settleMs);
  return {
    ...result,
    serverUs: serverCpu() / result.requests,
    databaseUs: databaseCpu() / result.requests,
  };
};
