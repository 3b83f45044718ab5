// Where the parts of a release are published, each by the client of its own registry, with that client's own settings. Each part is a
// function that looks at its packages in a release, and at what the registry has. It publishes nothing. It returns, for each
// package, `what` it is, whether it `isThere` already with the same content, and `publish`.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { REPLY_MS, Refusal, areThere, attempt, bytesAt, changed, run, sha256 } from './clients.mjs';
import { filesIn } from './files.mjs';
import { goModule } from './go.mjs';

const root = join(import.meta.dirname, '../..');
/** Set where a workflow of GitHub may ask for a token that proves who it is: registries take it for a password. */
const hasIdentity = Boolean(process.env.ACTIONS_ID_TOKEN_REQUEST_URL);

/** @throws Refusal unless npm will take a package */
const checkPublisher = ({ name, repository, registry, token }, options) => {
  const source = `${process.env.GITHUB_SERVER_URL}/${process.env.GITHUB_REPOSITORY}`;
  const stated = typeof repository === 'string' ? repository : repository?.url;
  if (hasIdentity && !stated?.includes(source)) {
    throw new Refusal(
      `${name} names ${stated ?? 'no repository'}, and npm takes provenance for that of the workflow alone. Write ${source} as ` +
        'repository into package.json and openapi/sdk/settings.json.',
    );
  }
  if (token || !hasIdentity) {
    run('npm', ['whoami'], { ...options, why: `${registry} does not know you. Set NPM_TOKEN, or log in: npm login` });
  } else {
    const why = `${registry} takes a first version of ${name} by a token only. Set NPM_TOKEN.`;
    run('npm', ['view', name, 'name'], { ...options, why });
  }
};

const npmPackage = (file, cwd) => {
  const registry = run('npm', ['config', 'get', 'registry'], { cwd });
  const { name, version, repository } = JSON.parse(run('tar', ['-xzOf', file, 'package/package.json'], { cwd }));
  const what = `${name} ${version} on npm`;
  const token = process.env.NPM_TOKEN;
  const env = token ? { [`npm_config_${registry.replace(/^https?:/, '')}:_authToken`]: token } : {};
  const view = attempt('npm', ['view', `${name}@${version}`, 'dist.integrity', '--json', '--prefer-online'], {
    cwd,
    env,
  });
  if (view.status !== 0 && !view.stdout.includes('"E404"')) {
    throw new Refusal(
      `${registry} does not tell whether it has ${name} ${version}. Is npm_config_registry right?\n${view.stderr}`,
    );
  }
  const there = view.status === 0 && view.stdout ? JSON.parse(view.stdout) : undefined;
  const integrity = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (there && there !== integrity) throw changed(what);
  if (!there) checkPublisher({ name, repository, registry, token }, { cwd, env });
  const provenance = hasIdentity ? ['--provenance'] : [];
  return {
    what,
    isThere: Boolean(there),
    publish: () => run('npm', ['publish', file, '--access', 'public', '--ignore-scripts', ...provenance], { cwd, env }),
  };
};

/** Where twine uploads to, and that it has a name and a password. */
const TWINE_SETTINGS = `
import argparse
from twine.settings import Settings
parser = argparse.ArgumentParser()
Settings.register_argparse_arguments(parser)
settings = Settings.from_argparse(parser.parse_args(["--non-interactive"]))
settings.username, settings.password
print(settings.repository_config["repository"])
`;

const pythonFiles = async (files, cwd) => {
  const tools = run(join(root, 'openapi/sdk/python/tools'), [], { cwd, why: 'The tools for Python cannot be had.' });
  const [, name, version] = /^(\w+)-([\d.]+)-/.exec(
    files.map((file) => basename(file)).find((file) => file.endsWith('.whl')),
  );
  // Its help has the index of the settings, or its default.
  const help = run(join(tools, 'pip'), ['download', '--help'], { cwd, env: { COLUMNS: '1000' } });
  const [, index] = /--index-url <url>.*?\(default (\S+)\)/.exec(help);
  const page = await bytesAt(`${index.replace(/\/$/, '')}/${name.replaceAll(/[-_.]+/g, '-').toLowerCase()}/`, {
    Accept: 'text/html',
  });
  const links = new Map(
    [...(page?.bytes.toString() ?? '').matchAll(/<a\b[^>]*\bhref="([^"]+)"[^>]*>([^<]+)<\/a>/g)].map(
      ([, href, file]) => [file.trim(), new URL(href.replaceAll('&amp;', '&'), page.url)],
    ),
  );
  const plans = [];
  for (const file of files) {
    const link = links.get(basename(file));
    const what = `${basename(file)} on PyPI`;
    const isThere = areThere(what, [[file, link && (await bytesAt(link))?.bytes]]);
    plans.push({
      what,
      isThere,
      publish: () => run(join(tools, 'twine'), ['upload', '--non-interactive', file], { cwd }),
    });
  }
  if (plans.some(({ isThere }) => !isThere)) {
    const upload = run(join(tools, 'python'), ['-c', TWINE_SETTINGS], {
      cwd,
      why: `twine has no password for ${name} ${version}. Set TWINE_USERNAME and TWINE_PASSWORD.`,
    });
    await fetch(upload, { signal: AbortSignal.timeout(REPLY_MS) }).catch((error) => {
      throw new Refusal(
        `${upload} does not answer (${error.cause?.code ?? error.message}). Is TWINE_REPOSITORY_URL right?`,
      );
    });
  }
  return plans;
};

