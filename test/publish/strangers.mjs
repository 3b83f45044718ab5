// What others do with what was published: with an empty home, they install it from the registries on loopback alone, and follow the
// quick starts of the READMEs, with the lines for published packages.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSettings } from '../../openapi/sdk/settings.mjs';
import { followQuickStart } from '../clients/sdk/quick-start.mjs';
import { postCall } from '../harness/http/post.mjs';
import { KEY } from '../recipes/support/sandbox.mjs';
import { run, serve } from '../recipes/support/shell.mjs';

const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
const { packages } = readSettings();
/** How a machine reaches what it reaches; all else of the environment stays away. */
const OF_MACHINE =
  /^(PATH|LANG|LC_ALL|PYENV_ROOT|.*_CERTS?|.*_CA_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|PIP_CERT|.*_PROXY|.*_proxy)$/;

/** The environment of somebody new. What Go has compiled is kept: it knows it by its content. */
export const newcomer = (folder) => {
  const home = mkdtempSync(join(folder, 'home-'));
  const toolchains = process.env.RUSTUP_HOME ?? join(homedir(), '.rustup');
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => OF_MACHINE.test(name))),
    HOME: home,
    ...(existsSync(toolchains) && { RUSTUP_HOME: toolchains }),
    GOCACHE: join(cache, 'go-build'),
  };
};

/** cargo compiles everything again if it lies elsewhere, so others' crates stay where they are; what was published is forgotten. */
const cargoHome = () => {
  const home = join(cache, 'content-gateway/publish-rust/home');
  for (const kind of ['index', 'cache', 'src']) {
    const folder = join(home, 'registry', kind);
    const ours = existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith('127.0.0.1')) : [];
    for (const name of ours) rmSync(join(folder, name), { recursive: true });
  }
  return { CARGO_HOME: home, CARGO_TARGET_DIR: join(cache, 'content-gateway/publish-rust/target') };
};

/** By language, the registry on loopback, and what else its client needs. */
const clients = {
  typescript: ({ npm }) => ({ registry: npm.url }),
  python: ({ python }) => ({ registry: python.index }),
  go: ({ proxy }) => ({ registry: `file://${proxy}`, env: { GOSUMDB: 'off', GOFLAGS: '-modcacherw' } }),
  java: ({ maven }, { HOME }) => {
    const repository = (id, folder, policy) =>
      `<id>${id}</id><url>file://${folder}</url><releases><checksumPolicy>${policy}</checksumPolicy></releases>`;
    // The plugins that this machine has need not be fetched.
    const known = repository('known', join(homedir(), '.m2/repository'), 'ignore');
    mkdirSync(join(HOME, '.m2'));
    writeFileSync(
      join(HOME, '.m2/settings.xml'),
      `<settings><profiles><profile><id>all</id>
      <repositories><repository>${known}</repository></repositories>
      <pluginRepositories><pluginRepository>${known}</pluginRepository></pluginRepositories>
      </profile></profiles><activeProfiles><activeProfile>all</activeProfile></activeProfiles></settings>\n`,
    );
    return { registry: `file://${maven}`, env: { MAVEN_OPTS: `-XX:TieredStopAtLevel=1 -Duser.home=${HOME}` } };
  },
  rust: ({ crates }) => ({
    registry: crates.index.replace('sparse+', ''),
    env: { CARGO_PROFILE_DEV_DEBUG: 'false', ...cargoHome() },
  }),
};
export const languages = Object.keys(clients);

/** Follows the quick start of an SDK against a gateway. @throws Error if its last line is another one */
export const startQuickly = async (language, registries, folder, url) => {
  const stranger = newcomer(folder);
  const { env = {}, registry } = clients[language](registries, stranger);
  const cwd = mkdtempSync(join(folder, `${language}-`));
  const options = { cwd, env: { ...stranger, ...env, CONTENT_GATEWAY_URL: url, CONTENT_GATEWAY_API_KEY: KEY } };
  const readme = fileURLToPath(new URL(`../../openapi/sdk/${language}/README.md`, import.meta.url));
  const { served, published } = packages[language];
  const line = published.replace('{registry}', registry.replace(/\/+$/, ''));
  await followQuickStart(readme, cwd, async (commands) => (await run(commands.replace(served, line), options)).output);
};

/** Starts a sandbox by npx. Returns its `url`, `seconds` until it answered, `verify`, which holds it against the contract, and `stop`. */
export const startByNpx = async (version, registry, folder) => {
  const cwd = mkdtempSync(join(folder, 'npx-'));
  const env = { ...newcomer(folder), HOST: '127.0.0.1', PORT: '0' };
  const npx = `npx --yes --registry ${registry} content-gateway@${version}`;
  const began = performance.now();
  const { found: url, stop } = await serve(`exec ${npx} serve --sandbox`, /^ *Docs: +(http\S+)\/docs\/$/m, {
    cwd,
    env,
  });
  const reply = await postCall(url, 'game.list', { limit: 10, page: 1 });
  if (reply.status !== 200) throw new Error(`game.list answered ${reply.status}`);
  return {
    url,
    stop,
    seconds: (performance.now() - began) / 1000,
    verify: async () => (await run(`${npx} verify ${url}`, { cwd, env: { ...env, GATEWAY_KEY: KEY } })).output,
  };
};
