// npm run test:sdk [-- <language> …]: generates each SDK, compiles it strictly, and runs one and the same scenario with it
// against a gateway of its own, then the quick start of its README as it is printed. What a scenario prints must be
// transcript.txt, to the letter.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { generatedLines, lackingCommands, languagesFromArguments, versionOf } from '../../../openapi/sdk/languages.mjs';
import { startGateway } from './gateway.mjs';
import { quickStartOf } from './quick-start.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const transcript = readFileSync(new URL('transcript.txt', import.meta.url), 'utf8');
const QUICK_START_LINE = '星の伝説 GAME_NOT_FOUND';
const MINUTE = 60_000;

/** Runs a command to its end. Returns its standard output. @throws Error that says how it ended otherwise */
const run = (command, args, { cwd = root, env = process.env } = {}) => {
  const { status, signal, error, stdout } = spawnSync(command, args, {
    cwd,
    env,
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

/** Does something with a gateway of its own, given what `startGateway` says of it. */
const withGateway = async (use) => {
  const gateway = await startGateway();
  try {
    use(gateway.env);
  } finally {
    await gateway.stop();
  }
};

const playScenario = (script) =>
  withGateway((env) => compare(run(script, ['scenario'], { env: { ...process.env, ...env } })));

const quickStartEnvironment = {
  SDK: join(root, 'build/sdk'),
  // Where the scenario's are: dependencies are compiled once, not each time.
  CARGO_TARGET_DIR: join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'content-gateway/sdk-rust'),
  CARGO_TERM_QUIET: 'true',
};

/** Follows a quick start in an empty folder. @throws Error if its last line isn't what it should be */
const followQuickStart = ({ commands, path, program }, env) => {
  const folder = mkdtempSync(join(tmpdir(), 'quick-start-'));
  try {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), program);
    const output = run('sh', ['-ec', commands], {
      cwd: folder,
      env: { ...process.env, ...quickStartEnvironment, ...env },
    });
    // Maven resets the terminal's colours, whether it is one or not.
    const line = stripVTControlCharacters(output).trimEnd().split('\n').at(-1);
    if (line !== QUICK_START_LINE) throw new Error(`it printed: ${line}\n  and should: ${QUICK_START_LINE}`);
  } finally {
    rmSync(folder, { recursive: true });
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
    return {
      ...head,
      lines: '-',
      compile: `lacks ${lacking.join(', ')}`,
      scenario: '-',
      'quick start': '-',
      seconds: '-',
    };
  }
  const script = fileURLToPath(new URL(`${name}/run`, import.meta.url));
  const began = performance.now();
  const { generate, ...results } = await doSteps(name, {
    generate: () => run(process.execPath, ['openapi/sdk/generate.mjs', name]),
    compile: () => run(script, ['compile']),
    scenario: () => playScenario(script),
    'quick start': () => withGateway((env) => followQuickStart(quickStartOf(name), env)),
  });
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const lines = generate === 'ok' ? generatedLines(language) : 'failed';
  return { ...head, lines, ...results, seconds };
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

const passed = rows.filter((row) => row['quick start'] === 'ok').length;
const skipped = process.env.CI === 'true' ? 0 : rows.filter(isSkipped).length;
const failed = rows.length - passed - skipped;
console.log();
printTable(rows);
console.log(`\nAll in ${((performance.now() - began) / 1000).toFixed(0)} s`);
console.log(`SDKs: ${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed === 0 ? 0 : 1;
