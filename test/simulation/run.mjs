// npm run -s simulate -- [options]: simulates the service, its clients and the endpoints of webhooks in one process, in virtual
// time, and decides whether all that happened is what the promises allow.
//   --seed 1      the first seed; the same seed is the same simulation each time
//   --seeds 1     how many
//   --trace FILE  keeps the trace of the last one: each statement, fault and call, with its time
//   --update      writes what it found into RESULTS.md
//   --planted [part of a name …]   plants the faults of planted.mjs one after the other, and expects each to be found
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { updateTable } from '../harness/markdown-table.mjs';
import { isFound, judge, plantEach } from '../mutants/plant.mjs';
import { planted } from './planted.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string' },
    trace: { type: 'string' },
    update: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
  },
});
const root = join(import.meta.dirname, '../..');
const RESULTS = join(import.meta.dirname, 'RESULTS.md');
/** The seeds that a planted fault is sought in. */
const MOST_SEEDS = '60';
const LONGEST_MS = 3_600_000;

/** Runs the test once. Returns its verdict, what it said, and the seconds it took. */
const check = (tree, seeds) => {
  const env = {
    TEST_TIER: 'fault',
    SIMULATION_SEED: values.seed,
    SIMULATION_SEEDS: seeds,
    ...(values.trace !== undefined && { SIMULATION_TRACE: resolve(values.trace) }),
  };
  return judge(tree, ['test/simulation/many-seeds.test.ts'], {
    env,
    verdict: 'SIMULATION_VERDICT',
    timeout: LONGEST_MS,
  });
};

const once = () => {
  const { isDone, said, verdict, seconds } = check(root, values.seeds ?? '1');
  if (!isDone) console.error(verdict?.words ?? said);
  if (!verdict) return false;
  const { seeds, hours, calls, cpuSeconds, found, hash } = verdict;
  const words = found.join('; ') || 'nothing';
  console.log(`${isDone ? 'allowed' : 'NOT ALLOWED'}: found ${words}; the last trace is ${hash}`);
  console.log(`${seeds} seeds, ${Math.round(hours)} simulated hours, ${calls} calls, ${cpuSeconds.toFixed(1)} CPU-s`);
  const row = [values.seed, seeds, Math.round(hours), calls, words, cpuSeconds.toFixed(0), seconds].map(String);
  const header = ['First seed', 'Seeds', 'Simulated hours', 'Calls', 'Found', 'CPU seconds', 'Seconds'];
  if (values.update) updateTable(RESULTS, 'Runs', header, [row], 2);
  return isDone;
};

const plantAll = () => {
  const chosen = planted.filter((name) => positionals.length === 0 || positionals.some((part) => name.includes(part)));
  const rows = plantEach(
    chosen.map((name) => ({ name })),
    (tree) => {
      const { isDone, verdict, seconds } = check(tree, values.seeds ?? MOST_SEEDS);
      const words = isDone ? 'SURVIVES' : verdict?.found.join('; ') || 'it does not come to its end';
      return { words, seconds };
    },
  );
  const header = ['Fault', 'What it breaks', 'Found by', 'Seconds'];
  if (values.update) updateTable(RESULTS, 'Planted faults', header, rows, 1);
  return rows.length > 0 && rows.every(isFound);
};

process.exitCode = (values.planted ? plantAll() : once()) ? 0 : 1;
