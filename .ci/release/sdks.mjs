// The packages of an SDK, as its registry takes them, and a list of what each asks for.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '../../openapi/sdk/settings.mjs';

const matches = (text, pattern) => [...text.matchAll(pattern)].map(([, name, range]) => ({ name, range }));

/** By language: the type of package URL, its name in there, and what `file` asks for. */
const ecosystems = {
  typescript: {
    type: 'npm',
    nameOf: ({ typescript }) => typescript.package,
    file: 'package.json',
    wanted: (text) => Object.entries(JSON.parse(text).dependencies).map(([name, range]) => ({ name, range })),
  },
  python: {
    type: 'pypi',
    nameOf: ({ python }) => python.distribution,
    file: 'pyproject.toml',
    wanted: (text) => matches(/^dependencies = \[(.*)\]$/m.exec(text)[1], /"([\w-]+)([^"]*)"/g),
  },
  go: {
    type: 'golang',
    nameOf: ({ go }) => go.module,
    file: 'go.mod',
    wanted: (text) => matches(text, /^(?:require|\t)\s*(\S+) (v\S+)$/gm),
  },
  java: {
    type: 'maven',
    nameOf: ({ java }) => `${java.groupId}/${java.artifactId}`,
    file: 'pom.xml',
    wanted: (text) =>
      [...text.matchAll(/<dependency>\s*<groupId>(.+)<\/groupId>\s*<artifactId>(.+)<\/artifactId>/g)].map(
        ([, group, artifact]) => ({ name: `${group}/${artifact}`, range: /<jackson\.version>(.+)</.exec(text)[1] }),
      ),
  },
  // Its users bring what it needs.
  types: {
    type: 'npm',
    nameOf: ({ packages }) => packages.types.name,
    file: 'package.json',
    wanted: (text) => Object.entries(JSON.parse(text).peerDependencies).map(([name, range]) => ({ name, range })),
  },
  rust: {
    type: 'cargo',
    nameOf: ({ rust }) => rust.crate,
    file: 'Cargo.toml',
    wanted: (text) =>
      matches(/^\[dependencies\]\n([^]*?)\n\n\[/m.exec(text)[1], /^([\w-]+) = (?:\{ version = )?"([^"]+)"/gm),
  },
};

/** The SBOM: which versions it runs with is decided where it is installed, so that only ranges are known. */
const sbomOf = (language, source) => {
  const { type, nameOf, file, wanted } = ecosystems[language];
  const { license, version, ...settings } = readSettings();
  const name = nameOf(settings);
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'library',
        name,
        version,
        purl: `pkg:${type}/${name}@${version}`,
        licenses: [{ license: { id: license } }],
      },
    },
    components: wanted(readFileSync(join(source, file), 'utf8')).map(({ name: one, range }) => ({
      type: 'library',
      name: one,
      purl: `pkg:${type}/${one}`,
      properties: [{ name: 'content-gateway:range', value: range }],
    })),
  };
};

/** Generates and packs one, or the types, of a copy of the repository. */
export const packSdk = (language, { copy, out, run }) => {
  run(process.execPath, 'openapi/sdk/generate.mjs', '--package', language);
  const build = join(copy, 'build/sdk');
  const folder = join(out, 'sdk', language);
  mkdirSync(folder, { recursive: true });
  cpSync(join(build, 'artifacts', language), folder, { recursive: true });
  writeFileSync(
    join(out, `sdk-${language}.cdx.json`),
    `${JSON.stringify(sbomOf(language, join(build, language)), null, 2)}\n`,
  );
};
