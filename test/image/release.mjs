// The image that a release has, made of the last commit in clones of the repository, on a stand-in for its base.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { IMAGE_COMMANDS } from '../../.ci/release/image.mjs';
import { LAYER, addImage, archive, blobIn, digestOf, makeLayout, pack } from '../../.ci/release/oci.mjs';
import { lackingCommands } from '../../openapi/sdk/languages.mjs';
import { cloneTo } from '../recipes/support/clone.mjs';
import { Lacking } from '../recipes/support/lacking.mjs';
import { npmrc } from './npmrc.mjs';

const execute = promisify(execFile);

/** Another system, as far as it is looked at: nothing of it runs while the image is built. */
const OTHER = {
  'usr/lib/os-release': 'ID=debian\nVERSION_ID="13"\n',
  'var/lib/dpkg/status': 'Package: of-the-other\nStatus: install ok installed\nArchitecture: arm64\nVersion: 1:2-3\n',
};

/** Adds an image of one layer to a folder. */
const addSystem = (layout, work, architecture, tar) => {
  const uncompressed = readFileSync(tar);
  const file = join(work, `${architecture}.tar.gz`);
  const bytes = gzipSync(uncompressed, { level: 1 });
  writeFileSync(file, bytes);
  const config = {
    architecture,
    os: 'linux',
    config: { Env: ['PATH=/usr/local/bin:/usr/bin:/bin', 'NODE_VERSION=24.21.0'], Cmd: ['node'] },
    rootfs: { type: 'layers', diff_ids: [digestOf(uncompressed)] },
    history: [{ created: new Date(0).toISOString(), created_by: architecture }],
  };
  return addImage(layout, {
    config,
    layers: [{ file, mediaType: LAYER, digest: digestOf(bytes), size: bytes.length }],
  });
};

/** The path of an image for two platforms, of which only this machine's is whole. */
export const baseArchive = (folder, tar) => {
  const file = tar.replace(/\.tar$/, '.oci.tar');
  if (existsSync(file)) return file;
  const work = mkdtempSync(join(folder, 'oci.'));
  try {
    const layout = join(work, 'layout');
    makeLayout(layout);
    for (const [path, text] of Object.entries(OTHER)) {
      mkdirSync(join(work, 'other', path, '..'), { recursive: true });
      writeFileSync(join(work, 'other', path), text);
    }
    const other = join(work, 'other.tar');
    pack(other, { folder: join(work, 'other'), names: ['usr', 'var'], seconds: 0 });
    const systems = { amd64: other, arm64: other, [process.arch === 'x64' ? 'amd64' : process.arch]: tar };
    const images = Object.entries(systems).map(([architecture, one]) => addSystem(layout, work, architecture, one));
    const made = join(work, 'base.oci.tar');
    archive(layout, images, { name: 'docker.io/library/stand-in', version: '1', seconds: 0, file: made });
    renameSync(made, file);
    return file;
  } finally {
    rmSync(work, { recursive: true });
  }
};

/** Makes a release in a clone of this name. @returns its folder @throws Lacking */
export const makeRelease = async ({ root, work, archive: base }, name, image = 'registry.example/content-gateway') => {
  const lacking = lackingCommands({ needs: IMAGE_COMMANDS });
  if (lacking.length > 0) throw new Lacking(`this machine lacks ${lacking.join(', ')}`);
  const clone = join(work, name);
  cloneTo(root, clone);
  const secret = join(work, `npmrc-${name}`);
  writeFileSync(secret, npmrc(), { mode: 0o600 });
  const out = join(work, `release-${name}`);
  const args = ['.ci/release/run.mjs', '--out', out, '--only', 'image', '--base', `oci-archive:${base}`];
  await execute('node', [...args, '--image-name', image], {
    cwd: clone,
    env: { ...process.env, NPM_CONFIG_USERCONFIG: secret },
    maxBuffer: 2 ** 26,
  });
  return out;
};

/** The images of an archive by architecture, `manifest` and `config`, and what the archive names them all by. */
const unpack = (file, folder) => {
  mkdirSync(folder);
  execFileSync('tar', ['--extract', `--directory=${folder}`, `--file=${file}`]);
  const blob = (described) => JSON.parse(readFileSync(blobIn(folder, described), 'utf8'));
  const [named] = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')).manifests;
  const images = blob(named).manifests.map(({ platform, ...described }) => {
    const manifest = blob(described);
    return [platform.architecture, { manifest, config: blob(manifest.config) }];
  });
  return { digest: named.digest, ...Object.fromEntries(images) };
};

/** Looks at what is in the release and, with `IMAGE_RELEASES=2`, makes it again. */
export const release = async (given) => {
  const { release: folder, work, root, archive: base, version } = given;
  const read = (name) => readFileSync(join(folder, name), 'utf8');
  const isMadeAgain = process.env.IMAGE_RELEASES === '2';
  if (isMadeAgain) {
    // Of the same commit, even if there is another one meanwhile.
    const again = await makeRelease({ ...given, root: join(work, 'one') }, 'another-name');
    for (const name of ['SHA256SUMS', 'release.json']) {
      assert.equal(readFileSync(join(again, name), 'utf8'), read(name), `two releases of one commit differ: ${name}`);
    }
  }
  const file = join(folder, `content-gateway-${version}.oci.tar`);
  const { digest, ...images } = unpack(file, join(work, 'unpacked'));
  const { digest: baseDigest, ...bases } = unpack(base, join(work, 'unpacked-base'));
  const { image } = JSON.parse(read('release.json'));
  assert.equal(image.digest, digest);
  assert.deepEqual(image.platforms, ['linux/amd64', 'linux/arm64']);
  assert.equal(image.base.digest, baseDigest);
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  const [own, other] = ['amd64', 'arm64'].map((architecture) => {
    const { manifest, config } = images[architecture];
    assert.equal(config.architecture, architecture);
    assert.equal(config.config.Labels['org.opencontainers.image.base.digest'], baseDigest);
    assert.equal(config.config.Labels['org.opencontainers.image.revision'], commit);
    const [below, ...above] = manifest.layers.map((layer) => layer.digest);
    assert.equal(below, bases[architecture].manifest.layers[0].digest, `the base for ${architecture}`);
    return above;
  });
  assert.deepEqual(other, own, 'what is above the base is the same for all');
  const { components } = JSON.parse(read(`content-gateway-${version}.oci.cdx.json`));
  const listed = new Set(components.map(({ purl }) => purl));
  assert.ok(listed.has('pkg:deb/debian/of-the-other@1%3A2-3?arch=arm64&distro=debian-13'), 'the packages of each base');
  for (const name of ['pkg:deb/debian/bash@', 'pkg:npm/express@', 'pkg:generic/node@24']) {
    assert.ok(
      [...listed].some((purl) => purl?.startsWith(name)),
      name,
    );
  }
  const refused = makeRelease({ ...given, archive: '/nowhere.tar' }, 'refused');
  await assert.rejects(refused, /The base of the image cannot be had: .*\nName another one, .*\nNothing was written\./);
  assert.ok(!existsSync(join(work, 'release-refused')), 'what was refused was written');
  const megabytes = images.amd64.manifest.layers.map(({ size }) => (size / 1e6).toFixed(1));
  return `${isMadeAgain ? 'the same when made again' : 'made once'}; its layers have ${megabytes.join(', ')} MB`;
};
