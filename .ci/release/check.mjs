// Makes the release of the commit twice, in clones of two names, and compares them. Then does with it what others do: installs the
// package beside a program of theirs, which is compiled by three versions of TypeScript and calls a sandbox that npx starts; and
// unpacks it, installs what production needs, starts it, looks at it, stops it. Last, starts a copy of the repository that is
// compiled already, with the same packages and no compiler.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesIn } from './files.mjs';

const repository = join(import.meta.dirname, '../..');
const { version, dependencies, devDependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
/** The SDKs' packages are made by another step, too. */
const PARTS = process.env.RELEASE_PARTS || 'types,npm,documents';
const CONSUMER = join(repository, 'test/clients/package');
/** Of which each must be there: what is missing in a release is missing here. */
const PATHS = [
  '/',
  '/docs/',
  '/assets/swagger/swagger-ui.css',
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
const START_MS = 240_000;
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

/** Runs a command that starts a service in a folder, and `work` with its address; it must then stop in order. */
const withService = async (folder, [command, ...args], work) => {
  const npm = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
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
    if (typeof base !== 'string') fail(`it ended before it listened:\n${output}`);
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
  const bytes = filesIn(folder).reduce((sum, path) => sum + statSync(join(folder, path)).size, 0);
  return `${(bytes / 1e6).toFixed(1)} MB`;
};

/** The release of the commit, made in a clone with this name. */
const releaseOf = (name) => {
  const clone = join(temporary, name);
  run('git', ['clone', '--quiet', repository, clone], temporary);
  symlinkSync(join(repository, 'node_modules'), join(clone, 'node_modules'));
  appendFileSync(join(clone, '.git/info/exclude'), 'node_modules\n');
  const out = join(temporary, `release-${name}`);
  run('npm', ['run', '-s', 'release', '--', '--out', out, '--only', PARTS], clone);
  return out;
};

/** What a release has that another has not, or has otherwise. */
const differences = (one, other) =>
  [...new Set([...filesIn(one), ...filesIn(other)])].filter((name) => {
    const [a, b] = [one, other].map((folder) => existsSync(join(folder, name)) && readFileSync(join(folder, name)));
    return !a || !b || !a.equals(b);
  });

/** Compiles a program of the package's users by each compiler that it has, and by both ways to find modules. */
const compile = (folder) => {
  for (const name of readdirSync(join(folder, 'node_modules')).filter((one) => one.startsWith('typescript'))) {
    const tsc = (...options) => run('node', [join('node_modules', name, 'bin/tsc'), ...options], folder);
    tsc('--skipLibCheck');
    tsc('--skipLibCheck', '--module', 'esnext', '--moduleResolution', 'bundler', '--noEmit');
  }
};

/** A folder of programs that use a package of ours, installed and compiled, with some words of its files replaced. */
const consumerOf = (name, archive, replaced = []) => {
  const folder = join(temporary, name);
  cpSync(CONSUMER, folder, { recursive: true });
  for (const file of ['contract.ts', 'trpc.ts', 'package.json']) {
    const text = readFileSync(join(folder, file), 'utf8');
    writeFileSync(
      join(folder, file),
      replaced.reduce((all, [from, to]) => all.replace(from, to), text),
    );
  }
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', archive], folder);
  compile(folder);
  return folder;
};

/** Does in a clone and an empty folder what docs/trpc.md prints on the contract, against a sandbox. */
const followGuide = async (clone, types) => {
  const guide = readFileSync(join(clone, 'docs/trpc.md'), 'utf8').split('## The contract\n')[1].split('\n## ')[0];
  const [install, settings, program] = [...guide.matchAll(/^```\w+\n([^]*?)^```$/gm)].map(([, lines]) => lines);
  if (!install.includes(`@ts-rest/core@${dependencies['@ts-rest/core']}\n`))
    fail(`docs/trpc.md has another ts-rest: ${install}`);
  const [folder, packed] = ['guide', 'packed'].map((name) => join(temporary, name));
  for (const one of [folder, packed]) mkdirSync(one);
  run('npm', ['pack', '--silent', '--ignore-scripts=false', '--pack-destination', packed], clone);
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  writeFileSync(join(folder, 'tsconfig.json'), settings);
  run('sh', ['-c', install.replace(/\S+\/sdks\/types\/\S+/, types)], folder);
  run('npm', ['install', '--ignore-scripts', join(packed, `content-gateway-${version}.tgz`)], folder);
  await withService(folder, ['npx', 'content-gateway', 'serve', '--sandbox'], (base) => {
    writeFileSync(join(folder, 'program.ts'), program.replace('http://localhost:3000', base));
    run('node', [join(repository, 'node_modules/typescript/bin/tsc')], folder);
    if (!/^\d+\n$/.test(run('node', ['program.js'], folder)))
      fail('the program of docs/trpc.md does not print a number');
  });
  console.log('A clone is packed with its declarations, and the lines of docs/trpc.md on the contract hold.');
};

const temporary = mkdtempSync(join(tmpdir(), 'content-gateway-release-check-'));
try {
  if (run('git', ['status', '--porcelain'], repository) !== '') console.log('What is in no commit is not looked at.');
  const out = releaseOf('one');
  writeFileSync(join(temporary, 'one/README.md'), '');
  try {
    run('npm', ['run', '-s', 'release', '--', '--out', 'refused'], join(temporary, 'one'));
    fail('a release was made of what is in no commit');
  } catch (error) {
    if (!/Commit or stash them:\n M README\.md\nNothing was written\./.test(error.stderr)) throw error;
    if (existsSync(join(temporary, 'one/refused'))) fail('what was refused was written');
  }
  const different = differences(out, releaseOf('another-name'));
  if (different.length > 0) fail(`two releases of one commit differ in ${different.join(', ')}`);
  console.log(`Two releases of one commit are the same, ${filesIn(out).length} files.`);
  run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], out);

  run('git', ['checkout', '--quiet', '.'], join(temporary, 'one'));
  const types = join(out, `sdk/types/content-gateway-types-${version}.tgz`);
  await followGuide(join(temporary, 'one'), types);

  const archive = join(out, `content-gateway-${version}.tgz`);
  const consumer = consumerOf('consumer', archive);
  // The same programs with the package of types, which takes the zod of its users, and brings no types of Node.js.
  const ofTypes = consumerOf('consumer-of-types', types, [
    ["'content-gateway/", "'content-gateway-types/"],
    [/"zod": ".+"/, `"@types/node": "${devDependencies['@types/node']}", "zod": "${dependencies.zod}"`],
  ]);
  await withService(consumer, ['npx', 'content-gateway', 'serve', '--sandbox'], (base) => {
    for (const folder of [consumer, ofTypes]) {
      for (const [program, said] of [
        ['contract', 'false'],
        ['trpc', 'GAME_NOT_FOUND'],
      ]) {
        const printed = run('node', [`out/${program}.js`, base], folder);
        if (!printed.endsWith(` ${said}\n`)) fail(`${program} printed ${printed}`);
      }
    }
    run('npx', ['content-gateway', 'verify', base], consumer);
  });
  try {
    run('npx', ['content-gateway', 'keys', 'list'], consumer);
    fail('a database is there');
  } catch (error) {
    const hint = `There is no database at ${consumer}/data/content.db`;
    const command = `To make a new one: npx --no content-gateway migrate\n`;
    if (!error.stderr?.includes(hint) || !error.stderr.endsWith(command)) throw error;
  }
  console.log('The package serves, verifies, and compiles in a program of its users.');

  run('tar', ['-xzf', archive, '-C', temporary], temporary);
  const release = join(temporary, 'package');
  cpSync(join(release, 'deploy/package-lock.json'), join(release, 'package-lock.json'));
  const began = performance.now();
  run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], release);
  const packages = join(release, 'node_modules');
  console.log(
    `release ${(statSync(archive).size / 1e6).toFixed(1)} MB, installed in ${Math.round((performance.now() - began) / 1000)} s: ` +
      `${sizeOf(packages)} of packages`,
  );
  for (const name of ['typescript', 'jest', '@trpc/server']) {
    if (existsSync(join(packages, name))) fail(`${name} was installed, which production does not need`);
  }
  await withService(release, ['npm', 'start'], async (base) => {
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
  await withService(clone, ['npm', 'start'], list);
  console.log('So does a compiled copy of the repository without a compiler.');
} finally {
  rmSync(temporary, { recursive: true });
}
