// Faults: on the databases of the other tests, but not with them, since they take minutes, and stop what others wait for.
import { fileURLToPath } from 'node:url';
import { base as config, databaseProjects, isSecondServer } from '../../jest.config.mjs';
import { findGalera, findHaproxy } from '../support/available.mjs';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

/** What begins so runs there only; what begins with none of these runs on each database. */
const only = {
  'sqlite-': ['sqlite'],
  'server-': ['mariadb', 'mysql'],
  'galera-': ['mariadb'],
  'haproxy-': ['mariadb'],
};
const { galera, notices: galeraNotices } = findGalera();
const { haproxy, notices: haproxyNotices } = findHaproxy();
const notices = [...galeraNotices, ...haproxyNotices];
if (process.env.CI === 'true' && notices.length > 0) throw new Error(notices.flat().join('\n'));

/** Where there is MariaDB, MySQL runs these alone: what it may do otherwise itself, when it is killed or cut off. */
const onSecondServer = ['database', 'killed', 'server-outcome'];
const isFor = (engine) => (isSecondServer(engine) ? onSecondServer : ['*']);

const ignoredBy = (engine) => [
  ...Object.entries(only).flatMap(([prefix, engines]) =>
    engines.includes(engine.name) ? [] : [`/test/fault/${prefix}`],
  ),
  ...(galera ? [] : ['/test/fault/galera-']),
  ...(haproxy ? [] : ['/test/fault/haproxy-']),
];

/** @type {import('jest').Config} */
export default {
  ...config,
  rootDir,
  reporters: [
    'default',
    '<rootDir>/test/support/results-reporter.mjs',
    ['<rootDir>/test/support/summary-reporter.mjs', { notices }],
  ],
  // One after the other: they measure how soon others are answered while something fails.
  maxWorkers: 1,
  testTimeout: 120_000,
  projects: databaseProjects(config).map((project) => ({
    ...project,
    rootDir,
    testMatch: isFor(project.globals.TEST_ENGINE).map((name) => `<rootDir>/test/fault/${name}.test.ts`),
    testPathIgnorePatterns: ['/node_modules/', ...ignoredBy(project.globals.TEST_ENGINE)],
    globals: { ...project.globals, TEST_GALERA: galera, TEST_HAPROXY: haproxy },
  })),
};
