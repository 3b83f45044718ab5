// npm run test:changed [-- <commit>] [options of Jest]: runs the tests of `npm test` that what was changed since a commit, or what is
// not committed, can affect by the imports. Beyond a file that puts many rooms together, such as the whole application, imports
// tell nothing: there it takes the tests of the folders of the changed files and of what imports these, and `npm test` proves the rest.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { tests } from './projects.mjs';

/** A file that imports from as many rooms of src/ puts them together. */
const MANY_ROOMS = 5;

const lines = (command, ...args) => execFileSync(command, args, { encoding: 'utf8' }).split('\n').filter(Boolean);
const [commit = 'HEAD', ...options] = process.argv.slice(2);
const changed = [
  ...lines('git', 'diff', '--name-only', '--diff-filter=d', commit),
  ...lines('git', 'ls-files', '--others', '--exclude-standard'),
];

const roomOf = (file) => (file.startsWith('src/') ? file.split('/', 2).join('/') : undefined);
const importsOf = (file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(([, path]) =>
    posix.join(dirname(file), path),
  );

const importers = new Map();
const isComposition = new Set();
const files = lines(
  'git',
  'ls-files',
  '--cached',
  '--others',
  '--exclude-standard',
  'contract',
  'src',
  'openapi',
  'test',
);
for (const file of files.filter((path) => /\.(ts|mjs)$/.test(path))) {
  const imported = importsOf(file);
  for (const path of imported) importers.set(path, [...(importers.get(path) ?? []), file]);
  const rooms = new Set(imported.map(roomOf).filter(Boolean));
  if (rooms.size >= MANY_ROOMS && !file.endsWith('.test.ts')) isComposition.add(file);
}

const affected = new Set(changed);
for (const file of affected) {
  if (isComposition.has(file) && !changed.includes(file)) continue;
  for (const importer of importers.get(file) ?? []) affected.add(importer);
}
/** Files of src/ that apply what was changed: rules are often tested beside these. */
const users = changed
  .flatMap((file) => importers.get(file) ?? [])
  .filter((file) => roomOf(file) && !isComposition.has(file));
const folders = new Set([...changed, ...users].map((file) => dirname(file).replace(/^src/, 'test')));
const chosen = tests
  .filter(({ tier }) => tier === 'fast')
  .map(({ path }) => path)
  .filter((path) => affected.has(path) || folders.has(dirname(path)));

if (chosen.length === 0) {
  console.log(`No test of \`npm test\` imports what was changed since ${commit}: ${changed.join(', ') || 'nothing'}`);
} else {
  console.log(`${changed.length} changed files can affect ${chosen.length} test files.`);
  const jest = ['run', '-s', 'test', '--', '--coverage=false', ...options, '--runTestsByPath', ...chosen];
  process.exitCode = spawnSync('npm', jest, { stdio: 'inherit' }).status ?? 1;
}
