// npm run test:publish: makes the release of the last commit and publishes it by the shell lines of .github/workflows/release.yml, on
// registries on loopback. Then installs each package from there as a stranger does, and follows its quick start. Registries that
// are away, versions that are there otherwise, files that were changed and a wrong tag are refused, and nothing is published; what
// broke off is published by the same command.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesIn } from '../../.ci/release/files.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { cloneTo } from '../recipes/support/clone.mjs';
import { goTool } from '../recipes/support/tools.mjs';
import { run, serve } from '../recipes/support/shell.mjs';
import { startRegistries } from './registries.mjs';
import { startQuickly, languages, newcomer, startByNpx } from './strangers.mjs';
import { startRunner, steps } from './workflow.mjs';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
const TO_PUBLISH = ['rust', 'java', 'python', 'npm', 'typescript', 'types', 'go', 'image'];
/** Python's are two. */
const PACKAGES = TO_PUBLISH.length + 1;
/** The image is made and run by another test. */
const TO_MAKE = ['npm', 'documents', 'types', ...languages].join();

/** Writes the checksums of a release whose files were changed. */
const writeSums = (release) => {
  const sumOf = (file) =>
    createHash('sha256')
      .update(readFileSync(join(release, file)))
      .digest('hex');
  const names = filesIn(release).filter((file) => !['SHA256SUMS', 'release.json'].includes(file));
  writeFileSync(join(release, 'SHA256SUMS'), names.map((file) => `${sumOf(file)}  ${file}\n`).join(''));
};

/** Puts a small image for two machines into a release. */
const addImage = async (release, folder, text) => {
  const cwd = mkdtempSync(join(folder, 'image-'));
  writeFileSync(join(cwd, 'file'), text);
  writeFileSync(join(cwd, 'Dockerfile'), 'FROM scratch\nCOPY file /\n');
  const buildah = `buildah --storage-driver vfs --root ${cwd}/root --runroot ${cwd}/run`;
  const archive = join(release, `content-gateway-${version}.oci.tar`);
  rmSync(archive, { force: true });
  await run(
    `${buildah} build --quiet --platform linux/amd64,linux/arm64 --manifest image .
    ${buildah} manifest push --quiet --all image oci-archive:${archive}`,
    { cwd, env: process.env },
  );
  writeSums(release);
};

/** Another release of the same version. */
const changedCopyOf = async (release, folder) => {
  const copy = join(folder, 'changed/release');
  cpSync(release, copy, { recursive: true });
  for (const file of filesIn(copy).map((name) => join(copy, name))) {
    const add = 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "a").writestr(sys.argv[2], "changed")';
    if (file.endsWith('.zip')) {
      const [, path] = /\/sdk\/go\/(.+)\/@v\//.exec(file);
      execFileSync('python3', ['-c', add, file, `${path}@v${version}/changed.go`]);
    } else if (/\.(tgz|tar\.gz|whl|crate|jar)$/.test(file)) appendFileSync(file, '\0');
  }
  await addImage(copy, folder, 'changed');
  return join(folder, 'changed');
};

const folder = mkdtempSync(join(tmpdir(), 'content-gateway-publish-test-'));
const began = performance.now();
const say = (text) => console.log(`${((performance.now() - began) / 1000).toFixed(0)} s: ${text}`);
const workspace = join(folder, 'clone');
cloneTo(repository, workspace);
mkdirSync(join(folder, 'tmp'));
mkdirSync(join(folder, 'publisher'));

