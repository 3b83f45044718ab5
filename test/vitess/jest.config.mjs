// The tests of everything that touches SQL, on Vitess: one unsharded keyspace for each database. Apart from the others,
// since it takes a program that few machines have: .ci/vitess builds it.
import { fileURLToPath } from 'node:url';
import { base as config, everywhere, project } from '../../jest.config.mjs';
import { findVitess } from '../support/available.mjs';
import { ignoredFiles } from './exceptions.mjs';

const { vitess, notices } = findVitess();
if (!vitess) throw new Error(notices.flat().join('\n'));

/** The project of these folders. */
export const onVitess = (folders) => ({
  ...project('vitess', 'green', folders, { globalSetup: '<rootDir>/test/support/setup/vitess.ts' }),
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  testEnvironment: '<rootDir>/test/vitess/environment.mjs',
  testPathIgnorePatterns: ['/node_modules/', ...ignoredFiles(folders)],
  globals: { TEST_ENGINE: { name: 'vitess', server: vitess } },
});

/** @type {import('jest').Config} */
export default {
  ...config,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  reporters: ['default', '<rootDir>/test/vitess/reporter.mjs'],
  // Vitess and its MySQL are slower than a server alone.
  testTimeout: 180_000,
  projects: [onVitess(everywhere)],
};
