// Does with a release what an operator does: unpack it, install what production needs, start it, look at it, stop it. Then
// starts a copy of the repository that is compiled already, with the same packages and no compiler.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const repository = join(import.meta.dirname, '..');
/** Of which each must be there: what is missing in a release is missing here. */
const PATHS = [
  '/',
  '/docs/',
  '/docs/swagger-ui.css',
  '/guides/',
  '/guides/start',
  '/guides/changelog',
  '/errors',
  '/openapi.json',
  '/openapi-3.0.json',
  '/openapi.yaml',
  '/llms.txt',
  '/readyz',
];
const START_MS = 60_000;
const { DATABASE_URL: _, AUTO_MIGRATE: __, ...inherited } = process.env;
const env = { ...inherited, PORT: '0', HOST: '127.0.0.1' };

const fail = (words) => {
  throw new Error(words);
};
const run = (command, args, cwd) => execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: 'pipe' });

/** The process itself, below npm and its shell. */
const innermost = (pid) => {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' '),
  );
  const child = children.find((one) => one !== '');
  return child === undefined ? pid : innermost(Number(child));
};

/** Runs `npm start` in a folder, and `work` with the service's address; it must then stop in order. */
const withService = async (folder, work) => {
  const npm = spawn('npm', ['start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const ended = once(npm, 'close');
  let output = '';
  const listening = new Promise((found) => {
    const read = (text) => {
      output += text;
      const [, base] = /^ *Docs: +(http\S+)\/docs\/$/m.exec(output) ?? [];
      if (base) found(base);
    };
    npm.stdout.setEncoding('utf8').on('data', read);
    npm.stderr.setEncoding('utf8').on('data', read);
  });
  const late = setTimeout(() => process.kill(-Number(npm.pid), 'SIGKILL'), START_MS);
  try {
    const base = await Promise.race([listening, ended]);
    if (typeof base !== 'string') fail(`npm start ended before it listened:\n${output}`);
    await work(base);
    process.kill(innermost(npm.pid), 'SIGTERM');
    const [status] = await ended;
    if (status !== 0) fail(`the service ended with status ${status} after SIGTERM:\n${output}`);
  } finally {
    clearTimeout(late);
    if (npm.exitCode === null && npm.signalCode === null) process.kill(-Number(npm.pid), 'SIGKILL');
  }
};

const get = async (base, path) => {
  const { status } = await fetch(base + path);
  if (status !== 200) fail(`${path} answered ${status}`);
};

const list = async (base) => {
  const reply = await fetch(`${base}/api/trpc/game.list`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"json":{"limit":10,"page":1}}',
  });
  if (reply.status !== 200) fail(`game.list answered ${reply.status}: ${await reply.text()}`);
};

const sizeOf = (folder) => {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  return `${(bytes / 1e6).toFixed(1)} MB`;
};

const temporary = mkdtempSync(join(tmpdir(), 'content-gateway-release-start-'));
try {
  const archive = run('node', [join(repository, '.ci/release.mjs'), temporary], repository).trim();
  run('tar', ['-xzf', archive, '-C', temporary], temporary);
  const release = join(temporary, 'package');
  if (!/^ignore-scripts=true$/m.test(readFileSync(join(release, '.npmrc'), 'utf8')))
    fail('its packages may run scripts');
  const began = performance.now();
  run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], release);
  const packages = join(release, 'node_modules');
  console.log(
    `release ${(statSync(archive).size / 1e6).toFixed(1)} MB, installed in ${Math.round((performance.now() - began) / 1000)} s: ` +
      `${sizeOf(packages)} of packages`,
  );
  for (const name of ['typescript', 'jest', '@trpc/server']) {
    if (existsSync(join(packages, name))) fail(`${name} was installed, which production does not need`);
  }
  await withService(release, async (base) => {
    for (const path of PATHS) await get(base, path);
    await list(base);
    const users = run('npm', ['run', '-s', 'cli', '--', 'users', 'list'], release);
    if (!users.includes('demo')) fail(`users list does not know the demo's user:\n${users}`);
  });
  console.log('The release starts, serves its pages, and stops.');

  const clone = join(temporary, 'clone');
  mkdirSync(clone);
  const files = run(
    'git',
    ['ls-files', '-z', 'package.json', '.ci', 'src', 'contract', 'deploy', 'openapi', 'migrations', 'docs'],
    repository,
  );
  for (const file of [...files.split('\0').filter((one) => one !== ''), 'CHANGELOG.md']) {
    if (existsSync(join(repository, file))) cpSync(join(repository, file), join(clone, file));
  }
  renameSync(packages, join(clone, 'node_modules'));
  try {
    run('npm', ['start'], clone);
    fail('npm start needs neither dist/ nor a compiler');
  } catch (error) {
    if (!/is missing, and the compiler that makes it is not installed/.test(error.stderr)) throw error;
  }
  cpSync(join(release, 'dist'), join(clone, 'dist'), { recursive: true });
  await withService(clone, list);
  console.log('So does a compiled copy of the repository without a compiler.');
} finally {
  rmSync(temporary, { recursive: true });
}
