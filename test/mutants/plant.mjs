// What plants faults: a worktree of HEAD, in which patches are applied one after the other.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const LONGEST_MS = 15 * 60_000;

/** Runs a command. Returns whether it succeeded, and what it said. */
export const run = (command, args, options) => {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: LONGEST_MS, ...options });
  return { isDone: status === 0, said: stdout + stderr };
};

const JEST = ['--disable-warning=ExperimentalWarning', '--experimental-vm-modules', 'node_modules/jest/bin/jest.js'];

/**
 * Runs a test in a tree. The environment variable named `verdict` gives the test a file to write its verdict to. Returns the
 * verdict, the output and the seconds.
 */
export const judge = (tree, args, { env, verdict, timeout }) => {
  const folder = mkdtempSync(join(tmpdir(), 'verdicts-'));
  const file = join(folder, 'verdict.json');
  const began = performance.now();
  try {
    const own = { ...process.env, ...env, [verdict]: file };
    const { isDone, said } = run(process.execPath, [...JEST, '--coverage=false', ...args], {
      cwd: tree,
      timeout,
      env: own,
    });
    const found = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
    return { isDone, said, verdict: found, seconds: Math.round((performance.now() - began) / 1000) };
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** @throws Error with what the command said */
const must = (fault, cwd, ...command) => {
  const { isDone, said } = run(command[0], command.slice(1), { cwd });
  if (!isDone) throw new Error(`${fault}\n${said}`);
};

/** Calls `work` with a worktree of HEAD that has the modules, and a folder for what it writes; removes both. */
export const inWorktree = (work) => {
  const temporary = mkdtempSync(join(tmpdir(), 'mutants-'));
  const tree = join(temporary, 'tree');
  must('There is no worktree.', root, 'git', 'worktree', 'add', '-f', '--detach', tree, 'HEAD');
  try {
    for (const modules of ['node_modules', 'test/clients/trpc-10/node_modules'])
      must('There are no modules.', root, 'cp', '-al', join(root, modules), join(tree, modules));
    return work(tree, temporary);
  } finally {
    run('git', ['worktree', 'remove', '--force', tree], { cwd: root });
    rmSync(temporary, { recursive: true, force: true });
  }
};

/** Returns what `look` does while a patch is applied and compiled. @throws Error where it cannot be */
export const withPatch = (tree, patch, look) => {
  must('the patch does not apply', tree, 'git', 'apply', patch);
  try {
    must('it does not compile', tree, 'npm', 'run', '-s', 'build');
    return look();
  } finally {
    must('the patch cannot be taken back', tree, 'git', 'apply', '-R', patch);
  }
};

/**
 * Plants faults one after the other, and prints what found each: the words that `look(tree, fault)` returns with the `seconds`, or
 * that it survives. Returns a row for each: its name, what it breaks, what found it, the seconds.
 */
export const plantEach = (faults, look) =>
  inWorktree((tree) => {
    const rows = faults.map((fault) => {
      const patch = join(import.meta.dirname, `${fault.name}.patch`);
      let found = { words: 'SURVIVES', seconds: 0 };
      try {
        found = withPatch(tree, patch, () => look(tree, fault));
      } catch (error) {
        console.error(`${fault.name}: ${error.message}`);
      }
      console.log(`${fault.name} | ${found.words} | ${found.seconds} s`);
      return [fault.name, readFileSync(patch, 'utf8').split('\n', 1)[0], found.words, String(found.seconds)];
    });
    console.log(`${rows.filter(isFound).length} of ${rows.length} faults are found.`);
    return rows;
  });

/** Whether a row of `plantEach` is one of a fault that was found. */
export const isFound = ([, , words]) => words !== 'SURVIVES';
