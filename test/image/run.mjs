// npm run test:image [-- <check> …]: builds the Dockerfile as it stands, and tries the image of the last commit's release as its users
// run it: read-only, as nobody in particular, with all else taken away that the service does not need. A check is an entry of `checks.mjs`; without
// names, all are made. Where Docker cannot run it says so, and ends with status 0, but 1 with CI=true.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheFolder } from '../harness/jest/available.mjs';
import { Lacking } from '../recipes/support/lacking.mjs';
import { chosenOf, doStep, printRows } from '../recipes/support/steps.mjs';
import { checks } from './checks.mjs';
import { Container } from './container.mjs';
import { startDocker } from './docker.mjs';
import { build } from './guide.mjs';
import { baseArchive, makeRelease } from './release.mjs';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = join(cacheFolder(), 'image');
/** As the real one names itself, in the Dockerfile. */
const BASE = /^ARG NODE_IMAGE=(\S+)$/m;
const SANDBOX = 'content-gateway-sandbox';
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** How many checks are made at a time. */
const AT_ONCE = 3;
/** What the real base image says of itself, as far as it matters to what is built on it. */
const BASE_SETTINGS = [
  'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  'ENTRYPOINT ["docker-entrypoint.sh"]',
  'CMD ["node"]',
];

const chosen = chosenOf('check', Object.keys(checks));

/** Puts the stand-in where the Dockerfile looks for the real image. @returns the same for a release */
const importBase = async (docker, tag) => {
  const { stdout } = await execute(fileURLToPath(new URL('base', import.meta.url)), [folder]).catch((error) => {
    throw new Lacking(`no base image can be made: ${error.stderr}`);
  });
  const file = stdout.trim();
  const archive = baseArchive(folder, file);
  const label = `stand-in=${basename(file)}`;
  const present = await docker.run('images', '--quiet', '--filter', `label=${label}`, '--filter', `reference=${tag}`);
  if (present !== '') return archive;
  const changes = [...BASE_SETTINGS, `LABEL ${label}`].flatMap((line) => ['--change', line]);
  await docker.run('import', ...changes, file, tag);
  return archive;
};

const step = (name, act) => doStep('check', name, act);

/** Makes some checks, several at a time since most of them wait. @returns their rows, in order */
const makeAll = async (names, make) => {
  const rows = [];
  const waiting = [...names.entries()];
  const go = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, name] = next;
      rows[index] = await make(name);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, go));
  return rows;
};

/** @returns the rows of the table */
const testAll = async (docker, work) => {
  const [, base] = BASE.exec(readFileSync(join(root, 'Dockerfile'), 'utf8'));
  const archive = await importBase(docker, base);
  const built = await step('build', () => build({ docker, root, work }, SANDBOX));
  if (built.result !== 'ok') return [built];
  let release;
  let image;
  const released = await step('make the release', async () => {
    const { stdout: changes } = await execute('git', ['status', '--porcelain'], { cwd: root });
    if (changes !== '') console.log('The release has nothing of what is in no commit.');
    release = await makeRelease({ root, work, archive }, 'one');
    const loaded = await docker.run('load', '--input', join(release, `content-gateway-${version}.oci.tar`));
    [, image] = /^Loaded image: (.+)$/m.exec(loaded) ?? [];
    return `${image}, loaded by Docker`;
  });
  if (released.result !== 'ok') return [built, released];
  const names = Object.keys(checks).filter((name) => chosen.includes(name));
  const rows = await makeAll(names, async (name) => {
    const containers = [];
    const start = async (options) => {
      const container = await Container.start(docker, options);
      containers.push(container);
      return container;
    };
    const given = { docker, base, image, sandbox: SANDBOX, root, work, start, release, archive, version };
    const row = await step(name, () => checks[name](given));
    await Promise.all(containers.map((container) => container.remove()));
    return row;
  });
  return [built, released, ...rows];
};

const work = mkdtempSync(join(tmpdir(), 'image-test-'));
try {
  const docker = await startDocker(folder);
  let rows;
  try {
    rows = await testAll(docker, work);
  } finally {
    await docker.stop();
  }
  const { passed, failed, skipped } = printRows(rows);
  console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
  if (failed > 0) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof Lacking)) throw error;
  console.log(`\n!!! The image is NOT tested: ${error.message}\n`);
  if (process.env.CI === 'true') process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
