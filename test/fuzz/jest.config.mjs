// Fuzzing: on SQLite and on one server, since both servers are sent the same statements; not with the other tests, since
// it takes minutes. Run by .ci/fuzz.
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { base as config, databaseProjects, isSecondServer } from '../../jest.config.mjs';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

/** @type {import('jest').Config} */
export default {
  ...config,
  rootDir,
  reporters: ['default'],
  // These hardly wait for anything.
  maxWorkers: availableParallelism(),
  projects: databaseProjects(config)
    .filter(({ globals }) => !isSecondServer(globals.TEST_ENGINE))
    .map((project) => ({ ...project, rootDir, testMatch: ['<rootDir>/test/fuzz/**/*.test.ts'] })),
};
