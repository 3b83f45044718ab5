// npm run bench [-- <options>]: see README.md beside this file, or --help.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './machine/processes.mjs';
import { readOptions } from './options.mjs';
import { writeSection } from './report.mjs';

const OPERATIONS = [
  'list',
  'listMix',
  'getById',
  'getProfile',
  'toggleFavorite',
  'hotToggle',
  'create',
  'createRareTags',
  'createSameTags',
  'batchCreate100',
  'equalList',
  'page500',
  'getRelated',
  'search',
  'userSearch',
  'listPages',
  'batch20',
  'mcp',
  'mix',
];

const root = fileURLToPath(new URL('../../', import.meta.url));
const peers = join(root, 'test/bench/peers');

/** Installs the peers' dependencies, which the product's own installation leaves out. */
const installPeers = async () => {
  if (existsSync(join(peers, 'node_modules'))) return;
  await run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: peers });
};

const options = readOptions(OPERATIONS);
// What is measured is never older than its source; types are left to `npm run typecheck`.
await run(process.execPath, ['.ci/build-if-stale.mjs', '--no-check'], {
  cwd: root,
});

/** Does what the options ask for; each way in a module of its own, which reads what was just compiled. */
const measure = async () => {
  if (options.profile) {
    const { profileOperation } = await import('./profile/profile.mjs');
    return { heading: `Profile of ${options.profile}`, text: await profileOperation(options.profile, options) };
  }
  if (options.growth) {
    const { measureGrowth } = await import('./growth.mjs');
    return { heading: 'Growth', text: await measureGrowth(options) };
  }
  if (options.soak) {
    const { soak } = await import('./soak.mjs');
    return { heading: 'Soak', text: await soak(options) };
  }
  if (options.crowd) {
    const { measureCrowds } = await import('./crowd.mjs');
    return { heading: `Crowds, ${options.engine}`, text: await measureCrowds(options) };
  }
  if (options.fairness) {
    const { measureFairness } = await import('./fairness.mjs');
    return { heading: `Fairness, ${options.engine}`, text: await measureFairness(options) };
  }
  if (options.metrics) {
    const { measureMetrics } = await import('./metrics.mjs');
    return { heading: 'Metrics', text: await measureMetrics(options) };
  }
  if (options.traces) {
    const { measureTraces } = await import('./traces.mjs');
    return { heading: 'Traces', text: await measureTraces(options) };
  }
  if (options.transfer) {
    const { measureTransfer } = await import('./transfer/transfer.mjs');
    return { heading: `Transfer, ${options.engine}`, text: await measureTransfer(options) };
  }
  if (options.logSql) {
    const { logSql } = await import('./log-sql.mjs');
    return { heading: 'Statements', text: await logSql(options) };
  }
  if (!options.onlyGateway && options.peers) await installPeers();
  const { measureTable } = await import('./table.mjs');
  return { heading: 'Table', text: await measureTable(options) };
};

const result = await measure();
console.log(result.text);
if (options.write) writeSection(options.write === true ? result.heading : options.write, result.text);
process.exit();
