// What each step beyond one instance gives and costs. A measurement that needs the servers of the tests, which are
// TypeScript: hence run by Jest, with the command `npm run bench:scaling`.
import { fileURLToPath } from 'node:url';
import { project } from '../../harness/jest/projects.mjs';
import { findGalera, findHaproxy, findVitess, installedMariadb } from '../../harness/jest/available.mjs';

const rootDir = fileURLToPath(new URL('../../..', import.meta.url));
const [{ galera }, { haproxy }, { vitess }, mariadb] = [findGalera(), findHaproxy(), findVitess(), installedMariadb()];
if (!galera || !haproxy || !vitess || !mariadb) {
  throw new Error('It needs MariaDB, Galera, HAProxy, and the MySQL and Vitess of .ci/mysql and .ci/vitess.');
}

/** @type {import('jest').Config} */
export default {
  globalSetup: '<rootDir>/test/harness/jest/setup/build.ts',
  globalTeardown: '<rootDir>/test/harness/jest/teardown.ts',
  rootDir,
  reporters: ['default'],
  testTimeout: 1_200_000,
  projects: [
    {
      ...project(
        'bench',
        'white',
        ['measure', 'shards'].map((name) => ({ path: `test/bench/scaling/${name}.ts` })),
      ),
      rootDir,
      globals: {
        TEST_ENGINE: { name: 'mariadb', server: mariadb },
        TEST_GALERA: galera,
        TEST_HAPROXY: haproxy,
        TEST_VITESS: vitess,
      },
    },
  ],
};
