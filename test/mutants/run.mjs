// npm run test:mutants [-- <part of a name> … --all-fast]: plants the faults of this folder one after the other in a worktree of
// HEAD, and expects the test file that each patch names to fail. With `--all-fast`, all of `npm test` looks for them.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { inWorktree, run, withPatch } from './plant.mjs';

const folder = import.meta.dirname;
/** What finds a fault: a test file, on all of its projects of Jest or on one, or a command. */
const FOUND_BY = /^Found by: (?:(?<file>test\/\S+)(?: on (?<project>\w+))?|(?<command>(?:npm|bash) .+))$/m;

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

/** The names of the tests that fail. @throws Error where none does, and Jest fails */
const failuresOf = ({ tree, report }, args) => {
  rmSync(report, { force: true });
  const { isDone, said } = run('npm', ['run', '-s', ...args, '--json', `--outputFile=${report}`], { cwd: tree });
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
const findersOf = (place, { file, project, command }) => {
  if (isAllFast) return failuresOf(place, ['test', '--', '--coverage=false']);
  if (file) return failuresOf(place, ['test:file', '--', file, ...(project ? ['--selectProjects', project] : [])]);
  const [program, ...args] = command.split(' ');
  return run(program, args, { cwd: place.tree }).isDone ? [] : [command];
};

/** What fails without any fault, by what is to find one. */
const failing = new Map();

/** Plants a fault, looks who finds it, and takes it away. @throws Error where it cannot be planted */
const tryOut = (place, mutant) => {
  const finder = isAllFast ? '' : `${mutant.command ?? mutant.file} ${mutant.project ?? ''}`;
  if (!failing.has(finder)) failing.set(finder, findersOf(place, mutant));
  const before = failing.get(finder);
  return withPatch(place.tree, mutant.patch, () => {
    const found = findersOf(place, mutant).filter((name) => !before.includes(name));
    if (found.length === 0 && before.length > 0)
      throw new Error(`without any fault, too, fails\n  ${before.join('\n  ')}`);
    return found;
  });
};

const survivors = [];
inWorktree((tree, temporary) => {
  const place = { tree, report: join(temporary, 'report.json') };
  for (const mutant of mutants) {
    let found;
    try {
      found = tryOut(place, mutant);
    } catch (error) {
      found = [];
      console.error(`${mutant.name}: ${error.message}`);
    }
    if (found.length === 0) survivors.push(mutant.name);
    console.log(`${mutant.name} | ${(isAllFast ? found : found.slice(0, 1)).join('\n  ') || 'SURVIVES'}`);
  }
});
console.log(`${mutants.length - survivors.length} of ${mutants.length} faults are found.`);
if (survivors.length > 0) console.error(`Not found: ${survivors.join(', ')}`);
process.exitCode = survivors.length > 0 || mutants.length === 0 ? 1 : 0;
