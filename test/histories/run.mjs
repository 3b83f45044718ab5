// npm run -s histories -- [options]: has clients of several users call the service while a nemesis harms it and what it needs,
// and decides whether all that they were answered is what the promises allow.
//   --engine sqlite|mariadb|mysql|…   --nemesis all|kill|…   --operations 2000   --seed 1
//                 a wrong name is answered with those that there are
//   --file FILE   keeps the history, an entry a line
//   --update      writes what it found into RESULTS.md
//   --planted [part of a name …]   plants the faults of planted.mjs one after the other, and expects each to be found
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { updateTable } from '../harness/markdown-table.mjs';
import { isFound, judge, plantEach } from '../mutants/plant.mjs';
import { planted } from './planted.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { type: 'string', default: 'sqlite' },
    nemesis: { type: 'string', default: 'all' },
    operations: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    file: { type: 'string' },
    update: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
  },
});
const root = join(import.meta.dirname, '../..');
/** By the name of an engine or a set of servers, what tables call it, and the Jest project and tier that have its servers. */
const engines = {
  sqlite: { title: 'SQLite' },
  mariadb: { title: 'MariaDB' },
  mysql: { title: 'MySQL' },
  replicated: { title: 'MariaDB, replicated', project: 'mariadb' },
  asynchronous: { title: 'MariaDB, replicated asynchronously', project: 'mariadb' },
  galera: { title: 'Galera, one writer', project: 'mariadb' },
  'galera-apart': { title: 'Galera, two writers', project: 'mariadb' },
  'galera-waiting': { title: 'Galera, two writers that wait', project: 'mariadb' },
  vitess: { title: 'Vitess, two shards', tier: 'vitess' },
};
const titleOf = (name) => engines[name]?.title ?? name;

/** Runs the test once. Returns its verdict, what it said, and the seconds it took. */
const check = (tree, { engine, nemesis, operations, seed, file }) => {
  if (!engines[engine]) throw new Error(`There is no engine ${engine}: ${Object.keys(engines).join(', ')}.`);
  const { project = engine, tier = 'fault' } = engines[engine];
  const env = {
    TEST_TIER: tier,
    HISTORY_DATABASES: engine,
    HISTORY_OPERATIONS: operations,
    HISTORY_SEED: seed,
    HISTORY_NEMESIS: nemesis,
    ...(file !== undefined && { HISTORY_FILE: resolve(file) }),
  };
  return judge(tree, ['--selectProjects', project, '--testPathPatterns', 'test/histories/under-faults.test.ts'], {
    env,
    verdict: 'HISTORY_VERDICT',
    timeout: 240_000 + Number(operations) * 30,
  });
};

const RESULTS = join(import.meta.dirname, 'RESULTS.md');

const HEADER = [
  'Database',
  'Nemesis',
  'Operations',
  'Seed',
  'Faults',
  'Calls disturbed',
  'Refused',
  'Unknown',
  'Orders searched',
  'Found',
  'Seconds',
];

const once = () => {
  const { isDone, said, verdict, seconds } = check(root, values);
  if (!verdict) {
    console.error(said);
    return false;
  }
  const { faults, ok, refused, unknown, histories, found } = verdict;
  const disturbed = faults.reduce((sum, { calls }) => sum + calls, 0);
  const words = found.join(', ') || 'nothing';
  const row = [
    titleOf(values.engine),
    values.nemesis,
    values.operations,
    values.seed,
    faults.length,
    disturbed,
    refused,
    unknown,
    histories,
    words,
    seconds,
  ].map(String);
  if (values.update) updateTable(RESULTS, 'Runs', HEADER, [row], 4);
  if (!isDone) console.error(said);
  console.log(
    `${isDone ? 'allowed' : 'NOT ALLOWED'}: ${ok} calls succeeded, ${refused} were refused, ${unknown} have an unknown outcome;`,
  );
  console.log(
    `${faults.length} faults disturbed ${disturbed} calls, ${histories} orders searched; found: ${words} (${values.engine}, seed ${values.seed}, ${seconds} s)`,
  );
  return isDone;
};

const plantAll = () => {
  const chosen = planted.filter(
    ({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
  );
  const rows = plantEach(chosen, (tree, options) => {
    const { isDone, verdict, seconds } = check(tree, options);
    // What ends without a verdict has not come to the end of its calls. What fails and finds nothing shows no fault.
    const words = verdict ? verdict.found.join(', ') : 'the calls do not end';
    return { words: (!isDone && words) || 'SURVIVES', seconds };
  });
  if (values.update)
    updateTable(
      RESULTS,
      'Planted faults',
      ['Fault', 'What it breaks', 'Database', 'Nemesis', 'Operations', 'Seed', 'Found by', 'Seconds'],
      rows.map(([name, breaks, ...found], index) => {
        const { engine, nemesis, operations, seed } = chosen[index];
        return [name, breaks, titleOf(engine), nemesis, operations, seed, ...found];
      }),
      1,
    );
  return rows.length > 0 && rows.every(isFound);
};

process.exitCode = (values.planted ? plantAll() : once()) ? 0 : 1;
