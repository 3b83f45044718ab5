// The registries on loopback, empty: verdaccio, pypiserver and docker-registry, a folder for Maven, a repository of git, of which
// Go's proxy makes its folder, and a registry of crates.
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { filesIn } from '../../.ci/release/files.mjs';
import { readSettings } from '../../openapi/sdk/settings.mjs';
import { freePorts } from '../harness/free-ports.mjs';
import { serve } from '../recipes/support/shell.mjs';
import { need, npmPackages, pythonWith } from '../recipes/support/tools.mjs';
import { startCrates } from './crates.mjs';

const run = promisify(execFile);
const tools = fileURLToPath(new URL('tools/', import.meta.url));
const settings = readSettings();
const PACKAGES = ['content-gateway', settings.typescript.package, settings.packages.types.name];
export const PUBLISHER = { name: 'publisher', password: 'password-of-a-publisher' };

const verdaccioProgram = async () => join(await npmPackages('publish-npm', tools), '.bin/verdaccio');

const pypiserverPython = () =>
  pythonWith('publish-python', join(tools, 'requirements.txt'), '--no-deps', '--require-hashes');

const configured = async (name) => (await run('npm', ['config', 'get', name])).stdout.trim();

/** What is not ours comes from where this machine gets it. */
const startNpm = async (folder, port) => {
  const config = {
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'htpasswd') } },
    uplinks: { upstream: { url: await configured('registry') } },
    packages: {
      ...Object.fromEntries(PACKAGES.map((name) => [name, { access: '$all', publish: '$authenticated' }])),
      '**': { access: '$all', proxy: 'upstream' },
    },
    log: { type: 'stdout', format: 'pretty', level: 'warn' },
  };
  const cafile = await configured('cafile');
  const env = cafile === 'null' ? process.env : { ...process.env, NODE_EXTRA_CA_CERTS: cafile };
  // JSON is YAML.
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config));
  const lines = `exec "${await verdaccioProgram()}" --config config.yaml --listen 127.0.0.1:${port}`;
  const { found, stop } = await serve(lines, /http address.*?(http:\/\/127\.0\.0\.1:\d+)/, {
    cwd: folder,
    env,
  });
  const id = `org.couchdb.user:${PUBLISHER.name}`;
  const user = { ...PUBLISHER, _id: id, type: 'user', roles: [] };
  const reply = await fetch(`${found}/-/user/${id}`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(user),
  });
  const { token } = await reply.json();
  const versionsOf = async (name) => Object.keys((await (await fetch(`${found}/${name}`)).json()).versions ?? {});
  return {
    url: `${found}/`,
    token,
    stop,
    holds: async () =>
      (await Promise.all(PACKAGES.map(versionsOf))).flatMap((versions, at) => versions.map((v) => PACKAGES[at] + v)),
  };
};

const startPython = async (folder, port) => {
  const packages = join(folder, 'packages');
  mkdirSync(packages);
  const { stdout: help } = await run('python3', ['-m', 'pip', 'download', '--help'], {
    env: { ...process.env, COLUMNS: '1000' },
  });
  const [, upstream] = /--index-url <url>.*?\(default (\S+)\)/.exec(help);
  const options = `-i 127.0.0.1 -p ${port} -P . -a . --fallback-url ${upstream} -v`;
  const lines = `exec "${await pypiserverPython()}" -m pypiserver run ${options} packages`;
  const { stop } = await serve(lines, /(Listening on|serving)/i, { cwd: folder, env: process.env });
  const url = `http://127.0.0.1:${port}/`;
  return { url, index: `${url}simple/`, stop, holds: () => filesIn(packages) };
};

