// npm run test:mutants [-- <part of a name> … --all-fast]: plants the faults of this folder one after the other in a worktree of
// HEAD, and expects the test file that each patch names to fail. With `--all-fast`, all of `npm test` looks for them.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';

const folder = import.meta.dirname;
const root = join(folder, '../..');
/** What finds a fault: a test file, on all of its projects of Jest or on one, or a command. */
const FOUND_BY = /^Found by: (?:(?<file>test\/\S+)(?: on (?<project>\w+))?|(?<command>(?:npm|bash) .+))$/m;
const LONGEST_MS = 15 * 60_000;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { 'all-fast': { type: 'boolean' } } });
const isAllFast = values['all-fast'] === true;
const mutants = readdirSync(folder)
  .filter((name) => name.endsWith('.patch'))
  .filter((name) => positionals.length === 0 || positionals.some((part) => name.includes(part)))
  .map((name) => {
    const patch = join(folder, name);
    const finder = FOUND_BY.exec(readFileSync(patch, 'utf8'))?.groups;
    if (!finder) throw new Error(`${name} does not say what finds it.`);
    return { name: basename(name, '.patch'), patch, ...finder };
  });

const temporary = mkdtempSync(join(tmpdir(), 'mutants-'));
const tree = join(temporary, 'tree');
const report = join(temporary, 'report.json');
const run = (command, args, cwd = tree) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: LONGEST_MS });
  return { isDone: status === 0, said: stdout + stderr };
};
/** @throws Error with what the command said */
const must = (fault, ...command) => {
  const { isDone, said } = run(...command);
  if (!isDone) throw new Error(`${fault}\n${said}`);
};

/** The names of the tests that fail. @throws Error where none does, and Jest fails */
const failuresOf = (args) => {
  rmSync(report, { force: true });
  const { isDone, said } = run('npm', ['run', '-s', ...args, '--json', `--outputFile=${report}`]);
  if (isDone) return [];
  const { testResults = [] } = JSON.parse(readFileSync(report, { encoding: 'utf8', flag: 'a+' }) || '{}');
  const failed = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map((one) => [name.slice(tree.length + 1), one.fullName]),
  );
  if (failed.length === 0) throw new Error(`no test could tell\n${said}`);
  return failed.map(([file, test]) => `${file}: ${test}`);
};

/** What fails: nothing, or names. */
const findersOf = ({ file, project, command }) => {
  if (isAllFast) return failuresOf(['test', '--', '--coverage=false']);
  if (file) return failuresOf(['test:file', '--', file, ...(project ? ['--selectProjects', project] : [])]);
  const [program, ...args] = command.split(' ');
  return run(program, args).isDone ? [] : [command];
};

/** What fails without any fault, by what is to find one. */
const failing = new Map();

/** Plants a fault, looks who finds it, and takes it away. @throws Error where it cannot be planted */
const tryOut = (mutant) => {
  const finder = isAllFast ? '' : `${mutant.command ?? mutant.file} ${mutant.project ?? ''}`;
  if (!failing.has(finder)) failing.set(finder, findersOf(mutant));
  const before = failing.get(finder);
  must('the patch does not apply', 'git', ['apply', mutant.patch]);
  try {
    must('it does not compile', 'npm', ['run', '-s', 'build']);
    const found = findersOf(mutant).filter((name) => !before.includes(name));
    if (found.length === 0 && before.length > 0)
      throw new Error(`without any fault, too, fails\n  ${before.join('\n  ')}`);
    return found;
  } finally {
    must('the patch cannot be taken back', 'git', ['apply', '-R', mutant.patch]);
  }
};

must('There is no worktree.', 'git', ['worktree', 'add', '-f', '--detach', tree, 'HEAD'], root);
const survivors = [];
try {
  for (const modules of ['node_modules', 'test/clients/trpc-10/node_modules']) {
    must('There are no modules.', 'cp', ['-al', join(root, modules), join(tree, modules)]);
  }
  for (const mutant of mutants) {
    let found;
    try {
      found = tryOut(mutant);
    } catch (error) {
      found = [];
      console.error(`${mutant.name}: ${error.message}`);
    }
    if (found.length === 0) survivors.push(mutant.name);
    console.log(`${mutant.name} | ${(isAllFast ? found : found.slice(0, 1)).join('\n  ') || 'SURVIVES'}`);
  }
} finally {
  run('git', ['worktree', 'remove', '--force', tree], root);
  rmSync(temporary, { recursive: true, force: true });
}
console.log(`${mutants.length - survivors.length} of ${mutants.length} faults are found.`);
if (survivors.length > 0) console.error(`Not found: ${survivors.join(', ')}`);
process.exitCode = survivors.length > 0 || mutants.length === 0 ? 1 : 0;