const DEPLOY = 'org.apache.maven.plugins:maven-deploy-plugin:3.1.4:deploy-file';
const MAVEN_ID = 'release';

const mavenArtifact = async (folder, cwd) => {
  const { MAVEN_URL: url, MAVEN_USERNAME: user, MAVEN_PASSWORD: password } = process.env;
  const paths = filesIn(folder).filter((path) => /\.(jar|pom)$/.test(path));
  const [, group, artifact, version] = /^(.+)\/([^/]+)\/([^/]+)\/[^/]+\.pom$/.exec(
    paths.find((path) => path.endsWith('.pom')),
  );
  const what = `${group.replaceAll('/', '.')}:${artifact} ${version} in the Maven repository`;
  if (!url) {
    throw new Refusal(`Maven has no repository to publish to unless told. Set MAVEN_URL, or leave out java by --only.`);
  }
  const local = url.startsWith('file:') ? fileURLToPath(url) : undefined;
  if (local && !existsSync(local))
    throw new Refusal(`${local}, which MAVEN_URL names, is not there. Create or mount it.`);
  const headers = user ? { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` } : {};
  if (!local) await bytesAt(url, headers);
  const pairs = [];
  for (const path of paths) {
    const there = local
      ? existsSync(join(local, path)) && readFileSync(join(local, path))
      : (await bytesAt(`${url.replace(/\/$/, '')}/${path}`, headers))?.bytes;
    pairs.push([join(folder, path), there || undefined]);
  }
  const settings = join(cwd, 'settings.xml');
  writeFileSync(
    settings,
    `<settings><servers><server><id>${MAVEN_ID}</id><username>\${env.MAVEN_USERNAME}</username><password>\${env.MAVEN_PASSWORD}</password></server></servers></settings>\n`,
  );
  const main = paths.find((path) => path.endsWith(`-${version}.jar`));
  const file = (ending) => join(folder, main.replace(/\.jar$/, ending));
  const options = {
    url,
    repositoryId: MAVEN_ID,
    file: file('.jar'),
    pomFile: file('.pom'),
    sources: file('-sources.jar'),
    javadoc: file('-javadoc.jar'),
  };
  const args = Object.entries(options).map(([name, value]) => `-D${name}=${value}`);
  return {
    what,
    isThere: areThere(what, pairs),
    // Beside the settings of the user, which may name mirrors.
    publish: () => run('mvn', ['-q', '-B', '-C', '-Dstyle.color=never', '-gs', settings, DEPLOY, ...args], { cwd }),
  };
};

const rustCrate = (file, cwd) => {
  const [, name, version] = /^(.+)-(\d[^-]*)\.crate$/.exec(basename(file));
  const what = `${name} ${version} on crates.io`;
  const probe = join(cwd, 'probe');
  mkdirSync(join(probe, 'src'), { recursive: true });
  writeFileSync(join(probe, 'Cargo.toml'), '[package]\nname = "probe"\nversion = "0.0.0"\nedition = "2021"\n');
  writeFileSync(join(probe, 'src/lib.rs'), '');
  const { CARGO_REGISTRY_DEFAULT: registry, CARGO_HOME = join(process.env.HOME ?? '', '.cargo') } = process.env;
  const env = { CARGO_TARGET_DIR: join(cwd, 'target'), CARGO_NET_RETRY: '1' };
  const added = attempt('cargo', ['add', `${name}@=${version}`], { cwd: probe, env });
  if (added.status !== 0 && !added.stderr.includes('could not be found in registry index')) {
    throw new Refusal(
      `The registry of crates does not tell whether it has ${name} ${version}. Is CARGO_REGISTRY_DEFAULT right?\n${added.stderr}`,
    );
  }
  if (added.status === 0) {
    run('cargo', ['generate-lockfile'], { cwd: probe, env });
    const [, sum] = new RegExp(`^name = "${name}"\nversion = .+\nsource = .+\nchecksum = "(.+)"$`, 'm').exec(
      readFileSync(join(probe, 'Cargo.lock'), 'utf8'),
    );
    if (sum !== sha256(readFileSync(file))) throw changed(what);
    return { what, isThere: true };
  }
  const token = registry
    ? `CARGO_REGISTRIES_${registry.toUpperCase().replaceAll('-', '_')}_TOKEN`
    : 'CARGO_REGISTRY_TOKEN';
  if (!process.env[token] && !existsSync(join(CARGO_HOME, 'credentials.toml'))) {
    throw new Refusal(`cargo has no token to publish ${name}. Set ${token}, or log in: cargo login`);
  }
  // cargo publishes what it packs itself: this must be what was released.
  run('tar', ['-xzf', file, '-C', cwd], { cwd });
  const source = join(cwd, `${name}-${version}`);
  renameSync(join(source, 'Cargo.toml.orig'), join(source, 'Cargo.toml'));
  run('cargo', ['package', '--quiet', '--no-verify'], { cwd: source, env });
  if (sha256(readFileSync(join(cwd, 'target/package', basename(file)))) !== sha256(readFileSync(file))) {
    throw new Refusal(
      `This cargo packs ${what} otherwise than that of the release. Publish with the cargo that made the release.`,
    );
  }
  return {
    what,
    isThere: false,
    publish: () => run('cargo', ['publish', '--quiet', '--no-verify'], { cwd: source, env }),
  };
};

const image = (file, cwd, version) => {
  const name = process.env.IMAGE;
  if (!name)
    throw new Refusal(
      'The image has no name. Set IMAGE, such as registry.example.com/content-gateway, or leave out image by --only.',
    );
  const [from, to] = [`oci-archive:${file}`, `docker://${name}:${version}`];
  const what = `${name}:${version}`;
  const raw = run('skopeo', ['inspect', '--raw', from], { cwd });
  const there = attempt('skopeo', ['inspect', '--raw', to], { cwd });
  if (there.status !== 0 && !/(manifest|name) unknown/.test(there.stderr)) {
    throw new Refusal(
      `The registry does not tell whether it has ${what}. Is IMAGE right? Else log in: skopeo login\n${there.stderr}`,
    );
  }
  const isThere = there.status === 0;
  if (isThere && there.stdout !== raw) throw changed(what);
  if (!isThere) {
    const host = name.split('/')[0];
    run('skopeo', ['login', '--get-login', host], {
      cwd,
      why: `skopeo has no password for ${host}. Log in: skopeo login ${host}`,
    });
  }
  return {
    what,
    isThere,
    publish: () => run('skopeo', ['copy', '--quiet', '--all', '--preserve-digests', from, to], { cwd }),
  };
};

/**
 * By part, what of it a release would publish: nothing if the release does not have it. Those come first whose clients show only
 * when they publish whether a password is right, so that a wrong one leaves nothing half published.
 */
const parts = {
  rust: ({ files, cwd }) => files(/^sdk\/rust\/.+\.crate$/).map((file) => rustCrate(file, cwd())),
  java: async ({ folder, files, cwd }) =>
    files(/^sdk\/java\/.+\.pom$/).length > 0 ? [await mavenArtifact(join(folder, 'sdk/java'), cwd())] : [],
  python: async ({ files, cwd }) => {
    const found = files(/^sdk\/python\/.+\.(whl|tar\.gz)$/);
    return found.length > 0 ? await pythonFiles(found, cwd()) : [];
  },
  npm: ({ files, cwd }) => files(/^[^/]+-\d[\d.]+\.tgz$/).map((file) => npmPackage(file, cwd())),
  typescript: ({ files, cwd }) => files(/^sdk\/typescript\/.+\.tgz$/).map((file) => npmPackage(file, cwd())),
  types: ({ files, cwd }) => files(/^sdk\/types\/.+\.tgz$/).map((file) => npmPackage(file, cwd())),
  go: ({ folder, files, cwd, time }) =>
    files(/^sdk\/go\/.+\.zip$/).map(() => goModule(join(folder, 'sdk/go'), cwd(), time)),
  image: ({ files, cwd, version }) => files(/^[^/]+\.oci\.tar$/).map((file) => image(file, cwd(), version)),
};

export const published = Object.keys(parts);

/** Looks at what a part of a release would publish. @throws Refusal */
export const lookAt = async (part, { folder, temporary, version, time }) =>
  parts[part]({
    folder,
    version,
    time,
    files: (pattern) =>
      filesIn(folder)
        .filter((path) => pattern.test(path))
        .map((path) => join(folder, path)),
    // Apart from the settings of this repository.
    cwd: () => mkdtempSync(join(temporary, `${part}-`)),
  });
