// npm run test:sdk [-- <language> …]: generates each SDK, compiles it strictly, and runs one and the same scenario with it
// against a gateway of its own. What a scenario prints must be transcript.txt, to the letter.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { generatedLines, lackingCommands, languagesFromArguments, versionOf } from '../../../openapi/sdk/languages.mjs';
import { startGateway } from './gateway.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const transcript = readFileSync(new URL('transcript.txt', import.meta.url), 'utf8');
const MINUTE = 60_000;

/** Runs a command to its end. Returns its standard output. @throws Error that says how it ended otherwise */
const run = (command, args, env = {}) => {
  const { status, signal, error, stdout } = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    timeout: 15 * MINUTE,
  });
  if (status === 0) return stdout;
  process.stderr.write(stdout ?? '');
  throw new Error(error?.message ?? `${command} ${args.join(' ')} ended with ${signal ?? `status ${status}`}`);
};

/** @throws Error that names the first line in which the output differs from the transcript */
const compare = (output) => {
  if (output === transcript) return;
  const expected = transcript.split('\n');
  const actual = output.split('\n');
  const line = expected.findIndex((text, index) => text !== actual[index]);
  const at = line === -1 ? expected.length : line;
  throw new Error(
    `line ${at + 1} of the output\n  should be: ${expected[at] ?? 'absent'}\n  but is:    ${actual[at] ?? 'absent'}`,
  );
};

const playScenario = async (script) => {
  const gateway = await startGateway();
  try {
    compare(run(script, ['scenario'], gateway.env));
  } finally {
    await gateway.stop();
  }
};

/** Does the steps until one fails. Returns the result of each: `ok`, `failed` or `-`. */
const doSteps = async (title, steps) => {
  const results = {};
  for (const [name, step] of Object.entries(steps)) {
    if (Object.values(results).includes('failed')) {
      results[name] = '-';
      continue;
    }
    try {
      await step();
      results[name] = 'ok';
    } catch (error) {
      console.error(`!!! ${title}: ${name} failed: ${error.message}`);
      results[name] = 'failed';
    }
  }
  return results;
};

/** Tests one language. Returns its row of the table. */
const testLanguage = async (language) => {
  const { name, generator } = language;
  const head = { language: name, generator, version: versionOf(language) };
  const lacking = lackingCommands(language);
  if (lacking.length > 0) {
    console.error(`!!! ${name} is not tested: this machine lacks ${lacking.join(', ')}.`);
    return { ...head, lines: '-', compile: `lacks ${lacking.join(', ')}`, scenario: '-', seconds: '-' };
  }
  const script = fileURLToPath(new URL(`${name}/run`, import.meta.url));
  const began = performance.now();
  const { generate, compile, scenario } = await doSteps(name, {
    generate: () => run(process.execPath, ['openapi/sdk/generate.mjs', name]),
    compile: () => run(script, ['compile']),
    scenario: () => playScenario(script),
  });
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const lines = generate === 'ok' ? generatedLines(language) : 'failed';
  return { ...head, lines, compile, scenario, seconds };
};

const printTable = (rows) => {
  const names = Object.keys(rows[0]);
  const cells = [names, ...rows.map((row) => names.map((name) => String(row[name])))];
  const widths = names.map((_, column) => Math.max(...cells.map((line) => line[column].length)));
  for (const line of cells)
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    );
};

const isSkipped = ({ compile }) => compile.startsWith('lacks');

const began = performance.now();
// What is served is never older than its source; types are left to `npm run typecheck`.
run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck']);
const rows = [];
for (const language of languagesFromArguments()) rows.push(await testLanguage(language));

const passed = rows.filter(({ scenario }) => scenario === 'ok').length;
const skipped = process.env.CI === 'true' ? 0 : rows.filter(isSkipped).length;
const failed = rows.length - passed - skipped;
console.log();
printTable(rows);
console.log(`\nAll in ${((performance.now() - began) / 1000).toFixed(0)} s`);
console.log(`SDKs: ${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed === 0 ? 0 : 1;
