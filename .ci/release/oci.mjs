// Images as the OCI lays them out in folders, and the file of one that Docker, Podman and Skopeo take.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TYPE = 'application/vnd.oci.image';
const MANIFEST = `${TYPE}.manifest.v1+json`;
const INDEX = `${TYPE}.index.v1+json`;
export const LAYER = `${TYPE}.layer.v1.tar+gzip`;

export const digestOf = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const pathOf = (digest) => join('blobs', digest.replace(':', '/'));

/** The path of a blob. */
export const blobIn = (layout, { digest }) => join(layout, pathOf(digest));

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** The manifest and the configuration of a folder with one image. */
export const readLayout = (layout) => {
  const [described] = readJson(join(layout, 'index.json')).manifests;
  const manifest = readJson(blobIn(layout, described));
  return { manifest, config: readJson(blobIn(layout, manifest.config)) };
};

/** Starts a folder. */
export const makeLayout = (layout) => {
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true });
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
};

const addJson = (layout, mediaType, value) => {
  const bytes = Buffer.from(JSON.stringify(value));
  const described = { mediaType, digest: digestOf(bytes), size: bytes.length };
  writeFileSync(blobIn(layout, described), bytes);
  return described;
};

/** Adds an image, whose layers are `{ file, mediaType, digest, size }`. @returns its manifest, and what describes that in an index */
export const addImage = (layout, { config, layers }) => {
  const { os, architecture } = config;
  for (const layer of layers) copyFileSync(layer.file, blobIn(layout, layer));
  const manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: addJson(layout, `${TYPE}.config.v1+json`, config),
    layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
  };
  return { manifest, described: { ...addJson(layout, MANIFEST, manifest), platform: { os, architecture } } };
};

/** Names all images of a folder as one, and makes a file of it. @returns the digest */
export const archive = (layout, images, { name, version, seconds, file }) => {
  const { digest, ...rest } = addJson(layout, INDEX, {
    schemaVersion: 2,
    mediaType: INDEX,
    manifests: images.map(({ described }) => described),
  });
  const annotations = {
    // The first is containerd's, and Podman's.
    'io.containerd.image.name': `${name}:${version}`,
    'org.opencontainers.image.ref.name': version,
  };
  const index = { schemaVersion: 2, mediaType: INDEX, manifests: [{ digest, ...rest, annotations }] };
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index));
  // What `docker load` reads where images are not kept by containerd: it takes one platform.
  const [{ manifest }] = images;
  const loaded = {
    Config: pathOf(manifest.config.digest),
    RepoTags: [`${name}:${version}`],
    Layers: manifest.layers.map((layer) => pathOf(layer.digest)),
  };
  writeFileSync(join(layout, 'manifest.json'), JSON.stringify([loaded]));
  pack(file, { folder: layout, names: ['oci-layout', 'index.json', 'manifest.json', 'blobs'], seconds });
  return digest;
};

/** Makes a tar file that says nothing of this machine. */
export const pack = (file, { folder, names, seconds }) => {
  const same = ['--sort=name', '--format=gnu', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];
  execFileSync('tar', [
    '--create',
    ...same,
    `--mtime=@${seconds}`,
    `--file=${file}`,
    `--directory=${folder}`,
    ...names,
  ]);
};
