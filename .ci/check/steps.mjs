/**
 * The steps of the check, in the order in which `.ci/check/run.mjs` begins them. A step is
 * - `name`, and what it `proves`, as the table of README.md shows both,
 * - `run`, its command, with `env` beside the check's own, or `envOfAll` with `--all`, and the `minutes` after which it is stopped:
 *   several times what it takes, since some machines are three times slower than others,
 * - `alone`: whether nothing may run beside it: it has more to do than the machine can,
 * - `tests`: whether it is an npm script of Jest, whose results count one by one; `skips` says that the run lists what it skips,
 * - `apart`: the paths of the repository that cannot change how it ends. Only such a step is carried where all other files are those
 *   of a commit with which it passed,
 * - `lacking`: what is said where it fails, instead of failing the check,
 * - `can`: whether this machine can run it, else the check says `lacking`.
 */
import { findVitess } from '../../test/harness/jest/available.mjs';
import { readFileSync, readdirSync } from 'node:fs';
import { tests } from '../../test/harness/jest/projects.mjs';

const [oldest, lts, newest] = readFileSync(new URL('../node-versions', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line && !line.startsWith('#'))
  .map((line) => line.split(' ')[0]);

/** Whether a file of the repository is one of the `paths`, or lies in one. */
export const liesIn = (file, paths) => paths.some((path) => file === path || file.startsWith(`${path}/`));

/** The entries of a folder but some. */
const but = (folder, ...names) =>
  readdirSync(new URL(`../../${folder}`, import.meta.url))
    .filter((name) => !names.includes(name))
    .map((name) => `${folder}/${name}`);

// test/project/steps.test.ts holds these. The service that a step starts also loads what makes pages, and nobody there asks for them.
const PROSE = ['README.md', 'CHANGELOG.md', 'SECURITY.md', '.ci/check/README.md'];
/** What makes pages; without what makes the documents and reads the guides, which tests use. */
const PAGES = but('src/site', 'documents.ts', 'guides', 'publication.ts', 'base.ts', 'html.ts');
const SDKS = ['openapi/sdk', 'test/clients/sdk'];
/** The tests of other steps; what these share lies in the folders that are never left out. */
const testsBut = (...names) => but('test', 'harness', 'clients', 'data', ...names);
const onVitess = tests.filter(({ engines }) => engines.includes('vitess')).map(({ path }) => path.split('/')[1]);

/** One after the other: what others take. */
export const first = [
  { name: 'system packages', proves: 'that a bare Debian can run the check', run: ['.ci/packages'], minutes: 20 },
  {
    name: 'MySQL',
    proves: 'that there is a MySQL to test on',
    run: ['.ci/mysql', ...(process.env.MYSQL_ROOT ? [process.env.MYSQL_ROOT] : [])],
    minutes: 5,
    can: () => process.env.MYSQL_ROOT !== '',
    lacking: 'No MySQL: this check covers SQLite and MariaDB only.',
  },
  {
    name: 'Vitess',
    proves: 'that there is a Vitess to test on',
    run: ['.ci/vitess'],
    minutes: 25,
    lacking: 'No Vitess could be built: nothing is tested on it.',
  },
  { name: 'oasdiff', proves: 'that there is an oasdiff to compare documents with', run: ['.ci/oasdiff'], minutes: 10 },
  { name: 'npm ci', proves: 'that the lock file installs', run: ['npm', 'ci', '--no-audit', '--no-fund'], minutes: 10 },
  { name: 'drift', proves: 'that derived files are what they are derived from', run: ['.ci/drift'], minutes: 10 },
];

/** Two at a time, since most wait for a database, a process or a tool of one thread; long ones begin first. Then those that are alone. */
export const steps = [
  {
    name: 'tests',
    proves: `what each room does, on SQLite and MariaDB, with Node.js ${oldest} on a terminal, in color`,
    run: ['.ci/node', oldest, '.ci/terminal', 'npm', 'run', '-s', 'test', '--'],
    minutes: 45,
    tests: true,
  },
  {
    name: 'recipes',
    proves: 'each recipe of docs/ci.md, and the clients of fourteen generators, by the tools themselves',
    run: ['npm', 'run', '-s', 'test:recipes'],
    minutes: 90,
    apart: [
      ...PROSE,
      ...but('docs', 'ci.md', 'generators.md', 'operators.md'),
      ...PAGES,
      ...testsBut('recipes', 'fuzz'),
    ],
  },
  {
    name: 'long tests',
    proves: `whole programs, plans of statements, other databases and pages in a browser, with Node.js ${lts}`,
    run: ['.ci/node', lts, 'npm', 'run', '-s', 'test:long', '--'],
    env: { NO_COLOR: '1' },
    envOfAll: { NO_COLOR: '1', NODES_APART: '1' },
    minutes: 90,
    tests: true,
  },
  {
    name: 'SDKs',
    proves:
      'five SDKs as their users install them, by 180 scripted exchanges and one scenario, and beside the last release',
    run: ['npm', 'run', '-s', 'test:sdk'],
    minutes: 90,
    // The long tests serve the packages in `build/sdk/artifacts`, which this step makes anew.
    alone: true,
    apart: [...PROSE, 'docs', ...PAGES, 'deploy', ...testsBut()],
  },
  {
    name: 'faults',
    proves: 'that nothing acknowledged is lost or doubled where databases and instances are killed, cut off or filled',
    run: ['npm', 'run', '-s', 'test:fault', '--'],
    envOfAll: { UPGRADE_FROM: 'all' },
    minutes: 75,
    alone: true,
    tests: true,
    apart: [
      ...PROSE,
      ...but('docs', 'events.md', 'scaling.md'),
      ...PAGES,
      ...SDKS,
      ...testsBut('fault', 'histories', 'simulation'),
    ],
  },
  {
    name: 'fuzzing',
    proves: 'that whatever is sent is answered as documented, in bounded memory',
    run: ['npm', 'run', '-s', 'fuzz'],
    env: { FUZZ_REQUESTS: '40000', FUZZ_EXAMPLES: '5' },
    envOfAll: { FUZZ_SEED: 'random' },
    minutes: 45,
    apart: [...PROSE, 'docs', ...SDKS, ...testsBut('fuzz')],
  },
  {
    name: 'tests on Vitess',
    proves: 'transactions, lists, toggles, plans, `verify` and lost shards on Vitess',
    run: ['npm', 'run', '-s', 'test:vitess', '--'],
    minutes: 75,
    alone: true,
    tests: true,
    skips: true,
    can: () => findVitess().vitess !== undefined,
    lacking: 'No Vitess: its tests and faults are left out.',
    apart: [...PROSE, ...but('docs', 'operators.md', 'scaling.md'), ...PAGES, ...SDKS, ...testsBut(...onVitess)],
  },
  {
    name: 'image',
    proves: "the release's image, compose.yaml and the manifests, as non-root on a read-only file system",
    run: ['npm', 'run', '-s', 'test:image'],
    envOfAll: { IMAGE_RELEASES: '2' },
    minutes: 45,
    apart: testsBut('image', 'bench', 'recipes'),
  },
  ...[oldest, newest].map((version) => ({
    name: `first start on Node.js ${version}`,
    proves: "the README's two commands in a fresh clone, on a terminal",
    run: ['.ci/node', version, '.ci/first-start'],
    minutes: 45,
  })),
  {
    name: 'release',
    proves: 'that a commit has one release, which others install, import and start without a clone or a compiler',
    run: ['node', '.ci/release/check.mjs'],
    envOfAll: { RELEASE_PARTS: 'types,npm,documents,typescript,python,go,java,rust' },
    minutes: 30,
  },
  {
    name: 'publishing',
    proves: "that the workflow's commands publish all or nothing, on registries on loopback, and strangers install it",
    run: ['npm', 'run', '-s', 'test:publish'],
    // Compilers take most of the time of the others.
    env: { PUBLISH_STRANGERS: 'typescript,python' },
    envOfAll: { PUBLISH_STRANGERS: 'typescript,python,go,java,rust' },
    minutes: 60,
  },
  { name: 'lint', proves: 'style, and mistakes that types show', run: ['npm', 'run', 'lint'], minutes: 30 },
  { name: 'types', proves: 'types', run: ['npm', 'run', 'typecheck'], minutes: 30 },
  {
    name: 'OpenAPI lint',
    proves: 'the documents, by the rules of Redocly and Spectral',
    run: ['npm', 'run', 'lint:openapi'],
    minutes: 30,
  },
  {
    name: 'OpenAPI compatibility',
    proves: 'that callers of the last release are not broken, and are told what is new',
    run: ['.ci/compatibility'],
    minutes: 30,
  },
];
