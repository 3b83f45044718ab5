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
