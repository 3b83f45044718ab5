// What the image holds: what runs in production, and what its base says of itself.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { description } from '../production.mjs';
import { productionSbom } from '../sbom.mjs';
import { blobIn, readLayout } from './oci.mjs';

const FILES = ['usr/lib/os-release', 'var/lib/dpkg/status'];

/** By name, the values of lines such as `Name: value` and `NAME="value"`. */
const valuesOf = (text) =>
  Object.fromEntries([...text.matchAll(/^([\w-]+)(?:: |=)"?(.*?)"?$/gm)].map(([, name, value]) => [name, value]));

/** The packages and the release of Debian in a base, if it is made of that. */
const systemOf = (layout, folder) => {
  mkdirSync(folder);
  // The last layer that has a file is the one that counts. Most have none.
  for (const layer of readLayout(layout).manifest.layers) {
    const wanted = FILES.map((file) => `*${file}`);
    spawnSync('tar', [
      '--extract',
      `--file=${blobIn(layout, layer)}`,
      `--directory=${folder}`,
      '--wildcards',
      ...wanted,
    ]);
  }
  const [release, status] = FILES.map((file) => {
    const path = join(folder, file);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  });
  const packages = status
    .split('\n\n')
    .map(valuesOf)
    .filter(({ Status }) => Status === 'install ok installed');
  return { release: valuesOf(release), packages };
};

export const imageSbom = ({ name, digest, base, layouts, work }) => {
  const { metadata, components, dependencies, ...rest } = productionSbom();
  const { version } = description;
  const purl = `pkg:oci/${name.split('/').at(-1)}@${encodeURIComponent(digest)}?repository_url=${name}&tag=${version}`;
  const systems = Object.entries(layouts).map(([architecture, layout]) => ({
    architecture,
    ...systemOf(layout, join(work, `system-${architecture}`)),
  }));
  const [{ release }] = systems;
  const distribution = `${release.ID}-${release.VERSION_ID}`;
  const packages = systems.flatMap((system) =>
    system.packages.map(({ Package, Version, Architecture }) => {
      const reference = `pkg:deb/${release.ID}/${Package}@${encodeURIComponent(Version)}`;
      // Packages for all architectures are those of each platform.
      return {
        type: 'library',
        'bom-ref': `${reference}?arch=${Architecture}&distro=${distribution}`,
        name: Package,
        version: Version,
        purl: `${reference}?arch=${Architecture}&distro=${distribution}`,
      };
    }),
  );
  const [{ config }] = Object.values(layouts).map(readLayout);
  const node = config.config.Env?.map((one) => one.split('=')).find(([variable]) => variable === 'NODE_VERSION')?.[1];
  const below = [
    {
      type: 'container',
      'bom-ref': 'base',
      name: base.name,
      version: base.digest,
      hashes: [{ alg: 'SHA-256', content: base.digest.replace('sha256:', '') }],
    },
    ...(release.ID
      ? [{ type: 'operating-system', 'bom-ref': 'system', name: release.ID, version: release.VERSION_ID }]
      : []),
    ...(node
      ? [{ type: 'platform', 'bom-ref': 'node', name: 'node', version: node, purl: `pkg:generic/node@${node}` }]
      : []),
    ...new Map(packages.map((one) => [one.purl, one])).values(),
  ];
  const references = below.map((one) => one['bom-ref']);
  return {
    ...rest,
    metadata: { ...metadata, component: { type: 'container', 'bom-ref': 'image', name, version, purl } },
    components: [metadata.component, ...below, ...components],
    dependencies: [
      { ref: 'image', dependsOn: [metadata.component['bom-ref'], 'base'] },
      { ref: 'base', dependsOn: references.slice(1) },
      ...dependencies,
    ],
  };
};
