// How each package is installed: the one description that READMEs, guides, `/sdks/` and `doctor` derive their lines from.

/** In a line for a package that is published: where the address of its registry goes. */
const REGISTRY = '{registry}';

/** The path of a module as a proxy of Go has it: capitals become `!` and the small letter. */
const escapedModule = (module) => module.replaceAll(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`);

/** The path of a crate in a sparse index. */
const indexPath = (crate) => {
  if (crate.length < 3) return `${crate.length}/${crate}`;
  return crate.length === 3 ? `3/${crate[0]}/${crate}` : `${crate.slice(0, 2)}/${crate.slice(2, 4)}/${crate}`;
};

const npmFile = (name, version) => `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;

const npmPackage = (folder, name, version) => ({
  name,
  file: `${folder}/${npmFile(name, version)}`,
  served: (address) => `npm install "${address}/sdks/${folder}/${npmFile(name, version)}"`,
  published: `npm install ${name}@${version} --registry ${REGISTRY}`,
  registry: 'https://registry.npmjs.org',
  probe: `/${name.replace('/', '%2f')}/${version}`,
  digest: 'sha512-base64',
});

const repositories = (url) => `<repositories><repository><id>gateway</id><url>${url}</url></repository></repositories>`;

/**
 * By language, and for `types`, the contract as types: the `name` and `version` of the package, its `file` below `/sdks/`, the line
 * that installs it from there (`served`), the line for a registry (`published`), the public `registry`, and how that tells whether it
 * has the package: it answers at `probe`, with `has`, and with the `digest` of the file.
 */
export const installOf = ({ environment, product, version, typescript, python, go, java, rust }) => {
  const wheel = `${python.distribution.replaceAll(/[-_.]+/g, '_').toLowerCase()}-${version}-py3-none-any.whl`;
  const module = escapedModule(go.module);
  const artifact = `${java.groupId.replaceAll('.', '/')}/${java.artifactId}/${version}/${java.artifactId}-${version}`;
  const config = String.raw`mkdir -p .cargo && printf '[registries.gateway]\nindex = "sparse+${REGISTRY}/"\n' >.cargo/config.toml`;
  const packages = {
    typescript: npmPackage('typescript', typescript.package, version),
    python: {
      name: python.distribution,
      file: `python/${wheel}`,
      // By its address: an index may have another package of this name.
      served: (address) => `.venv/bin/pip install "${address}/sdks/python/${wheel}"`,
      published: `.venv/bin/pip install ${python.distribution}==${version} --index-url ${REGISTRY}/`,
      registry: 'https://pypi.org/simple',
      probe: `/${python.distribution.replaceAll(/[-_.]+/g, '-').toLowerCase()}/`,
      has: wheel,
      digest: 'sha256-hex',
    },
    go: {
      name: go.module,
      file: `go/${module}/@v/v${version}.zip`,
      served: (address) => `GOPROXY="${address}/sdks/go" GONOSUMDB=${go.module} go get ${go.module}@v${version}`,
      published: `GOPROXY=${REGISTRY} go get ${go.module}@v${version}`,
      registry: 'https://proxy.golang.org',
      probe: `/${module}/@v/v${version}.info`,
    },
    java: {
      name: `${java.groupId}:${java.artifactId}`,
      file: `java/${artifact}.jar`,
      served: (address) => repositories(`${address}/sdks/java`),
      published: repositories(REGISTRY),
      registry: 'https://repo.maven.apache.org/maven2',
      probe: `/${artifact}.jar.sha1`,
      digest: 'sha1-hex',
    },
    rust: {
      name: rust.crate,
      file: `rust/${rust.crate}-${version}.crate`,
      served: (address) =>
        `curl -fsS "${address}/sdks/rust/${rust.crate}-${version}.crate" | tar -xzf - && cargo add --path ${rust.crate}-${version}`,
      published: `${config} && cargo add ${rust.crate}@${version} --registry gateway`,
      registry: 'https://index.crates.io',
      probe: `/${indexPath(rust.crate)}`,
      has: `"vers":"${version}"`,
      digest: 'sha256-hex',
    },
    types: npmPackage('types', `${product}-types`, version),
  };
  return Object.fromEntries(
    Object.entries(packages).map(([language, { served, ...rest }]) => [
      language,
      { version, ...rest, served: served(`$${environment}_URL`) },
    ]),
  );
};
