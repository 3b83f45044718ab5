// npm run test:sdk [-- <language>|trpc … --steps <step>,… --repeat <times> --seeds <count>]: generates each SDK, packages it, installs the package in programs that are
// compiled strictly, and runs with them one and the same scenario against a gateway and against sandboxes with random faults, all scripted exchanges against the fault
// server, all messages of webhooks, the feed of events, the corrections of an author, the consumer contract that is recorded, the quick start of its README as it is printed, and the code samples of the document. Then what is out in the world, old and new together: the
// scenario of the SDKs of each released document, and of today's, against the service of each release, and today's; likewise the clients of
// tRPC. SDKs of a released document are held against the scripted exchanges and the quick start, too.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  artifactsOf,
  generatedLines,
  lackingCommands,
  languagesNamed,
  versionOf,
} from '../../../openapi/sdk/languages.mjs';
import { BRAND, checkBrand } from './brand.mjs';
import { checkContracts } from './contracts.mjs';
import { checkDeprecations, plantDeprecations } from './deprecated.mjs';
import { startFaultServer, startGateway } from './gateway.mjs';
import { checkRandomFaults } from './random-faults.mjs';
import { followQuickStart } from './quick-start.mjs';
import { documentOf, releasedVersions } from '../../../openapi/released.mjs';
import { buildReleased } from '../../harness/released.mjs';
import { checkTypes, compileCalls, playCalls, trpcVersions } from '../trpc/play.mjs';
import { printMatrix, printTable } from './report.mjs';
import { playSamples } from './samples.mjs';
import { compareRun, vectorsFor } from './vectors.mjs';
import { VECTORS as WEBHOOK_VECTORS, compareWebhooks } from './webhooks.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const build = join(root, 'build/sdk');
const TODAY = 'today';
/** Where the SDKs of a document are made. */
const buildOf = (version) => (version === TODAY ? build : join(root, 'build/sdk-released', version));
const brandBuild = join(root, 'build/sdk-brand');
const transcript = readFileSync(new URL('transcript.txt', import.meta.url), 'utf8');
const corrections = readFileSync(new URL('corrections.txt', import.meta.url), 'utf8');
/** What the programs print of the feed of events. */
const FOLLOWED = [...[1, 2, 3, 4].map((number) => `game.created follow ${number}`), 'cursor: there', ''].join('\n');
const CURRENT_DOCUMENT = join(root, 'openapi/openapi.json');
/** The lines of the transcript that a release writes otherwise. */
const OTHER_LINES = {
  // It has no idempotency, and words less.
  '1.0.0': new Map([
    [
      transcript.split('\n').find((line) => line.startsWith('400 VALIDATION_FAILED')),
      '400 VALIDATION_FAILED: /title too_small must have at least 1 character, has 0; /coverUrl invalid_format must be an absolute http or https URL without spaces',
    ],
    ['again: 一度きり, the same', 'again: 一度きり, another'],
    ['422 IDEMPOTENCY_MISMATCH', 'not refused'],
    [
      transcript.split('\n').find((line) => line.startsWith('game.getById: 404')),
      'game.getById: 404 GAME_NOT_FOUND: There is no game with this id. (request scenario)',
    ],
  ]),
};
const MINUTE = 60_000;

/** Runs a command to its end, while this program goes on. Returns its standard output. @throws Error that says how it ended otherwise */
const run = async (command, args, { cwd = root, env = {} } = {}) => {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, SDK_BUILD: build, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 15 * MINUTE,
  });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  const [status, signal] = await once(child, 'close');
  if (status === 0) return stdout;
  process.stderr.write(stdout);
  throw new Error(`${command} ${args.join(' ')} ended with ${signal ?? `status ${status}`}`);
};

/** @throws Error that names the first line in which the output differs from what it should be */
const compare = (output, wanted) => {
  if (output === wanted) return;
  const expected = wanted.split('\n');
  const actual = output.split('\n');
  const line = expected.findIndex((text, index) => text !== actual[index]);
  const at = line === -1 ? expected.length : line;
  throw new Error(
    `line ${at + 1} of the output\n  should be: ${expected[at] ?? 'absent'}\n  but is:    ${actual[at] ?? 'absent'}`,
  );
};

