import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './shell.mjs';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Clones the last commit of a repository of ours, with the packages of this checkout. */
export const cloneTo = (repository, folder) => {
  execFileSync('git', ['clone', '--quiet', repository, folder]);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  appendFileSync(join(folder, '.git/info/exclude'), 'node_modules\n');
};

/** Clones this repository into a folder, and adds what is not committed yet. Returns the clone's folder. */
const clone = async (folder, env) => {
  const target = join(folder, 'gateway');
  await run(
    `git clone --quiet --depth 1 "file://$ROOT" "$TARGET"
    cd "$ROOT"
    git ls-files -z --deleted | (cd "$TARGET" && xargs -0 --no-run-if-empty rm -f)
    git ls-files -z --modified --others --exclude-standard |
      tar --create --null --files-from=- --ignore-failed-read --warning=no-failed-read |
      tar --extract --directory="$TARGET"`,
    { cwd: folder, env: { ...env, ROOT: root, TARGET: target } },
  );
  return target;
};

const makePackage = async (env) => {
  const folder = mkdtempSync(join(tmpdir(), 'recipes-package-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const out = join(folder, 'release');
  await run(
    `ln -s "$ROOT/node_modules" node_modules
    echo node_modules >>.git/info/exclude
    git add --all
    git -c user.name=recipe -c user.email= commit --quiet --allow-empty --message 'What is not committed yet'
    npm run -s release -- --out "$OUT" --only npm`,
    { cwd: await clone(folder, env), env: { ...env, ROOT: root, OUT: out } },
  );
  const files = await readdir(out);
  return join(
    out,
    files.find((name) => name.endsWith('.tgz')),
  );
};

let made;

/** The package of a release, with what is not committed yet: made once for all recipes. Returns the archive. */
export const packageOf = (env) => {
  made ??= makePackage(env);
  return made;
};

/** Where npm's global packages are those of one job: its container, or its machine. */
export const machineOf = (folder, env) => {
  const prefix = join(folder, 'machine');
  return { ...env, npm_config_prefix: prefix, PATH: `${join(prefix, 'bin')}:${env.PATH}` };
};
