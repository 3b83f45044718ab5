// Runs the steps of .ci/check/steps.mjs. Prints what each said when it ends, a table of what they took, and `N passed, N failed`.
//   node .ci/check/run.mjs --trace <step>    runs that step alone, and names the files of its `apart` that it read
// Where UPDATE_STEPS is `true`, the table of README.md is written, which holds the budgets.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { markdownTable } from '../../test/harness/markdown-table.mjs';
import { overspent, writeBudgets } from './budgets.mjs';
import { passedAt, recordPass } from './passed.mjs';
import { slownessSince } from './speed.mjs';
import { first, liesIn, steps } from './steps.mjs';
import { forgetReads, readFiles } from './trace.mjs';

const { all, trace } = parseArgs({ options: { all: { type: 'boolean' }, trace: { type: 'string' } } }).values;
const env = {
  ...process.env,
  CI: 'true',
  // git refuses a clone of another user's, which mounted ones are.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: process.cwd(),
};
/** How much of why a test, and of what a step that has no tests, failed is said again at the end. */
const [LINES_OF_TEST, LINES_OF_STEP] = [12, 40];
const isMeasuring = process.env.UPDATE_STEPS === 'true';
const work = mkdtempSync(join(tmpdir(), 'content-gateway-check-'));
const began = Date.now();
const secondsSince = (time) => Math.round((Date.now() - time) / 1000);

/** Of steps: what each took, `{step, seconds, cpu, used}`, `carried` from a commit, or `leftOut`, and why some failed. */
const ended = [];
const failures = [];
const count = { passed: 0, failed: 0 };
const fail = (why, number = 1) => {
  failures.push(why);
  count.failed += number;
};

/** Runs a command in a process group of its own, so that it ends with all that it started. The shell counts what it took. */
const COUNTING = `trap : TERM INT; "$@"; status=$?; times >&3; exit $status`;
const running = new Map();
const stop = (group, signal) => {
  try {
    process.kill(-group, signal);
  } catch {
    // It has ended.
  }
};
/** Says what runs, for whoever waits: a step prints nothing until it ends. */
const sayWhatRuns = () => {
  const names = [...running.values()].map(({ name }) => name);
  if (names.length > 0) console.log(`... ${secondsSince(began)} s: ${names.join(', ')}`);
};
setInterval(sayWhatRuns, 60_000).unref();

const run = async (step, argv, output) => {
  const child = spawn('bash', ['-c', COUNTING, 'step', ...argv], {
    detached: true,
    env: { ...env, ...(all ? (step.envOfAll ?? step.env) : step.env) },
    stdio: ['ignore', output, output, 'pipe'],
  });
  running.set(child.pid, step);
  const limits = [
    setTimeout(stop, step.minutes * 60_000, child.pid, 'SIGTERM'),
    setTimeout(stop, step.minutes * 60_000 + 30_000, child.pid, 'SIGKILL'),
  ];
  let times = '';
  child.stdio[3].setEncoding('utf8').on('data', (text) => {
    times += text;
  });
  const [status, signal] = await once(child, 'close');
  for (const limit of limits) clearTimeout(limit);
  running.delete(child.pid);
  // The second line is of the shell's children: `1m2.345s 0m6.789s`.
  const spent = [...(times.split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)];
  return {
    status: status ?? signal,
    cpu: spent.reduce((sum, [, minutes, seconds]) => sum + 60 * minutes + Number(seconds), 0),
  };
};

/** The tests that failed, each with the first lines of why. */
const failuresIn = ({ testResults }) =>
  testResults
    .flatMap(({ name, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === 'failed')
        .map(({ fullName, failureMessages: [why = ''] }) => {
          const lines = stripVTControlCharacters(why).split('\n').filter(Boolean).slice(0, LINES_OF_TEST);
          return `\n  ${relative('', name)}: ${fullName}\n    ${lines.join('\n    ')}`;
        }),
    )
    .join('');

/** Adds the counts of Jest's results. What could not even be loaded counts as failed, and what was skipped unless the run lists it. */
const countTests = ({ name, skips }, file) => {
  if (!existsSync(file)) return fail(`${name}: no results`);
  const results = JSON.parse(readFileSync(file, 'utf8'));
  const skipped = results.numPendingTests + results.numTodoTests;
  const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites: broken } = results;
  console.log(
    `Tests: ${numPassedTests} passed, ${numFailedTests} failed, ${skipped} skipped; ${broken} files could not run`,
  );
  count.passed += numPassedTests;
  if (numFailedTests > 0) fail(`${name}: ${numFailedTests} tests${failuresIn(results)}`, numFailedTests);
  if (broken > 0) fail(`${name}: ${broken} test files could not run`, broken);
  if (skipped > 0 && !skips) fail(`${name}: ${skipped} tests were skipped, which the check does not allow`, skipped);
  if (numPassedTests === 0) fail(`${name}: no test passed`);
};

/** The test files that took longest, for a step that takes too much. */
const slowestOf = (file) =>
  JSON.parse(readFileSync(file, 'utf8'))
    .testResults.map(({ name, startTime, endTime }) => [relative('', name), (endTime - startTime) / 1000])
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 5)
    .map(([path, seconds]) => `\n  ${seconds.toFixed(0)} s ${path}`)
    .join('');

