// The faults of any server, on Vitess and the MySQL below it, which fail together.
import base, { onVitess } from './jest.config.mjs';

const project = onVitess(['fault']);
/** What begins so is of another engine, or of MariaDB only. */
const others = ['sqlite-', 'galera-', 'haproxy-'];
/** What counts the answers of a second: a Vitess of four processes beside the callers leaves the service no machine of its own. */
const measured = ['fairness'];
const leftOut = [...others, ...measured].map((prefix) => `/test/fault/${prefix}`);

/** @type {import('jest').Config} */
export default {
  ...base,
  reporters: [...base.reporters, '<rootDir>/test/support/results-reporter.mjs'],
  // One after the other: they measure how soon others are answered while something fails.
  maxWorkers: 1,
  testTimeout: 180_000,
  projects: [{ ...project, testPathIgnorePatterns: [...project.testPathIgnorePatterns, ...leftOut] }],
};
