/**
 * @engines sqlite
 * @tier long
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { blocksOf } from '../harness/documents/guide.ts';
import { type ServeProcess, startSandbox } from '../harness/app/program.ts';
import { packages } from '../../src/base/packages.ts';

// Each line that installs a package of ours, run as printed against a fresh gateway, by a user with empty caches.

const MINUTES = 60_000;
/** The first run generates the SDKs. */
const MAKING_MS = 30 * MINUTES;
const INSTALLING_MS = 15 * MINUTES;
const run = promisify(execFile);
const root = resolve('.');
const TYPES = 'content-gateway-types';
/** How this machine reaches registries; all other variables stay away. */
const OF_MACHINE =
  /^(PATH|LANG|LC_ALL|PYENV_ROOT|.*_CERTS?|.*_CA_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|.*_PROXY|.*_proxy)$/;

let folder: string;
let gateway: ServeProcess;
let archive: string;

/** Runs lines in an empty folder, as a user with an empty home. Returns the folder. */
const install = async (lines: string, more: Record<string, string> = {}): Promise<string> => {
  const home = await mkdtemp(join(folder, 'home-'));
  const cwd = await mkdtemp(join(folder, 'work-'));
  const ofMachine = Object.entries(process.env).filter(([name]) => OF_MACHINE.test(name));
  const env = {
    ...Object.fromEntries(ofMachine),
    HOME: home,
    MAVEN_OPTS: `-Duser.home=${home}`,
    GOFLAGS: '-modcacherw',
    RUSTUP_HOME: process.env['RUSTUP_HOME'] ?? join(homedir(), '.rustup'),
    npm_config_prefix: join(home, 'global'),
    CONTENT_GATEWAY_URL: gateway.base,
    ...more,
  };
  // The lines name the package of a release in this folder.
  await mkdir(join(cwd, 'FOLDER'));
  await run('cp', [archive, join(cwd, 'FOLDER')]);
  await run('sh', ['-ec', lines], { cwd, env, maxBuffer: 2 ** 28 });
  return cwd;
};

/** The blocks of a text that hold a pattern. */
const blocksWith = async (file: string, pattern: string): Promise<string[]> =>
  blocksOf(await readFile(file, 'utf8'))
    .map(({ text }) => text)
    .filter((text) => text.includes(pattern));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'content-gateway-install-'));
  const lacking = packages.filter(([, { file }]) => !existsSync(join('build/sdk/artifacts', file)));
  if (lacking.length > 0) await run('npm', ['run', '-s', 'sdk', '--', ...lacking.map(([name]) => name)]);
  const { stdout } = await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]);
  archive = join(folder, stdout.trim());
  gateway = await startSandbox();
}, MAKING_MS);
afterAll(async () => {
  await gateway.stop();
  await rm(folder, { recursive: true });
});

describe('the quick start', () => {
  const WHERE: Record<string, string> = {
    typescript: 'node_modules/content-gateway-client/package.json',
    python: '.venv/bin/python',
    go: 'go.sum',
    java: 'lib/content-gateway-1.2.0.jar',
    rust: 'content-gateway-1.2.0/Cargo.toml',
  };
  test.each(Object.entries(WHERE))(
    'of %s installs its package',
    async (language, file) => {
      const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
      const [printed = ''] = await blocksWith(`openapi/sdk/${language}/README.md`, '/sdks/');
      expect(await blocksWith('docs/sdks.md', '/sdks/')).toContain(printed);
      const cwd = await install(printed);
      expect(existsSync(join(cwd, file.replace('1.2.0', version)))).toBe(true);
    },
    INSTALLING_MS,
  );
});

describe('docs/trpc.md', () => {
  test(
    'installs the types, in at most 300 kB',
    async () => {
      const blocks = await blocksWith('docs/trpc.md', '/sdks/');
      expect(blocks.length).toBe(2);
      for (const block of blocks) {
        const cwd = await install(block.replaceAll('http://localhost:3000', gateway.base));
        const all = [`node_modules/${TYPES}`, '-type', 'f', '-printf', '%s\\n'];
        const { stdout } = await run('find', all, { cwd });
        const bytes = stdout
          .trim()
          .split('\n')
          .reduce((sum, size) => sum + Number(size), 0);
        expect(bytes).toBeLessThanOrEqual(300_000);
        await run(process.execPath, ['--input-type=module', '--eval', `import "${TYPES}/trpc"`], { cwd });
      }
    },
    INSTALLING_MS,
  );
});

describe('the package of the service', () => {
  test(
    'has the SDKs, in at most 2 MB',
    async () => {
      const { stdout } = await run('tar', ['--list', '--verbose', '--file', archive]);
      const lines = stdout.split('\n').filter((line) => line.includes('package/build/sdk/artifacts/'));
      const bytes = lines.reduce((sum, line) => sum + Number(line.trim().split(/\s+/)[2]), 0);
      for (const [, { file }] of packages) expect(stdout).toContain(`package/build/sdk/artifacts/${file}`);
      expect(bytes).toBeLessThanOrEqual(2_000_000);
    },
    INSTALLING_MS,
  );

  test(
    'is started as README says',
    async () => {
      const [line = ''] = await blocksWith('README.md', 'npx ');
      await install(line.replace(/ serve .*\n/, ' --version\n'));
    },
    INSTALLING_MS,
  );

  test(
    'is installed as docs/ci.md says',
    async () => {
      const [lines = ''] = await blocksWith('docs/ci.md', '--global --ignore-scripts ./FOLDER');
      await install(lines.split('\n', 1).join());
    },
    INSTALLING_MS,
  );

  test.each([
    ['action.yml', 'PACKAGE'],
    ['github-workflow.yml', 'GATEWAY_PACKAGE'],
    ['gitlab.yml', 'GATEWAY_PACKAGE'],
  ])(
    'is installed by deploy/ci/%s, if told where it is',
    async (file, variable) => {
      const text = await readFile(join(root, 'deploy/ci', file), 'utf8');
      const [line = ''] = /npm install .+/.exec(text) ?? [];
      await install(`${line}\n"$npm_config_prefix/bin/content-gateway" --version`, { [variable]: archive });
      await expect(install(line)).rejects.toThrow(/is missing/);
    },
    INSTALLING_MS,
  );
});
