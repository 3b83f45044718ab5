// Which tests run, by `TEST_TIER`: `fast` (`npm test`), `long`, `fault`, `fuzz` or `vitess`. Plain JavaScript: Jest reads a
// TypeScript configuration on Node 20 only with the help of another package.
import { availableParallelism } from 'node:os';
import * as available from './test/harness/jest/available.mjs';
import { project, tests } from './test/harness/jest/projects.mjs';

const tier = process.env.TEST_TIER ?? 'fast';
const isFast = tier === 'fast';
const { engines, notices } = available.findEngines();

const ofTier = tests.filter((test) => (tier === 'vitess' ? test.engines.includes('vitess') : test.tier === tier));
const needed = [...new Set(ofTier.flatMap(({ needs }) => needs))];
const found = Object.fromEntries(
  needed.map((name) => {
    const { found: value, notices: lacking } = available.findProgram(name);
    notices.push(...lacking);
    return [name, value];
  }),
);
// There, everything is to be tested.
if (process.env.CI === 'true' && tier !== 'vitess' && notices.length > 0) {
  throw new Error(['CI=true, and the machine lacks what the whole suite needs.', ...notices.flat()].join('\n'));
}

const first = engines.find(({ server }) => server);
const globals = Object.fromEntries(needed.map((name) => [`TEST_${name.toUpperCase()}`, found[name]]));
/** Whether tests that need a program with a colour have a project of their own: those of faults run on each engine. */
const isApart = (name) => available.colorOf(name) !== undefined && tier !== 'fault';
const canRun = ({ needs }) => needs.every((name) => found[name]);
const runsOn = (engine) => (test) =>
  test.engines.includes(engine.server ? (engine === first ? 'server' : 'second-server') : engine.name) ||
  test.engines.includes(engine.name);

/** The tests of an engine. */
const testsOn = (engine) => {
  const isSecond = engine.server && engine !== first;
  // A second server runs in `long` what it runs at all, `fast` and `long`.
  const tiers = isSecond && tier === 'long' ? ['fast', 'long'] : [tier];
  const some = tests.filter((test) => tiers.includes(engine.server ? test.serverTier : test.tier));
  if (isSecond && (isFast || tier === 'fuzz')) return [];
  return some.filter(runsOn(engine)).filter((test) => canRun(test) && !test.needs.some(isApart));
};
const setup = ({ name, server }) => (server ? { globalSetup: `<rootDir>/test/harness/jest/setup/${name}.ts` } : {});
const colors = { sqlite: 'cyan', mariadb: 'magenta', mysql: 'blue', vitess: 'green' };
const projectOf = (engine, some, more) =>
  project(engine.name, colors[engine.name], some, {
    ...setup(engine),
    globals: { ...globals, TEST_ENGINE: engine },
    ...more,
  });

const onVitess = () => {
  const { vitess: server, notices: lacking } = available.findVitess();
  if (!server) throw new Error(lacking.flat().join('\n'));
  return [
    projectOf({ name: 'vitess', server }, ofTier.filter(canRun), {
      testEnvironment: '<rootDir>/test/harness/vitess/environment.mjs',
    }),
  ];
};
const onEngines = () => [
  project(
    'unit',
    'white',
    ofTier.filter(({ engines: own, needs }) => own.includes('none') && needs.length === 0),
  ),
  ...engines.map((engine) => projectOf(engine, testsOn(engine))),
  ...needed
    .filter((name) => isApart(name) && found[name])
    .map((name) =>
      project(
        name,
        available.colorOf(name),
        ofTier.filter(({ needs }) => needs.includes(name)),
        {
          globals: { ...globals, TEST_ENGINE: { name: 'sqlite' } },
        },
      ),
    ),
];

/** What tests print besides. */
const reporters = {
  fast: ['<rootDir>/test/harness/jest/coverage-reporter.mjs'],
  vitess: ['<rootDir>/test/harness/vitess/reporter.mjs'],
};
// Ends only what hangs: a test that waits for something takes as long as a busy machine makes it.
const testTimeout = 600_000;
// By core. The fuzzer hardly waits for anything. Other tests wait for a database, a process, a second; those of faults wait
// most.
const workers = { fault: 2, fuzz: 1 }[tier] ?? 1.5;
const maxWorkers = Math.ceil(availableParallelism() * workers);

/** @type {import('jest').Config} */
export default {
  maxWorkers,
  testTimeout,
  globalSetup: '<rootDir>/test/harness/jest/setup/build.ts',
  globalTeardown: '<rootDir>/test/harness/jest/teardown.ts',
  reporters: [
    'default',
    ...(reporters[tier] ?? []),
    ...(tier === 'vitess' || tier === 'fuzz'
      ? []
      : [['<rootDir>/test/harness/jest/summary-reporter.mjs', { notices }]]),
  ],
  projects: (tier === 'vitess' ? onVitess() : onEngines()).filter(({ testMatch }) => testMatch.length > 0),
};
