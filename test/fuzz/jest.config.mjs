// Fuzzing: on the databases of the other tests, but not with them, since it takes minutes. Run by .ci/fuzz.
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import config from '../../jest.config.mjs';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

/** @type {import('jest').Config} */
export default {
  ...config,
  rootDir,
  reporters: ['default'],
  // These hardly wait for anything.
  maxWorkers: availableParallelism(),
  projects: config.projects
    .filter(({ globals, displayName }) => globals?.TEST_ENGINE?.name === displayName.name)
    .map((project) => ({ ...project, rootDir, testMatch: ['<rootDir>/test/fuzz/**/*.test.ts'] })),
};