/** Does something with a gateway of its own, given the environment that `startGateway` makes. Returns the calls that came. */
const withGateway = async (use, program, settings) => {
  const gateway = await startGateway(program, settings);
  try {
    await use(gateway.env);
  } finally {
    await gateway.stop();
  }
  return gateway.calls;
};

const programOf = ({ name }) => fileURLToPath(new URL(`${name}/run`, import.meta.url));
const scriptOf = ({ name }, script) => join(root, 'openapi/sdk', name, script);

/** Packages the SDK. What is in the package is compiled afterwards, so cargo need not do so here. */
const packageIt = (language, env) =>
  run(scriptOf(language, 'package'), language.name === 'rust' ? ['--no-verify'] : [], { env });

const playScenario = (language, { gateway, sdk = build, wanted = transcript, more = {} } = {}) =>
  withGateway(
    async (env) =>
      compare(await run(programOf(language), ['scenario'], { env: { ...env, ...more, SDK_BUILD: sdk } }), wanted),
    gateway,
  );

/** Has the fault server play vectors with each variant of a client. Returns what came of each run. @throws Error if a vector failed */
const playVectors = async (language, { version = TODAY, more = {}, runs = [] } = {}) => {
  const sdk = buildOf(version);
  const vectors = vectorsFor(version === TODAY ? CURRENT_DOCUMENT : documentOf(version));
  const file = join(sdk, `vectors-${language.name}.json`);
  writeFileSync(file, JSON.stringify({ vectors }));
  const server = await startFaultServer(file);
  try {
    for (const variant of language.variants) {
      const name = [language.name, variant].filter(Boolean).join('-');
      const proxy = { HTTP_PROXY: server.url, NO_PROXY: 'direct.invalid', http_proxy: undefined, no_proxy: undefined };
      const env = { VECTORS_URL: server.url, VECTORS_RUN: name, SDK_BUILD: sdk, ...proxy, ...more };
      const output = await run(programOf(language), ['vectors', ...(variant ? [variant] : [])], { env });
      const compared = { run: name, product: language.name, vectors, build: sdk, output };
      runs.push({ run: name, results: await compareRun(server, compared) });
    }
  } finally {
    await server.stop();
  }
  const failed = runs.flatMap(({ results }) => results).filter(({ found }) => found.length > 0);
  const words = failed.map(({ name, found }) => `\n  ${name}: ${found.join('; ')}`);
  if (failed.length > 0) throw new Error(`${failed.length} vectors failed:${words.join('')}`);
  return runs;
};

const unwrapWebhooks = async (language) =>
  compareWebhooks(await run(programOf(language), ['webhooks'], { env: { WEBHOOK_VECTORS } }));

const followEvents = (language) =>
  withGateway(async (env) => compare(await run(programOf(language), ['follow'], { env }), FOLLOWED));

const correct = (language) =>
  withGateway(async (env) => compare(await run(programOf(language), ['corrections'], { env }), corrections));

/** Some record consumer contracts. */
const recordContract = async (language) => {
  if (!language.records) return;
  await checkContracts(
    (env) => run(programOf(language), ['contract'], { env }),
    compare,
    `${language.name}/contract.json`,
  );
};

const meetRandomFaults = async (language) => {
  const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
  const met = await checkRandomFaults((env) => run(programOf(language), ['scenario'], { env }), seeds, compare);
  console.log(`${language.name}: through ${met} faults of ${seeds.length} seeds`);
};

/** Follows the quick start in an empty folder, against a gateway that serves the packages. */
const startQuickly = (language, { SDK_BUILD = build, ...more } = {}) =>
  withGateway((env) => quickStart(language, { ...env, ...more, SDK_BUILD }), undefined, {
    SDKS_DIR: join(SDK_BUILD, 'artifacts'),
  });

