import { readFileSync } from 'node:fs';
import { startLoad } from './load/load.mjs';
import { mixedRequests, operationsOf } from './load/operations.mjs';
import { takeSamples } from './load/samples.mjs';
import { startSeeded } from './machine/seeded.mjs';
import { startServer } from './machine/servers.mjs';
import { median } from './measure.mjs';
import { circumstances, count, figure } from './report.mjs';

const CONNECTIONS = 12;
const MINUTE_MS = 60_000;
const rssMiB = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

/**
 * Loads the gateway with reads, searches, toggles and creations for some minutes, records its resident memory second by
 * second, and says as Markdown how much it grew between the second quarter and the last.
 */
export const soak = async (options) => {
  const database = await startSeeded(options.games);
  const gateway = await startServer('gateway', { url: database.url });
  const load = startLoad();
  await load.define('mix', mixedRequests(operationsOf(await takeSamples(database))));
  const memory = [rssMiB(gateway.pid)];
  const timer = setInterval(() => memory.push(rssMiB(gateway.pid)), 1000);
  const result = await load.run({
    port: gateway.port,
    set: 'mix',
    connections: CONNECTIONS,
    milliseconds: options.soak * MINUTE_MS,
    tolerant: true,
  });
  clearInterval(timer);
  await gateway.stop();
  await database.stop();

  const { answered, refused, other, perSecond, p50, p99 } = result;
  const quarter = Math.floor(memory.length / 4);
  const second = median(memory.slice(quarter, quarter * 2));
  const last = median(memory.slice(-quarter));
  const growth = `${last >= second ? '+' : ''}${(last - second).toFixed(1)} MiB`;
  return `${circumstances(database.version)}, ${figure(options.games)} games

${count(answered)} requests answered at ${CONNECTIONS} connections in ${figure(options.soak)} minutes, ${count(refused)} refused, ${count(other)} failed; ${figure(perSecond)} per second, p50 ${figure(p50)} ms, p99 ${figure(p99)} ms. Resident memory: ${figure(second)} MiB in the second quarter, ${figure(last)} MiB in the last one (medians): **${growth}**; at most ${figure(Math.max(...memory))} MiB.`;
};
