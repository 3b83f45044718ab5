// npm run bench [-- <options>]: see README.md beside this file, or --help.
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
  'page500',
  'getRelated',
  'search',
  'userSearch',
  'listPages',
  'batch20',
  'mcp',
  'mix',
];

const options = readOptions(OPERATIONS);
// What is measured is never older than its source; types are left to `npm run typecheck`.
await run(process.execPath, ['.ci/build-if-stale.mjs', '--no-check'], {
  cwd: fileURLToPath(new URL('../../', import.meta.url)),
});

/** Does what the options ask for; each way in a module of its own, which reads what was just compiled. */
const measure = async () => {
  if (options.growth) {
    const { measureGrowth } = await import('./growth.mjs');
    return { heading: 'Growth', text: await measureGrowth(options) };
  }
  if (options.authors) {
    const { measureAuthors } = await import('./authors.mjs');
    return { heading: `Authors, ${options.engine}`, text: await measureAuthors(options) };
  }
  if (options.fairness) {
    const { measureFairness } = await import('./fairness.mjs');
    return { heading: `Fairness, ${options.engine}`, text: await measureFairness(options) };
  }
  if (options.cost) {
    const { measureCost } = await import('./cost.mjs');
    return { heading: 'Cost', text: await measureCost(options) };
  }
  const { measureCrowds } = await import('./crowd.mjs');
  return { heading: `Crowds, ${options.engine}`, text: await measureCrowds(options) };
};

const result = await measure();
console.log(result.text);
if (options.write) writeSection(options.write === true ? result.heading : options.write, result.text);
process.exit();
