// What `npm test` leaves out, since it takes long: whole programs, a second server, a browser, Redis and Prometheus.
import { fileURLToPath } from 'node:url';
import { base, failInCi, longProjects, notices as engineNotices, project } from '../../jest.config.mjs';
import { findChromium, findOasdiff, findPromtool, findRedis } from '../support/available.mjs';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));
const { chromium, notices: chromiumNotices } = findChromium();
const { oasdiff, notices: oasdiffNotices } = findOasdiff();
const { redis, notices: redisNotices } = findRedis();
const { promtool, notices: promtoolNotices } = findPromtool();
const lacking = [...chromiumNotices, ...oasdiffNotices, ...redisNotices, ...promtoolNotices];
failInCi(lacking);
const notices = [...engineNotices, ...lacking];

const sqlite = { TEST_ENGINE: { name: 'sqlite' } };

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir,
  reporters: ['default', ['<rootDir>/test/support/summary-reporter.mjs', { notices }]],
  projects: [
    ...longProjects,
    ...(oasdiff ? [project('compatibility', 'green', ['compatibility'], { globals: { TEST_OASDIFF: oasdiff } })] : []),
    ...(redis ? [project('redis', 'red', ['redis'], { globals: { TEST_REDIS: redis, ...sqlite } })] : []),
    ...(promtool
      ? [project('prometheus', 'cyan', ['prometheus'], { globals: { TEST_PROMTOOL: promtool, ...sqlite } })]
      : []),
    ...(chromium
      ? [project('browser', 'yellow', ['browser'], { globals: { TEST_CHROMIUM: chromium, ...sqlite } })]
      : []),
  ].map((one) => ({ ...one, rootDir })),
};
