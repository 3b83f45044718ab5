// The image as an OCI archive, for each platform that its base has, its SBOM, and manifests for Kubernetes that name it by its digest.
// The Dockerfile is built by buildah, which needs no daemon.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parseDocument } from 'yaml';
import { description } from '../production.mjs';
import { imageSbom } from './image-sbom.mjs';
import { LAYER, addImage, archive, blobIn, digestOf, makeLayout, pack, readLayout } from './oci.mjs';

export const IMAGE_COMMANDS = ['buildah', 'skopeo'];

/** Those that are wanted; the first is the one for which older Dockers load the archive. */
const ARCHITECTURES = ['amd64', 'arm64'];
/** Of this machine: what runs to build it. */
const OWN = process.arch === 'x64' ? 'amd64' : process.arch;
/** OCI's, and the health check, which only Docker knows. */
const SETTINGS = 'User ExposedPorts Env Entrypoint Cmd Volumes WorkingDir Labels StopSignal Healthcheck'.split(' ');
const LOCAL = /^(?:oci|oci-archive|docker-archive|dir):/;

const { version, name: service } = description;

const skopeo = (...words) => {
  const { stdout, stderr, status } = spawnSync('skopeo', words, { maxBuffer: 2 ** 26 });
  if (status === 0) return stdout;
  throw new Error(
    String(stderr)
      .trim()
      .split('\n')
      .at(-1)
      .replace(/^time=.* msg=/, ''),
  );
};

/** The name of an image with its registry, as all but Docker's commands want it. */
const canonical = (name) => {
  const [first, ...rest] = name.split('/');
  if (rest.length === 0) return `docker.io/library/${name}`;
  return /[.:]|^localhost$/.test(first) ? name : `docker.io/${name}`;
};

/** What the Dockerfile begins with, unless another one is named. */
const usual = (root) => /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8'))[1];

/** Looks for the base: a reference to a registry, or what Skopeo reads of this machine, such as `oci-archive:FILE`. @throws Error */
export const baseOf = (root, given = usual(root)) => {
  const isLocal = LOCAL.test(given);
  const [named] = given.split('@');
  const repository = canonical(named).replace(/:[^/:]+$/, '');
  const raw = skopeo('inspect', '--raw', isLocal ? given : `docker://${given}`);
  const digest = digestOf(raw);
  const source = isLocal ? given : `docker://${repository}@${digest}`;
  const { manifests } = JSON.parse(raw);
  const platforms = manifests
    ? manifests.map(({ platform }) => platform)
    : [JSON.parse(skopeo('inspect', '--config', source))];
  const has = (architecture) => platforms.some((one) => one?.os === 'linux' && one.architecture === architecture);
  if (!has(OWN)) throw new Error(`it has no linux/${OWN}, which this machine builds with`);
  return {
    name: isLocal ? basename(given.replace(LOCAL, '')) : canonical(named),
    digest,
    source,
    architectures: ARCHITECTURES.filter(has),
    lacking: ARCHITECTURES.filter((one) => !has(one)),
  };
};

const pick = (object, names) =>
  Object.fromEntries(names.flatMap((name) => (object[name] ? [[name, object[name]]] : [])));

/** Builds the image for each platform. @returns the folders of what buildah pushed, by architecture */
const build = ({ base, checkOut, copy, work, commit, seconds }) => {
  const context = join(work, 'context');
  checkOut(context);
  // The packages that the service serves, if this release has them.
  const sdks = join(copy, 'build/sdk/artifacts');
  if (existsSync(sdks)) cpSync(sdks, join(context, 'build/sdk/artifacts'), { recursive: true });
  const storage = ['--root', join(work, 'storage'), '--runroot', join(work, 'run')];
  // There, since the path of a base becomes a name, which must be in lower case.
  const options = { cwd: work, stdio: ['ignore', process.stderr, process.stderr] };
  const buildah = (...words) => execFileSync('buildah', [...storage, ...words], options);
  const npmrc = execFileSync('npm', ['config', 'get', 'userconfig'], { encoding: 'utf8' }).trim();
  const secret = existsSync(npmrc) ? [`--secret=id=npmrc,src=${npmrc}`] : [];
  const same = ['--layers', '--format=docker', '--identity-label=false', `--timestamp=${seconds}`, '--target=gateway'];
  const labels = [
    `--label=org.opencontainers.image.base.name=${base.name}`,
    `--label=org.opencontainers.image.base.digest=${base.digest}`,
  ];
  const settings = { VERSION: version, REVISION: commit, BUILD_IMAGE: `oci:base-${OWN}` };
  try {
    return Object.fromEntries(
      base.architectures.map((architecture) => {
        const id = join(work, `id-${architecture}`);
        const platform = `linux/${architecture}`;
        // Older versions of buildah don't know the platforms by themselves.
        const platforms = { BUILDPLATFORM: `linux/${OWN}`, TARGETPLATFORM: platform };
        const all = Object.entries({ ...settings, ...platforms, NODE_IMAGE: `oci:base-${architecture}` });
        const given = all.map(([name, value]) => `--build-arg=${name}=${value}`);
        const target = [`--platform=${platform}`, `--iidfile=${id}`];
        buildah('build', '--quiet', '--isolation=chroot', ...same, ...labels, ...secret, ...given, ...target, context);
        const folder = join(work, `built-${architecture}`);
        buildah('push', '--quiet', readFileSync(id, 'utf8'), `dir:${folder}`);
        return [architecture, folder];
      }),
    );
  } finally {
    // Where this is not root, only buildah may remove them.
    buildah('rm', '--all');
    buildah('rmi', '--all', '--force');
  }
};

