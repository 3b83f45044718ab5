// The services of the releases that are supported, and their documents: what is installed in the world.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { oldestVersion } from '../../openapi/released.mjs';

export { releasedVersions } from '../../openapi/released.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** The document of 1.0.0 was put elsewhere. */
const documentIn = (version) =>
  version === '1.0.0' ? 'openapi/released/openapi.json' : `openapi/released/${version}/openapi.json`;

const git = (...args) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', maxBuffer: 2 ** 28 }).trim();

/** The commit of a release: the last one that put its document there. */
const commitOf = (version) => {
  if (git('rev-parse', '--is-shallow-repository') === 'true') {
    throw new Error('The release is not in this shallow clone: git fetch --unshallow');
  }
  return git('log', '-1', '--no-renames', '--diff-filter=AM', '--format=%h', '--', documentIn(version));
};

/**
 * Takes a release out of the history and compiles it, once; it runs with the packages of today.
 *
 * @param version by default the oldest
 * @returns its `folder`; `program`, its command line; and `documents`, the folder of its documents
 */
export const buildReleased = (version = oldestVersion) => {
  const commit = commitOf(version);
  const folder = join(root, 'build/released', commit);
  if (!existsSync(folder)) {
    // Several tests may do this at once.
    const unfinished = `${folder}.${process.pid}`;
    mkdirSync(unfinished, { recursive: true });
    const archive = execFileSync('git', ['-C', root, 'archive', commit, '.', ':!test'], { maxBuffer: 2 ** 28 });
    execFileSync('tar', ['-x', '-C', unfinished], { input: archive });
    symlinkSync(join(root, 'node_modules'), join(unfinished, 'node_modules'));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck'], { cwd: unfinished });
    if (existsSync(folder)) rmSync(unfinished, { recursive: true });
    else renameSync(unfinished, folder);
  }
  return { folder, program: join(folder, 'dist/src/cli.js'), documents: join(folder, 'openapi/') };
};
