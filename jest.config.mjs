// Plain JavaScript: Jest reads a TypeScript configuration on Node 20 only with the help of another package.
import { availableParallelism } from 'node:os';
import { findEngines } from './test/support/available.mjs';

/** `notices` say which databases the machine lacks. */
export const { engines, notices } = findEngines();

/** Fails where the machine lacks something and `CI` is `true`: there, everything is to be tested. */
export const failInCi = (lacking) => {
  if (process.env.CI === 'true' && lacking.length > 0) {
    throw new Error(['CI=true, and the machine lacks what the whole suite needs.', ...lacking.flat()].join('\n'));
  }
};
failInCi(notices);

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
  'db/idempotency',
  'db/kept-answers',
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

/**
 * What every configuration begins with: all tests that need a database or nothing.
 * @type {import('jest').Config}
 */
export const base = {
  // More than there are cores, since many a test waits: for its database, for a process, for a second to pass. Measured
  // on two cores: 3 workers take 181 s where 2 take 222.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  testTimeout: 30_000,
  reporters: ['default', ['<rootDir>/test/support/summary-reporter.mjs', { notices }]],
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
  ],
};

/** What takes long, and seldom fails alone: left to `npm run test:long`. Names, or how they begin. */
const LONG = [
  'api/real-games',
  'api/verify',
  'cli/',
  'db/backup-guide',
  'db/care',
  'db/deadlines',
  'db/drift',
  'db/hosts',
  'db/idempotency',
  'db/kept-answers',
  'db/metrics',
  'db/migrations',
  'db/plans',
  'db/prepared',
  'db/reconcile',
  'db/released',
  'db/schema',
  'db/search-index',
  'db/seed',
  'db/tls',
  'db/transfer',
  'db/verify-cleanup',
  'db/writable',
  'wire/answers',
  'wire/backup',
  'wire/files',
  'wire/first-start',
  'wire/guides',
  'wire/limits',
  'wire/mcp',
  'wire/memory',
  'wire/metrics',
  'wire/patience',
  'wire/process',
  'wire/proxies',
  'wire/traces',
  'wire/verify',
  'wire/workers',
];

/** The projects of the databases with what `npm test` leaves out, which on a second server is everything. */
export const longProjects = databaseProjects(base).map((one) => {
  const { TEST_ENGINE: engine } = one.globals;
  if (isSecondServer(engine)) return one;
  const names = LONG.filter((name) => foldersOf(engine).some((folder) => name.startsWith(`${folder}/`)));
  return { ...one, testMatch: names.map((name) => `<rootDir>/test/${name}*.test.ts`) };
});

/**
 * `npm test`: what two minutes suffice for, on SQLite and the first server.
 * @type {import('jest').Config}
 */
export default {
  ...base,
  reporters: [...base.reporters, '<rootDir>/test/support/coverage-reporter.mjs'],
  projects: base.projects
    .filter(({ globals }) => !globals || !isSecondServer(globals.TEST_ENGINE))
    .map((one) => ({
      ...one,
      testPathIgnorePatterns: ['/node_modules/', ...LONG.map((name) => `<rootDir>/test/${name}`)],
    })),
};