const startImages = async (folder, port) => {
  const config = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: join(folder, 'images') } },
    http: { addr: `127.0.0.1:${port}` },
  };
  writeFileSync(join(folder, 'config.yml'), JSON.stringify(config));
  const { stop } = await serve('exec docker-registry serve config.yml', /(listening on)/, {
    cwd: folder,
    env: process.env,
  });
  const host = `127.0.0.1:${port}`;
  return {
    name: `${host}/example/content-gateway`,
    stop,
    // skopeo has no variable for it.
    allow: (home) => {
      mkdirSync(join(home, '.config/containers'), { recursive: true });
      writeFileSync(
        join(home, '.config/containers/registries.conf'),
        `[[registry]]\nlocation = "${host}"\ninsecure = true\n`,
      );
    },
    holds: async () => (await (await fetch(`http://${host}/v2/example/content-gateway/tags/list`)).json()).tags ?? [],
  };
};

/** The folder that Go's proxy makes of a repository: what it serves of each tag. */
const proxyOf = (repository, folder) => {
  const proxy = join(folder, 'proxy');
  const tags = execFileSync('git', ['-C', repository, 'tag', '--list'], { encoding: 'utf8' }).trim().split('\n');
  for (const tag of tags) {
    const checkout = join(folder, tag);
    mkdirSync(checkout);
    execFileSync('tar', ['-x', '-C', checkout], { input: execFileSync('git', ['-C', repository, 'archive', tag]) });
    const cwd = fileURLToPath(new URL('../../openapi/sdk/go', import.meta.url));
    execFileSync('go', ['run', './pack', checkout, settings.go.module, tag, proxy], { cwd });
  }
  return proxy;
};

/**
 * Starts them.
 *
 * @param folder for what they keep
 * @returns `env`, by which a publisher's clients know them; `holdings`, what each has, by the part of a release; `npm`, `python`,
 *   `maven`, `images` and `crates`, with their addresses; `goProxy`, which makes the folder of a proxy of Go; and `stop`
 * @throws Lacking
 */
export const startRegistries = async (folder) => {
  for (const command of ['docker-registry', 'skopeo', 'buildah', 'go', 'cargo', 'mvn', 'python3']) await need(command);
  const place = (name) => {
    mkdirSync(join(folder, name), { recursive: true });
    return join(folder, name);
  };
  const [npmPort, pythonPort, imagePort] = await freePorts(3);
  const npm = await startNpm(place('npm'), npmPort);
  const python = await startPython(place('python'), pythonPort);
  const images = await startImages(place('image'), imagePort);
  const crates = await startCrates();
  const maven = place('maven');
  const repository = join(place('go'), 'repository.git');
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', repository]);

  const digestOf = (file) => `${file} ${createHash('sha256').update(readFileSync(file)).digest('hex')}`;
  const holdings = async () => ({
    npm: await npm.holds(),
    python: python.holds(),
    go: execFileSync('git', ['-C', repository, 'for-each-ref'], { encoding: 'utf8' }).split('\n').filter(Boolean),
    java: filesIn(maven).map((file) => digestOf(join(maven, file))),
    rust: [...crates.crates.keys()],
    image: await images.holds(),
  });
  return {
    npm,
    python,
    maven,
    images,
    crates,
    holdings,
    goProxy: () => proxyOf(repository, place('go')),
    env: {
      npm_config_registry: npm.url,
      npm_config_fetch_retries: '0',
      NPM_TOKEN: npm.token,
      PIP_INDEX_URL: python.index,
      TWINE_REPOSITORY_URL: python.url,
      TWINE_USERNAME: PUBLISHER.name,
      TWINE_PASSWORD: PUBLISHER.password,
      MAVEN_URL: `file://${maven}`,
      GO_REPOSITORY: repository,
      CARGO_REGISTRY_DEFAULT: 'loopback',
      CARGO_REGISTRIES_LOOPBACK_INDEX: crates.index,
      CARGO_REGISTRIES_LOOPBACK_TOKEN: crates.token,
      IMAGE: images.name,
      IMAGE_USERNAME: PUBLISHER.name,
      IMAGE_PASSWORD: PUBLISHER.password,
    },
    stop: async () => {
      for (const one of [npm, python, images, crates]) await one.stop();
    },
  };
};
