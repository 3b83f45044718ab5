// Compiles, unless nothing has changed since this did so last: to find that out takes the compiler longer than all else
// that a start does. Where only what production needs is installed there is no compiler, and what is there is run.
//   --always      compiles in any case
//   --no-check    for tests: leaves types to `npm run typecheck`, so that the next start compiles again
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeBuildId } from '../deploy/ci/build-id.mjs';

const STAMP = 'dist/.built';
const PROGRAM = 'dist/src/cli.js';
const COMPILER = 'node_modules/typescript/bin/tsc';
/** What `tsconfig.build.json` compiles, and what tells how. */
const FOLDERS = ['contract', 'src', 'migrations', 'openapi/kit'];
const FILES = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];

process.chdir(join(import.meta.dirname, '..'));

if (!existsSync(COMPILER)) {
  if (existsSync(PROGRAM)) process.exit(0);
  console.error(
    `error: ${PROGRAM} is missing, and the compiler that makes it is not installed: run "npm ci" and "npm run build", or ` +
      'use a release, which holds it',
  );
  process.exit(1);
}

/** When a file was changed last, in milliseconds; that of a folder changes with the names in it. */
const changed = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;

const sources = [
  ...FILES,
  ...readdirSync('openapi')
    .map((name) => join('openapi', name))
    .filter((path) => path.endsWith('.ts')),
  'openapi',
  ...FOLDERS.flatMap((folder) => [
    folder,
    ...readdirSync(folder, { recursive: true }).map((name) => join(folder, name)),
  ]),
];

const checksTypes = !process.argv.includes('--no-check');
const isAsked = process.argv.includes('--always');
const built = statSync(STAMP, { throwIfNoEntry: false })?.mtimeMs ?? 0;
if (isAsked || sources.some((path) => changed(path) >= built)) {
  const began = new Date();
  // It takes about half a minute, in which nothing else is to be seen.
  if (!isAsked && checksTypes) console.error('compiling, once');
  try {
    execFileSync(process.execPath, [COMPILER, '-p', 'tsconfig.build.json', ...(checksTypes ? [] : ['--noCheck'])], {
      stdio: 'inherit',
    });
  } catch (error) {
    // The compiler has said what is wrong.
    process.exit(error.status ?? 1);
  }
  // The compiler leaves what it made of sources that are no longer there.
  for (const folder of [...FOLDERS, 'openapi']) {
    for (const name of readdirSync(join('dist', folder), { recursive: true })) {
      const isStale = /\.js(?:\.map)?$/.test(name) && !existsSync(join(folder, name.replace(/\.js(?:\.map)?$/, '.ts')));
      if (isStale) rmSync(join('dist', folder, name));
    }
  }
  if (checksTypes) {
    // What is saved while it compiles is newer.
    writeFileSync(STAMP, '');
    utimesSync(STAMP, began, began);
  }
}
// A commit need not change a source.
if (checksTypes) writeBuildId();