/** The end of what a step printed. */
const lastLines = (log) => {
  const lines = stripVTControlCharacters(readFileSync(log, 'utf8')).trimEnd().split('\n');
  return lines
    .slice(-LINES_OF_STEP)
    .map((line) => `\n  ${line}`)
    .join('');
};

/** Runs a step, prints what it said, and counts how it ended. */
const perform = async (step) => {
  const { name, lacking, tests } = step;
  const commit = all || isMeasuring || trace ? undefined : passedAt(step);
  if (commit) {
    console.log(`\n=== ${name}: carried, passed at ${commit} with the same inputs`);
    ended.push({ step, carried: commit });
    return;
  }
  if (step.can?.() === false) {
    console.log(`\n=== ${name}\n!!! ${lacking}`);
    ended.push({ step, leftOut: true });
    return;
  }
  console.log(`\n... ${name} begins`);
  const results = join(work, `${name}.json`);
  const log = join(work, `${name}.log`);
  const output = openSync(log, 'w');
  const start = Date.now();
  const argv = [...step.run, ...(tests ? ['--json', `--outputFile=${results}`] : [])];
  if (trace) forgetReads();
  const { status, cpu } = await run(step, argv, output);
  closeSync(output);
  const used = cpu / slownessSince(start);
  const seconds = secondsSince(start);
  console.log(`\n=== ${name}\n${readFileSync(log, 'utf8')}`);
  const failedBefore = count.failed;
  if (tests) countTests(step, results);
  if (status !== 0 && lacking && !tests) console.log(`\n!!! ${lacking}\n`);
  else if (status !== 0 && count.failed === failedBefore) fail(`${name}: status ${status}${lastLines(log)}`);
  const isPassed = count.failed === failedBefore;
  console.log(`--- ${name}: ${isPassed ? 'ok' : 'FAILED'}, ${seconds} s, ${cpu.toFixed(0)} s of the processor`);
  ended.push({ step, seconds, cpu, used, isPassed, results });
};

/** Holds the steps that passed to their budgets, and records their passes. */
const judge = () => {
  const taken = ended.flatMap(({ step: { name }, used }) => (used === undefined ? [] : [{ name, used }]));
  for (const { step, used, isPassed, results } of ended) {
    if (!isPassed) continue;
    const excess = !isMeasuring && overspent(step.name, used, taken);
    // Others install tools where the machine lacks them.
    if (excess && step.tests) {
      fail(`${step.name}: ${excess}${slowestOf(results)}`);
      continue;
    }
    if (excess) console.log(`${step.name}: ${excess} A machine that lacked its tools explains it.`);
    recordPass(step);
  }
};

/** Runs steps in their order, `width` at a time. */
const performAll = async (some, width) => {
  const left = [...some];
  const takeTurns = async () => {
    for (let step = left.shift(); step; step = left.shift()) await perform(step);
  };
  await Promise.all(Array.from({ length: width }, takeTurns));
};

const conclude = () => {
  const cells = ended.map(({ step: { name }, seconds, cpu, used, carried, leftOut }) => {
    if (leftOut) return [name, 'left out', '', ''];
    return carried ? [name, 'carried', carried, ''] : [name, `${seconds} s`, cpu.toFixed(0), used.toFixed(0)];
  });
  console.log(`\n${markdownTable(['Step', 'Time', 'Seconds of the processor', 'by the reference'], cells)}\n`);
  for (const why of failures) console.log(`Failed: ${why}`);
  rmSync(work, { recursive: true, force: true });
  console.log(`All in ${secondsSince(began)} s`);
  console.log(`${count.passed} passed, ${count.failed} failed`);
};

const stopAll = (signal) => {
  for (const [pid, { name }] of running) {
    console.log(`\n=== ${name}\n${readFileSync(join(work, `${name}.log`), 'utf8')}`);
    fail(`${name}: stopped by ${signal}`);
    stop(pid, 'SIGTERM');
  }
  conclude();
  process.exit(1);
};
process.on('SIGINT', stopAll).on('SIGTERM', stopAll);

if (trace) {
  const step = [...first, ...steps].find(({ name }) => name === trace);
  if (!step) throw new Error(`There is no step ${trace}.`);
  await perform(step);
  const read = readFiles().filter((file) => liesIn(file, step.apart ?? []));
  console.log(`Files apart that it read:\n${read.join('\n') || 'none'}`);
} else {
  await performAll(first, 1);
  await performAll(
    steps.filter(({ alone }) => !alone),
    2,
  );
  await performAll(
    steps.filter(({ alone }) => alone),
    1,
  );
  judge();
  if (isMeasuring) {
    // With `--all` some do more.
    const usual = ended.filter(({ step }) => !all || !step.envOfAll);
    const usedBy = new Map(usual.map(({ step, used }) => [step, used]));
    writeBudgets([...first, ...steps].map((step) => ({ ...step, used: usedBy.get(step) })));
  }
}
conclude();
process.exitCode = count.failed === 0 ? 0 : 1;