const quickStart = async (language, env) => {
  const folder = mkdtempSync(join(tmpdir(), 'quick-start-'));
  try {
    await followQuickStart(join(env.SDK_BUILD, language.name, 'README.md'), folder, (commands) =>
      run(programOf(language), ['quick-start', commands], { cwd: folder, env }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const runSamples = (language) =>
  playSamples(language, join(build, 'clients/samples', language.name), (args, env) =>
    run(programOf(language), args, { env }),
  );

/** What is served: each release, and what is here. */
const services = [
  ...releasedVersions.map((version) => ({ version, ...buildReleased(version) })),
  { version: TODAY, folder: root },
];
/** The releases whose SDKs are not those of today. */
const olderDocuments = services.filter(
  ({ version }) => version !== TODAY && !readFileSync(documentOf(version)).equals(readFileSync(CURRENT_DOCUMENT)),
);
/** Of each client, what came of its calls to each service. */
const together = new Map();

const note = (client, column, found) => together.set(client, { ...together.get(client), [column]: found });

/** Has a client make its calls to a service, and notes what came of them. Returns the calls. @throws Error if some failed */
const playTogether = async (client, version, play) => {
  note(client, version, 'FAILED');
  const { operations, failed } = await play();
  const calls = [...operations.values()].reduce((sum, count) => sum + count, 0);
  note(client, version, `${calls}, ${failed} failed`);
  if (failed > 0) throw new Error(`${failed} of ${calls} calls of ${client} to ${version} failed`);
  return operations;
};

/** Plays the scenario of an SDK against each service. */
const playOnServices = async (language, sdk) => {
  for (const { version, program } of services) {
    const lines = transcript.split('\n').map((line) => OTHER_LINES[version]?.get(line) ?? line);
    const more = { gateway: program, sdk: buildOf(sdk), wanted: lines.join('\n') };
    await playTogether(`${language.name}, SDK of ${sdk}`, version, () => playScenario(language, more));
  }
};

/** Makes the SDK of each released document, and does with it what its users do. */
const playReleasedDocuments = async (language) => {
  for (const { version, documents } of olderDocuments) {
    const env = { SDK_BUILD: buildOf(version), SDK_DOCUMENTS: documents };
    await run(process.execPath, ['openapi/sdk/generate.mjs', language.name], { env });
    await packageIt(language, env);
    await run(programOf(language), ['compile'], { env });
    await playOnServices(language, version);
    await startQuickly(language, env);
    const runs = await playVectors(language, { version, more: env });
    const played = runs.flatMap(({ results }) => results).filter(({ skipped }) => !skipped);
    note(`${language.name}, SDK of ${version}`, 'exchanges', `${played.length}, 0 failed`);
  }
};

/** Makes the calls of tRPC's clients, which must compile with the types of each service, to each service. Returns whether that went well. */
const testTrpc = async () => {
  const known = Object.keys(JSON.parse(readFileSync(documentOf(releasedVersions[0]), 'utf8')).paths);
  try {
    for (const { folder } of services) await checkTypes(folder);
    await compileCalls();
    for (const trpc of trpcVersions) {
      for (const { version, program } of services) {
        const play = () => withGateway((env) => playCalls(trpc, env), program);
        const called = await playTogether(`tRPC ${trpc}, types of each`, version, play);
        const unused = known.find((path) => !called.has(path.split('/').at(-1)));
        if (unused !== undefined) throw new Error(`${unused} is called by no client`);
      }
    }
    return true;
  } catch (error) {
    console.error(`!!! tRPC failed: ${error.message}`);
    return false;
  }
};

/** Makes an SDK of documents in which something is deprecated, under other names. */
const makeForAnotherBrand = async (language) => {
  const documents = join(brandBuild, 'documents', language.name);
  await plantDeprecations(documents);
  const env = { SDK_BUILD: brandBuild, SDK_SETTINGS: BRAND, SDK_DOCUMENTS: documents };
  await run(process.execPath, ['openapi/sdk/generate.mjs', language.name], { env });
  checkBrand(join(brandBuild, language.name), language.name);
  checkDeprecations(join(brandBuild, language.name), language.name);
};

/** What is done with each language, in this order. */
const steps = {
  generate: (language) => run(process.execPath, ['openapi/sdk/generate.mjs', language.name]),
  package: (language) => packageIt(language),
  compile: (language) => run(programOf(language), ['compile']),
  scenario: (language) => playScenario(language, { more: { SCENARIO_CROWD: 'true' } }),
  'random faults': meetRandomFaults,
  vectors: (language, runs) => playVectors(language, { runs }),
  webhooks: unwrapWebhooks,
  follow: followEvents,
  corrections: correct,
  contract: recordContract,
  'quick start': (language) => startQuickly(language),
  samples: runSamples,
  'released services': (language) => playOnServices(language, TODAY),
  'released documents': playReleasedDocuments,
  brand: makeForAnotherBrand,
};

/** Does the steps until one fails. Returns the result of each: the seconds it took, `FAILED` or `-`. */
const doSteps = async (language, chosen, runs) => {
  const results = {};
  for (const name of chosen) {
    if (Object.values(results).includes('FAILED')) {
      results[name] = '-';
      continue;
    }
    const began = performance.now();
    try {
      for (let turn = 0; turn < times; turn += 1) await steps[name](language, runs);
      results[name] = `${((performance.now() - began) / 1000).toFixed(1)} s`;
    } catch (error) {
      console.error(`!!! ${language.name}: ${name} failed: ${error.message}`);
      results[name] = 'FAILED';
    }
  }
  return results;
};

/** Tests one language. Returns its row of the table, and its runs of the vectors. */
const testLanguage = async (language, chosen) => {
  const { name, generator } = language;
  const head = { language: name, generator, version: versionOf(language) };
  const lacking = lackingCommands(language);
  if (lacking.length > 0) {
    console.error(`!!! ${name} is not tested: this machine lacks ${lacking.join(', ')}.`);
    const results = Object.fromEntries(chosen.map((step) => [step, '-']));
    return { row: { ...head, lines: `lacks ${lacking.join(', ')}`, ...results }, runs: [] };
  }
  const runs = [];
  const results = await doSteps(language, chosen, runs);
  return { row: { ...head, lines: generatedLines(language), ...results }, runs };
};

/** How many languages are tested at once: each waits for half its time. */
const AT_ONCE = 2;

/** Tests the languages, the slowest first. Returns what came of each, in the order of the languages. */
const testAll = async (languages, chosen) => {
  const results = new Map();
  const waiting = languages.toReversed();
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) results.set(next, await testLanguage(next, chosen));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return languages.map((language) => results.get(language));
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    steps: { type: 'string' },
    repeat: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '3' },
  },
});
const times = Number(values.repeat);
const chosen = values.steps?.split(',') ?? Object.keys(steps);
const unknown = chosen.find((step) => !(step in steps));
if (unknown !== undefined) {
  console.error(`There is no step ${unknown}: there are ${Object.keys(steps).join(', ')}.`);
  process.exit(2);
}

