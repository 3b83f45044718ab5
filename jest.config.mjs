// Plain JavaScript: Jest reads a TypeScript configuration on Node 20 only with the help of another package.
import { availableParallelism } from 'node:os';
import { findChromium, findEngines, findOasdiff, findPromtool, findRedis } from './test/support/available.mjs';

const { engines, notices: engineNotices } = findEngines();
const { chromium, notices: chromiumNotices } = findChromium();
const { oasdiff, notices: oasdiffNotices } = findOasdiff();
const { redis, notices: redisNotices } = findRedis();
const { promtool, notices: promtoolNotices } = findPromtool();
const notices = [...engineNotices, ...chromiumNotices, ...oasdiffNotices, ...redisNotices, ...promtoolNotices];
if (process.env.CI === 'true' && notices.length > 0) {
  throw new Error(['CI=true, and the machine lacks what the whole suite needs.', ...notices.flat()].join('\n'));
}

/** A project: the tests of `folders`, shown under `name`. */
export const project = (name, color, folders, more = {}) => ({
  displayName: { name, color },
  testMatch: folders.map((folder) => `<rootDir>/test/${folder}/**/*.test.ts`),
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } }] },
  modulePathIgnorePatterns: ['<rootDir>/build/', '<rootDir>/dist/'],
  setupFilesAfterEnv: ['<rootDir>/test/support/setup/second-try.ts'],
  ...more,
});

/** What touches SQL runs on each database; what is decided before any is asked, on SQLite. */
export const everywhere = ['api', 'db', 'cli'];
const foldersOf = (engine) => (engine.server ? everywhere : [...everywhere, 'wire']);
/**
 * MySQL and MariaDB are sent the same statements. Where both are there, the second runs what these may differ in: how they
 * plan, lock, break off, store text, speak TLS and are migrated.
 */
const onSecondServer = [
  'api/list',
  'api/search',
  'db/backup-guide',
  'db/care',
  'db/deadlines',
  'db/hosts',
  'db/migrations',
  'db/odd-server',
  'db/plans',
  'db/prepared',
  'db/schema',
  'db/search-index',
  'db/tls',
  'db/transactions',
  'db/writable',
];
const firstServer = engines.find(({ server }) => server);
/** Whether an engine is a server beside the first one. */
export const isSecondServer = (engine) => engine.server !== undefined && engine !== firstServer;
const matchedBy = (engine) =>
  isSecondServer(engine) ? { testMatch: onSecondServer.map((name) => `<rootDir>/test/${name}.test.ts`) } : {};
const setup = (engine) => (engine.server ? { globalSetup: `<rootDir>/test/support/setup/${engine.name}.ts` } : {});
const colors = { sqlite: 'cyan', mariadb: 'magenta', mysql: 'blue' };

/** The projects of a configuration that are a database's. */
export const databaseProjects = ({ projects }) =>
  projects.filter(({ globals, displayName }) => globals?.TEST_ENGINE?.name === displayName.name);

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
        ...matchedBy(engine),
        globals: { TEST_ENGINE: engine },
      }),
    ),
    ...(oasdiff ? [project('compatibility', 'green', ['compatibility'], { globals: { TEST_OASDIFF: oasdiff } })] : []),
    ...(redis
      ? [project('redis', 'red', ['redis'], { globals: { TEST_REDIS: redis, TEST_ENGINE: { name: 'sqlite' } } })]
      : []),
    ...(promtool
      ? [
          project('prometheus', 'cyan', ['prometheus'], {
            globals: { TEST_PROMTOOL: promtool, TEST_ENGINE: { name: 'sqlite' } },
          }),
        ]
      : []),
    ...(chromium
      ? [
          project('browser', 'yellow', ['browser'], {
            globals: { TEST_CHROMIUM: chromium, TEST_ENGINE: { name: 'sqlite' } },
          }),
        ]
      : []),
  ],
};
