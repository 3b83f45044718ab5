// Which steps have passed on this machine with these very inputs: a record for each in the user's cache folder.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../../test/harness/jest/available.mjs';
import { liesIn } from './steps.mjs';

const output = (command, ...args) => {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1e8 });
  } catch {
    return 'none';
  }
};

/** The versions of the programs that steps run. Others are pinned by files of the repository. */
const tools = () =>
  [
    ['dpkg-query', '--show'],
    ['node', '--version'],
    ['go', 'version'],
    ['rustc', '--version'],
    [join(process.env.MYSQL_ROOT || join(cacheFolder(), 'mysql'), 'mysqld'), '--version'],
  ]
    .map((command) => output(...command))
    .join('\n');

/** The files as git knows them, or undefined where some differ from the commit: then nothing is carried or recorded. */
const committed = () =>
  output('git', 'status', '--porcelain') === '' ? output('git', 'ls-files', '--stage', '-z').split('\0') : undefined;

const state = { files: committed(), tools: tools(), commit: output('git', 'rev-parse', '--short', 'HEAD').trim() };

/** Where the record of a step lies: named by the hash of its inputs. */
const recordOf = ({ name, apart }) => {
  const files = state.files.filter((line) => !liesIn(line.slice(line.indexOf('\t') + 1), apart));
  const key = createHash('sha256')
    .update(JSON.stringify([name, files, state.tools]))
    .digest('hex');
  return join(cacheFolder(), 'passed', key);
};

const isRecorded = (step) => Boolean(state.files && step.apart);

/** The commit at which the step passed with these inputs, or undefined. */
export const passedAt = (step) => {
  if (!isRecorded(step)) return undefined;
  try {
    return readFileSync(recordOf(step), 'utf8');
  } catch {
    return undefined;
  }
};

export const recordPass = (step) => {
  if (!isRecorded(step)) return;
  mkdirSync(join(cacheFolder(), 'passed'), { recursive: true });
  writeFileSync(recordOf(step), state.commit);
};
