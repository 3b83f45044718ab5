// npm run -s release -- --out FOLDER [--only PART,…]: makes the release of the commit, in a new folder, and prints what is in it.
// --next and --bump are bump.mjs's, --publish is publish.mjs's.
// The same commit gives the same bytes, wherever and whenever it is made, with the same tools.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { lackingCommands, languagesNamed } from '../../openapi/sdk/languages.mjs';
import { documentOf } from '../../openapi/released.mjs';
import { description } from '../production.mjs';
import { writeDocuments } from './documents.mjs';
import { filesIn } from './files.mjs';
import { IMAGE_COMMANDS, baseOf, packImage } from './image.mjs';
import { packService } from './npm.mjs';
import { publishRelease } from './publish.mjs';
import { packSdk } from './sdks.mjs';

const root = join(import.meta.dirname, '../..');
const languages = languagesNamed([]);

/** The packages that a gateway serves at `/sdks/`. */
const SDKS = [...languages.map(({ name }) => name), 'types'];

/** What a release has, and how each is made. */
const parts = {
  // First, since the service serves them.
  ...Object.fromEntries(SDKS.map((name) => [name, (work) => packSdk(name, work)])),
  npm: packService,
  documents: writeDocuments,
  image: packImage,
};
/** What each part takes that a machine may lack. */
const needs = { ...Object.fromEntries(languages.map((one) => [one.name, one.needs])), image: IMAGE_COMMANDS };
const all = Object.keys(parts).join(',');

const fail = (message) => {
  console.error(`error: ${message}\nNothing was written.`);
  process.exit(1);
};
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trimEnd();

const {
  out,
  only,
  base: baseName,
  'image-name': imageName,
  next,
  bump,
  publish,
  'dry-run': dryRun,
} = parseArgs({
  options: {
    out: { type: 'string' },
    only: { type: 'string' },
    base: { type: 'string' },
    'image-name': { type: 'string' },
    next: { type: 'boolean' },
    bump: { type: 'boolean' },
    publish: { type: 'string' },
    'dry-run': { type: 'boolean' },
  },
}).values;
const wanted = only?.split(',') ?? Object.keys(parts);
if (publish) process.exit(await publishRelease(resolve(publish), { only: only?.split(','), dryRun }));
const changes = git('status', '--porcelain');
if (changes !== '') {
  fail(`A release is made of a commit, and these files differ from it. Commit or stash them:\n${changes}`);
}
if (next || bump) {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, 'bump.mjs'), ...(bump ? ['--bump'] : [])], {
    stdio: 'inherit',
  });
  process.exit(status ?? 1);
}
if (!out) fail(`Say where: npm run -s release -- --out FOLDER [--only ${all}]`);
const target = resolve(out);
const unknown = wanted.filter((name) => !(name in parts));
if (unknown.length > 0) fail(`A release has no ${unknown.join(', ')}: it has ${all}.`);
if (existsSync(target)) fail(`${target} is there already. Name a new folder.`);
const kept = documentOf(description.version);
if (existsSync(kept) && !readFileSync(kept).equals(readFileSync(join(root, 'openapi/openapi.json')))) {
  fail(
    `The document of ${description.version} is released, and differs. Write another version: npm run -s release -- --next`,
  );
}
/** Says how to do without a part. */
const without = (part) => {
  const others = wanted.filter((name) => name !== part).join(',');
  return others === '' ? '' : `, or make the rest: --only ${others}`;
};
for (const name of wanted) {
  const lacking = lackingCommands({ needs: needs[name] ?? [] }).join(', ');
  if (lacking !== '') fail(`This machine lacks ${lacking}, for ${name}. Install it${without(name)}`);
}
if (imageName !== undefined && !/^[a-z\d.:-]+(?:\/[a-z\d._-]+)+$/.test(imageName)) {
  fail(`${imageName} is no name of an image, such as registry.example/content-gateway, without a tag.`);
}
let base;
try {
  if (wanted.includes('image')) base = baseOf(root, baseName);
} catch (error) {
  const advice = `Name another one, such as --base oci-archive:FILE${without('image')}`;
  fail(`The base of the image cannot be had: ${error.message}\n${advice}`);
}

const commit = git('rev-parse', 'HEAD');
const seconds = git('show', '--no-patch', '--format=%ct', commit);
const env = { ...process.env, BUILD_ID: commit, SOURCE_DATE_EPOCH: seconds, TZ: 'UTC', LC_ALL: 'C.UTF-8' };
for (const name of ['SDK_BUILD', 'SDK_DOCUMENTS', 'SDK_SETTINGS']) delete env[name];
process.umask(0o022);

const writeSums = (folder, said) => {
  const artifacts = filesIn(folder).map((name) => {
    const bytes = readFileSync(join(folder, name));
    return { name, sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
  });
  const { name, version } = description;
  const time = new Date(Number(seconds) * 1000).toISOString();
  const tools = { node: process.version, npm: execFileSync('npm', ['--version'], { encoding: 'utf8' }).trim() };
  writeFileSync(
    join(folder, 'release.json'),
    `${JSON.stringify({ name, version, commit, time, tools, ...said, artifacts }, null, 2)}\n`,
  );
  writeFileSync(join(folder, 'SHA256SUMS'), artifacts.map(({ name: file, sha256 }) => `${sha256}  ${file}\n`).join(''));
  for (const { name: file, bytes } of artifacts) console.log(`${file}: ${bytes} bytes`);
};

/** Writes the files of the commit into a new folder. */
const checkOut = (folder) => {
  mkdirSync(folder);
  execFileSync('tar', ['-x', '--no-same-permissions', '-C', folder], {
    input: execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 }),
  });
};

const temporary = mkdtempSync(join(tmpdir(), 'content-gateway-release-'));
// A command that is interrupted throws here.
process.on('SIGINT', () => {});
let written;
try {
  const copy = join(temporary, 'content-gateway');
  const made = join(temporary, 'made');
  mkdirSync(made);
  checkOut(copy);
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const run = (command, ...args) =>
    execFileSync(command, args, { cwd: copy, env, stdio: ['ignore', process.stderr, 'inherit'] });
  // The image is compiled where it is built.
  if (wanted.some((name) => name !== 'image')) run('npm', 'run', '-s', 'build');
  const said = {};
  const given = { copy, out: made, run, checkOut, temporary, commit, seconds, base, imageName };
  const lacking = SDKS.filter((name) => !wanted.includes(name));
  if (lacking.length > 0 && wanted.some((name) => ['npm', 'image'].includes(name))) {
    console.error(`!!! The service has no packages for its /sdks/ of ${lacking.join(', ')}: they are not made here.`);
  }
  for (const name of Object.keys(parts).filter((part) => wanted.includes(part)))
    Object.assign(said, await parts[name](given));
  writeSums(made, said);
  // On the file system of the target, so that it appears at once.
  mkdirSync(dirname(target), { recursive: true });
  written = mkdtempSync(`${target}.`);
  cpSync(made, written, { recursive: true });
  renameSync(written, target);
} catch (error) {
  if (written) rmSync(written, { recursive: true, force: true });
  // A command has said itself what is wrong.
  console.error(`error: ${error.status === undefined ? error.stack : error.message}\nNothing was written.`);
  process.exitCode = 1;
} finally {
  rmSync(temporary, { recursive: true });
}