const registries = await startRegistries(folder);
try {
  say('the registries listen');
  await run('"$ACTIONLINT" -no-color .github/workflows/release.yml', {
    cwd: workspace,
    env: { ...process.env, ACTIONLINT: await goTool('actionlint', 'github.com/rhysd/actionlint/cmd/actionlint') },
  });
  const home = homedir();
  const machine = {
    ...process.env,
    TMPDIR: join(folder, 'tmp'),
    // Logins are written there. The caches of this machine stay.
    HOME: join(folder, 'publisher'),
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? join(home, '.cache'),
    CARGO_HOME: process.env.CARGO_HOME ?? join(home, '.cargo'),
    RUSTUP_HOME: process.env.RUSTUP_HOME ?? join(home, '.rustup'),
    GOPATH: process.env.GOPATH ?? join(home, 'go'),
    npm_config_userconfig: join(home, '.npmrc'),
    npm_config_cache: join(home, '.npm'),
  };
  registries.images.allow(machine.HOME);
  const runner = startRunner({ folder, workspace, version, env: machine });
  const { env: given } = registries;
  const publish = (options) => runner.play('Publish', { given, ...options });
  const nothing = await registries.holdings();
  assert.deepEqual(Object.values(nothing).flat(), []);

  const { output: refused } = await runner.play('Compare the tag', {
    given: { GITHUB_REF_NAME: 'v0.0.9' },
    statuses: [1],
  });
  assert.match(refused, new RegExp(`The tag is v0\\.0\\.9, .* push v${version}, or release another version`));
  await runner.play('Compare the tag');

  await runner.play('Make the release', { given: { RELEASE_PARTS: TO_MAKE } });
  const release = join(runner.temporary, 'release');
  await addImage(release, folder, 'released');
  say('the release is made');

  // A registry that is away, or does not know who publishes.
  const closed = `127.0.0.1:${await freePort()}`;
  const away = {
    npm_config_registry: `http://${closed}/`,
    PIP_INDEX_URL: `http://${closed}/simple/`,
    MAVEN_URL: `file://${folder}/missing`,
    GO_REPOSITORY: join(folder, 'missing.git'),
    CARGO_REGISTRIES_LOOPBACK_INDEX: `sparse+http://${closed}/`,
    IMAGE: `${closed}/content-gateway`,
  };
  const { output: unreachable } = await publish({ given: { ...given, ...away }, statuses: [1] });
  for (const told of [
    `http://${closed}/ does not tell whether it has content-gateway ${version}.`,
    `http://${closed}/simple/content-gateway/ does not answer (ECONNREFUSED). Is the address right?`,
    `${folder}/missing, which MAVEN_URL names, is not there. Create or mount it.`,
    'missing.git cannot be read. Does it exist, and does GO_REPOSITORY hold what opens it?',
    'The registry of crates does not tell whether it has content-gateway',
    `The registry does not tell whether it has ${closed}/content-gateway:${version}. Is IMAGE right?`,
  ]) {
    assert.ok(
      unreachable.includes(`error: ${told}`) || unreachable.includes(told),
      `${told}\nis not in\n${unreachable}`,
    );
  }
  assert.match(unreachable, /\nNothing was published\.\n$/);
  const strange = { NPM_TOKEN: '', TWINE_PASSWORD: '', MAVEN_URL: '', CARGO_REGISTRIES_LOOPBACK_TOKEN: '', IMAGE: '' };
  const { output: unknown } = await publish({ given: { ...given, ...strange }, statuses: [1] });
  for (const told of [
    'does not know you. Set NPM_TOKEN, or log in: npm login',
    'twine has no password for content_gateway',
    'Set MAVEN_URL, or leave out java by --only.',
    'cargo has no token to publish content-gateway. Set CARGO_REGISTRIES_LOOPBACK_TOKEN, or log in: cargo login',
    'The image has no name. Set IMAGE',
  ]) {
    assert.ok(unknown.includes(told), `${told}\nis not in\n${unknown}`);
  }
  const identity = { ACTIONS_ID_TOKEN_REQUEST_URL: `http://${closed}/`, GITHUB_SERVER_URL: 'https://git.example.com' };
  const { output: unproven } = await publish({ given: { ...given, ...identity, RELEASE_PARTS: 'npm' }, statuses: [1] });
  assert.match(
    unproven,
    /, and npm takes provenance for that of the workflow alone\. Write https:\/\/git\.example\.com\/example\/content-gateway as repository/,
  );
  // Where all others are there, too, and would be published before it.
  const { output: loggedOut } = await publish({ statuses: [1] });
  assert.match(loggedOut, /skopeo has no password for .* Log in: skopeo login [^]*\nNothing was published\.\n$/);
  assert.deepEqual(await registries.holdings(), nothing);
  say('what is away, or knows nobody, gets nothing, and neither do the others');

  const whole = readFileSync(join(release, 'openapi.json'));
  appendFileSync(join(release, 'openapi.json'), '\n');
  const { output: tampered } = await publish({ statuses: [1] });
  assert.match(
    tampered,
    /is not as it was made\. Make the release again\.\nopenapi\.json: FAILED[^]*\nNothing was published\.\n$/,
  );
  writeFileSync(join(release, 'openapi.json'), whole);
  assert.deepEqual(await registries.holdings(), nothing);

  await runner.play('Log in for the image', { given });
  const { output: looked } = await runner.play('Look at the registries', { given });
  assert.equal(looked.match(/^can be published: /gm)?.length, PACKAGES, looked);
  assert.deepEqual(await registries.holdings(), nothing);

  // What shows only when it is used.
  const wrong = { ...given, CARGO_REGISTRIES_LOOPBACK_TOKEN: 'wrong' };
  const { output: forbidden } = await publish({ given: wrong, statuses: [1] });
  assert.match(
    forbidden,
    /no token[^]*\nNot published yet: .*crates\.io.*\. Mend that, and run the same command again\.\n$/,
  );
  assert.deepEqual(await registries.holdings(), nothing);

  const options = { cwd: workspace, env: runner.envOf('Publish', given) };
  const publishing = await serve(steps.get('Publish').run, /^(published): /m, options);
  assert.equal(await publishing.stop('SIGKILL'), 'SIGKILL', publishing.output());
  const half = await registries.holdings();
  assert.deepEqual([half.rust.length, half.image.length], [1, 0], JSON.stringify(half));
  const { output: rest } = await publish();
  assert.match(rest, new RegExp(`^is there already: content-gateway ${version} on crates\\.io$`, 'm'));
  assert.ok(rest.match(/^published: /gm)?.length >= PACKAGES - 2, rest);
  const all = await registries.holdings();
  assert.deepEqual(
    Object.entries(all).filter(([, held]) => held.length === 0),
    [],
  );
  const { output: again } = await publish();
  assert.equal(again.match(/^is there already: /gm)?.length, PACKAGES, again);
  assert.doesNotMatch(again, /^published: /m);
  assert.deepEqual(await registries.holdings(), all);
  say('what broke off is published, and once');

  const other = await changedCopyOf(release, folder);
  const { output: differing } = await publish({ given: { ...given, RUNNER_TEMP: other }, statuses: [1] });
  const refusals = differing.match(
    /^error: .* is there already, with other content\. What is released does not change/gm,
  );
  assert.equal(refusals?.length, TO_PUBLISH.length, differing);
  assert.match(differing, /\nNothing was published\.\n$/);
  assert.deepEqual(await registries.holdings(), all);
  say('what is released is not replaced');

  await runner.play('Name the image by its digest', { given });
  // Between releases, the entries have no version yet.
  const changelog = join(workspace, 'CHANGELOG.md');
  writeFileSync(changelog, readFileSync(changelog, 'utf8').replace(/^## Unreleased$/m, `## ${version}`));
  await runner.play('Make the release of GitHub', { given });
  const told = readFileSync(join(folder, 'gh.log'), 'utf8');
  assert.match(told, new RegExp(`^release create v${version.replaceAll('.', '\\.')} .*--verify-tag`, 'm'));
  const [, uploaded] = /^release upload .* --clobber (.*)$/m.exec(told);
  const flat = filesIn(release).filter((file) => !file.includes('/'));
  assert.deepEqual(uploaded.split(' ').toSorted(), [...flat, 'sdk.tar.gz'].map((file) => `assets/${file}`).toSorted());
  await run('tar -xzf assets/sdk.tar.gz -C assets && cd assets && sha256sum --check --quiet SHA256SUMS', {
    cwd: runner.temporary,
    env: process.env,
  });
  assert.match(readFileSync(join(runner.temporary, 'notes.md'), 'utf8'), /^### /m);

  const [, digest] = /^digest=sha256:(\w{64})$/m.exec(readFileSync(join(folder, 'output'), 'utf8'));
  const pulled = join(folder, 'pulled');
  const stranger = newcomer(folder);
  registries.images.allow(stranger.HOME);
  await run(`skopeo copy --quiet --all --preserve-digests docker://${given.IMAGE}:${version} oci:${pulled}`, {
    cwd: folder,
    env: stranger,
  });
  assert.ok(filesIn(pulled).includes(`blobs/sha256/${digest}`));
  say('a stranger pulls the image, both platforms of it');

  const proxy = registries.goProxy();
  const zip = filesIn(proxy).find((file) => file.endsWith('.zip'));
  assert.ok(readFileSync(join(proxy, zip)).equals(readFileSync(join(release, 'sdk/go', zip))));
  say("Go's proxy makes of the tag what was released");

  const sandbox = await startByNpx(version, registries.npm.url, folder);
  try {
    say(`npx answers the first call after ${sandbox.seconds.toFixed(1)} s`);
    assert.match(await sandbox.verify(), /\b0 failed\b/);
    say('npx verifies it');
    const strangers = process.env.PUBLISH_STRANGERS?.split(',') ?? languages;
    const left = languages.filter((language) => !strangers.includes(language));
    if (left.length > 0) say(`no stranger of ${left.join(', ')}: say PUBLISH_STRANGERS=${languages.join()}`);
    for (const language of strangers) {
      await startQuickly(language, { ...registries, proxy }, folder, sandbox.url);
      say(`the quick start for ${language} works`);
    }
  } finally {
    await sandbox.stop();
  }
  // A runner's alone: packages are there, and the check runs this.
  const left = [...steps.keys()].filter((name) => !runner.played.has(name));
  assert.deepEqual(left, ['Run the whole check', 'Install the packages']);
} finally {
  await registries.stop();
  rmSync(folder, { recursive: true, force: true });
}
