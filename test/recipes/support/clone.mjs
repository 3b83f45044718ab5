import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './shell.mjs';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Clones this repository into a folder, and adds what is not committed yet. Returns the clone's folder. */
export const clone = async (folder, env) => {
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

const installedPackages = async (env) => {
  const folder = mkdtempSync(join(tmpdir(), 'recipes-packages-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const target = await clone(folder, env);
  await run('deploy/ci/install', { cwd: target, env, seconds: 600 });
  return join(target, 'node_modules');
};

let packages;

/**
 * The packages that deploy/ci/install installs, which it does once for all recipes: in a folder above a clone, Node.js finds
 * them there. With the variables of `INSTALLED`, npm then installs no others.
 */
export const productionPackages = (env) => {
  packages ??= installedPackages(env);
  return packages;
};

export const INSTALLED = { npm_config_dry_run: 'true' };