/** What was built on a base, with the layers of that as they are. */
const imageOf = (layout, folder) => {
  const base = readLayout(layout);
  const { config: described, layers } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  const read = (digest) => join(folder, digest.replace('sha256:', ''));
  const config = JSON.parse(readFileSync(read(described.digest), 'utf8'));
  const below = base.config.rootfs.diff_ids;
  if (below.some((id, index) => id !== config.rootfs.diff_ids[index])) throw new Error('buildah took another base');
  return {
    config: {
      ...pick({ ...config, ...pick(base.config, ['variant']) }, ['created', 'architecture', 'variant', 'os']),
      config: pick(config.config, SETTINGS),
      rootfs: config.rootfs,
      // Comments name images that were made in between, whose names differ each time.
      history: config.history.map((step) => pick(step, ['created', 'created_by', 'empty_layer'])),
    },
    layers: [
      ...base.manifest.layers.map((layer) => ({ ...layer, file: blobIn(layout, layer) })),
      ...layers.slice(below.length).map((layer) => ({ ...layer, mediaType: LAYER, file: read(layer.digest) })),
    ],
  };
};

/** Writes the manifests, whose kustomization names the image by its digest. */
const writeKubernetes = ({ context, file, name, digest, seconds }) => {
  const folder = join(context, 'deploy');
  const kustomization = join(folder, 'kubernetes/kustomization.yaml');
  const document = parseDocument(readFileSync(kustomization, 'utf8'));
  const { images } = document.toJS();
  document.setIn(
    ['images'],
    document.createNode(
      images.map((image) => {
        const renamed = name === service ? {} : { newName: image.name.replace(service, name) };
        if (image.name !== service) return { ...image, ...renamed };
        return { name: service, ...renamed, digest };
      }),
    ),
  );
  writeFileSync(kustomization, document.toString({ lineWidth: 0 }));
  const tar = `${kustomization}.tar`;
  pack(tar, {
    folder,
    names: readdirSync(join(folder, 'kubernetes'))
      .toSorted()
      .map((one) => `kubernetes/${one}`),
    seconds,
  });
  writeFileSync(file, gzipSync(readFileSync(tar)));
};

/** @returns what `release.json` says of it */
export const packImage = (given) => {
  const { base, imageName: name = service, out, temporary, seconds } = given;
  const work = join(temporary, 'image');
  const layouts = Object.fromEntries(base.architectures.map((one) => [one, join(work, `base-${one}`)]));
  mkdirSync(work);
  for (const [architecture, layout] of Object.entries(layouts)) {
    const which = ['--override-os=linux', `--override-arch=${architecture}`];
    skopeo('copy', '--quiet', ...which, base.source, `oci:${layout}:base`);
  }
  const built = build({ ...given, work });
  const layout = join(work, 'layout');
  makeLayout(layout);
  const images = Object.entries(built).map(([one, folder]) => addImage(layout, imageOf(layouts[one], folder)));
  const start = join(out, `${service}-${version}`);
  const digest = archive(layout, images, { name: canonical(name), version, seconds, file: `${start}.oci.tar` });
  const sbom = imageSbom({ name: canonical(name), digest, base, layouts, work });
  writeFileSync(`${start}.oci.cdx.json`, `${JSON.stringify(sbom, null, 2)}\n`);
  writeKubernetes({ context: join(work, 'context'), file: `${start}-kubernetes.tgz`, name, digest, seconds });
  const platforms = base.architectures.map((one) => `linux/${one}`);
  for (const one of base.lacking) {
    console.error(`!!! The image is for ${platforms.join(', ')} ALONE: ${base.name} is not there for linux/${one}.`);
  }
  const builder = execFileSync('buildah', ['--version'], { encoding: 'utf8' }).trim();
  return { image: { name: canonical(name), digest, platforms, base: pick(base, ['name', 'digest']), builder } };
};
