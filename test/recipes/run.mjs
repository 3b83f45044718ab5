// npm run test:recipes [-- <name> …]: runs what docs/ci.md tells teams to do with the tools of other people, the files of
// deploy/ci, and the proxies of docs/operators.md, each against a sandbox of its own. A recipe is a file of this folder that exports `recipe`: it is given
// `{gateway: {url, key}, folder, env}`, does its work in the empty folder and with that environment, returns what it has
// done in few words, and throws if anything is not as it should be.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KEY, startSandbox } from './support/sandbox.mjs';
import { chosenOf, doStep, printRows, secondsSince } from './support/steps.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const names = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file.endsWith('.mjs') && file !== 'run.mjs')
  .map((file) => basename(file, '.mjs'));

const chosen = chosenOf('recipe', names);

const settings = readFileSync(join(root, '.env.example'), 'utf8').matchAll(/^#? ?([A-Z][A-Z0-9_]*)=/gm);
/** What would steer a gateway, and what `npm run` tells of the package that it runs in. */
const foreign = new Set([...[...settings].map(([, name]) => name), 'INIT_CWD', 'npm_config_local_prefix']);
const isForeign = (name) => foreign.has(name) || /^(npm_(package|lifecycle)_|GITHUB_)/.test(name);

/** What a recipe's commands see: the machine's environment, with the tools of this repository and a gateway. */
const environmentOf = (gateway) => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForeign(name))),
  PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
  GATEWAY_URL: gateway.url,
  GATEWAY_KEY: gateway.key,
});

const play = async (name) => {
  const { recipe } = await import(`./${name}.mjs`);
  const folder = mkdtempSync(join(tmpdir(), `recipe-${name}-`));
  const { url, stop } = await startSandbox();
  try {
    const gateway = { url, key: KEY };
    return await recipe({ gateway, folder, env: environmentOf(gateway) });
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

const began = performance.now();

// What is served is never older than its source; types are left to `npm run typecheck`.
const built = spawnSync(process.execPath, ['.ci/build-if-stale.mjs', '--no-check'], { cwd: root, stdio: 'inherit' });
if (built.status !== 0) process.exit(1);

const rows = [];
for (const name of chosen) rows.push(await doStep('recipe', name, () => play(name)));
const { passed, ...count } = printRows(rows);
const skipped = process.env.CI === 'true' ? 0 : count.skipped;
const failed = rows.length - passed - skipped;
console.log(`\nAll in ${secondsSince(began)}`);
console.log(`Recipes: ${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed === 0 ? 0 : 1;
