// Plain JavaScript: Jest reads a TypeScript configuration on Node 20 only with the help of another package.
import { availableParallelism } from 'node:os';
import { findChromium, findEngines, findOasdiff } from './test/support/available.mjs';

const { engines, notices: engineNotices } = findEngines();
const { chromium, notices: chromiumNotices } = findChromium();
const { oasdiff, notices: oasdiffNotices } = findOasdiff();
const notices = [...engineNotices, ...chromiumNotices, ...oasdiffNotices];
if (process.env.CI === 'true' && notices.length > 0) {
  throw new Error(['CI=true, and the machine lacks what the whole suite needs.', ...notices.flat()].join('\n'));
}

/** A project: the tests of `folders`, shown under `name`. */
const project = (name, color, folders, more = {}) => ({
  displayName: { name, color },
  testMatch: folders.map((folder) => `<rootDir>/test/${folder}/**/*.test.ts`),
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } }] },
  modulePathIgnorePatterns: ['<rootDir>/build/', '<rootDir>/dist/'],
  ...more,
});

/** What touches SQL runs on each database; what is decided before any is asked, on SQLite. */
const everywhere = ['api', 'db', 'cli'];
const foldersOf = (engine) => (engine.server ? everywhere : [...everywhere, 'wire']);
/**
 * Of two servers, one is enough for these: MySQL and MariaDB are sent the same statements, and those of these files differ
 * from those of the others at most in how the same conditions are combined. What locks, waits, fails or is planned runs
 * on both.
 */
const onOneServer = ['test/api/real-games.test.ts', 'test/api/verify.test.ts', 'test/cli/'];
const firstServer = engines.find(({ server }) => server);
const ignoredBy = (engine) =>
  engine.server && engine !== firstServer
    ? { testPathIgnorePatterns: ['/node_modules/', ...onOneServer.map((path) => `<rootDir>/${path}`)] }
    : {};
const setup = (engine) => (engine.server ? { globalSetup: `<rootDir>/test/support/setup/${engine.name}.ts` } : {});
const colors = { sqlite: 'cyan', mariadb: 'magenta', mysql: 'blue' };

/** @type {import('jest').Config} */
export default {
  // More than there are cores, since many a test waits: for its database, for a process, for a second to pass. Measured
  // on two cores: 3 workers take 181 s where 2 take 222.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  testTimeout: 30_000,
  reporters: [
    'default',
    '<rootDir>/test/support/coverage-reporter.mjs',
    ['<rootDir>/test/support/summary-reporter.mjs', { notices }],
  ],
  globalSetup: '<rootDir>/test/support/setup/build.ts',
  globalTeardown: '<rootDir>/test/support/teardown.ts',
  projects: [
    project('unit', 'white', ['contract', 'unit']),
    ...engines.map((engine) =>
      project(engine.name, colors[engine.name], foldersOf(engine), {
        ...setup(engine),
        ...ignoredBy(engine),
        globals: { TEST_ENGINE: engine },
      }),
    ),
    ...(oasdiff ? [project('compatibility', 'green', ['compatibility'], { globals: { TEST_OASDIFF: oasdiff } })] : []),
    ...(chromium
      ? [
          project('browser', 'yellow', ['browser'], {
            globals: { TEST_CHROMIUM: chromium, TEST_ENGINE: { name: 'sqlite' } },
          }),
        ]
      : []),
  ],
};