const began = performance.now();
// What is served is never older than its source; types are left to `npm run typecheck`.
await run(process.execPath, ['.ci/build-if-stale.mjs', '--no-check']);
const isTrpcTested = positionals.length === 0 || positionals.includes('trpc');
const named = positionals.filter((name) => name !== 'trpc');
const languages = isTrpcTested && named.length === 0 && positionals.length > 0 ? [] : languagesNamed(named);
const hasTrpcFailed = isTrpcTested && !(await testTrpc());
const tested = await testAll(languages, chosen);
const rows = tested.map(({ row }) => row);

printMatrix(tested.flatMap(({ runs }) => runs));
console.log();
if (rows.length > 0) printTable(rows);
if (together.size > 0) {
  console.log(
    '\nCalls of each client to the service of each release, and scripted exchanges of SDKs of earlier documents:',
  );
  const versions = services.map(({ version }) => version);
  const cells = (found) => [...versions, 'exchanges'].map((column) => [column, found[column] ?? '-']);
  const clients = [...together].toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  printTable(clients.map(([client, found]) => ({ client, ...Object.fromEntries(cells(found)) })));
}
console.log();
for (const language of languages) for (const line of artifactsOf(language)) console.log(line);
const isSkipped = ({ lines }) => String(lines).startsWith('lacks');
const passed = rows.filter((row) => !isSkipped(row) && !Object.values(row).includes('FAILED')).length;
const skipped = process.env.CI === 'true' ? 0 : rows.filter(isSkipped).length;
const failed = rows.length - passed - skipped + (hasTrpcFailed ? 1 : 0);
console.log(`\nAll in ${((performance.now() - began) / 1000).toFixed(0)} s`);
console.log(`SDKs: ${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed === 0 ? 0 : 1;
