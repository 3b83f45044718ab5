// Writes dist/build.json, which names the build of what was compiled. The program shows it beside its version. It is BUILD_ID, or
// the commit of this checkout, with `-dirty` after changes that are in no commit; without either, none is known.
//   node deploy/ci/build-id.mjs
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const FILE = join(root, 'dist/build.json');
const UNKNOWN = 'unknown';
const DIGITS = 12;
/** A whole commit id, and what a label of a metric and a version may hold. */
const COMMIT = /^[\da-f]{40}$/;
const ALLOWED = /^[\da-zA-Z.-]{1,64}$/;

const ofEnvironment = () => {
  const { BUILD_ID: id } = process.env;
  if (!id || id === UNKNOWN) return undefined;
  if (!ALLOWED.test(id)) throw new Error(`BUILD_ID "${id}" is not of letters, digits, dots and hyphens, at most 64`);
  return COMMIT.test(id) ? id.slice(0, DIGITS) : id;
};

/** The commit of this folder, not that of a repository around it. */
const ofCheckout = () => {
  if (!existsSync(join(root, '.git'))) return undefined;
  const options = ['describe', '--always', '--dirty', `--abbrev=${DIGITS}`, '--exclude=*'];
  try {
    return execFileSync('git', options, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
};

/** Writes the id, unless it is there already. */
export const writeBuildId = () => {
  const text = `${JSON.stringify({ build: ofEnvironment() ?? ofCheckout() ?? UNKNOWN })}\n`;
  if (existsSync(FILE) && readFileSync(FILE, 'utf8') === text) return;
  writeFileSync(FILE, text);
};

if (process.argv[1] === import.meta.filename) writeBuildId();
