// Faults: on the databases of the other tests, but not with them, since they take minutes, and stop what others wait for.
import { fileURLToPath } from 'node:url';
import config from '../../jest.config.mjs';
import { findGalera } from '../support/available.mjs';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

/** What begins so runs there only; what begins with none of these runs on each database. */
const only = { 'sqlite-': ['sqlite'], 'server-': ['mariadb', 'mysql'], 'galera-': ['mariadb'] };
const { galera, notices: galeraNotices } = findGalera();
if (process.env.CI === 'true' && galeraNotices.length > 0) throw new Error(galeraNotices.flat().join('\n'));

const ignoredBy = (engine) => [
  ...Object.entries(only).flatMap(([prefix, engines]) => (engines.includes(engine) ? [] : [`/test/fault/${prefix}`])),
  ...(galera ? [] : ['/test/fault/galera-']),
];

/** @type {import('jest').Config} */
export default {
  ...config,
  rootDir,
  reporters: [
    'default',
    '<rootDir>/test/support/results-reporter.mjs',
    ['<rootDir>/test/support/summary-reporter.mjs', { notices: galeraNotices }],
  ],
  // One after the other: they measure how soon others are answered while something fails.
  maxWorkers: 1,
  testTimeout: 120_000,
  projects: config.projects
    .filter(({ globals, displayName }) => globals?.TEST_ENGINE?.name === displayName.name)
    .map((project) => ({
      ...project,
      rootDir,
      testMatch: ['<rootDir>/test/fault/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', ...ignoredBy(project.displayName.name)],
      globals: { ...project.globals, TEST_GALERA: galera },
    })),
};
