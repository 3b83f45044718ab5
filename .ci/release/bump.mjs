// node bump.mjs [--bump]: writes the least version that the document may have since the last release wherever a version stands, unless
// a higher one is there. With --bump, for a release: CHANGELOG.md has its entries under that version, and the document is kept.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareVersions, documentOf, lastVersion } from '../../openapi/released.mjs';

process.chdir(join(import.meta.dirname, '../..'));
const read = (file) => readFileSync(file, 'utf8');
const readJson = (file) => JSON.parse(read(file));
const run = (command, ...args) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();

const UNRELEASED = /^## Unreleased$/m;
const isRelease = process.argv.includes('--bump');

run('npm', 'run', '-s', 'openapi');
const compared = [run('.ci/oasdiff'), documentOf(lastVersion), 'openapi/openapi.json', 'CHANGELOG.md'];
const allowed = run(process.execPath, 'dist/openapi/compare.js', ...compared, '--least');
// A release whose document says nothing else has a number of its own, too.
const least =
  isRelease && allowed === lastVersion ? lastVersion.replace(/\d+$/, (patch) => Number(patch) + 1) : allowed;
const { version: current } = readJson('package.json');
const version = compareVersions(current, least) < 0 ? least : current;
if (isRelease && !UNRELEASED.test(read('CHANGELOG.md'))) {
  console.error('error: There is nothing to release: CHANGELOG.md has no "## Unreleased".\nNothing was written.');
  process.exit(1);
}

if (version !== current) {
  run('npm', 'version', version, '--no-git-tag-version', '--ignore-scripts');
  // Revisions of the SDKs count from each version of the document.
  const settings = 'openapi/sdk/settings.json';
  writeFileSync(settings, read(settings).replace(/(?<="revision": )\d+/, '0'));
}
if (isRelease) {
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync('CHANGELOG.md', read('CHANGELOG.md').replace(UNRELEASED, `## ${version} (${date})`));
}
// The service publishes the changelog, too.
if (version !== current || isRelease) run('npm', 'run', '-s', 'openapi');
if (isRelease) {
  mkdirSync(join('openapi/released', version));
  copyFileSync('openapi/openapi.json', documentOf(version));
}
console.log(`${version}: at least ${least} after ${lastVersion}. Look at it, and commit it.`);
