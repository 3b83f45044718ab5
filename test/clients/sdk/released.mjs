// The service of the oldest release that is supported, and its documents: what is installed in the world.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { oldestVersion } from '../../../openapi/released.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** The document of 1.0.0 was put elsewhere. */
const DOCUMENT =
  oldestVersion === '1.0.0' ? 'openapi/released/openapi.json' : `openapi/released/${oldestVersion}/openapi.json`;
const SERVICE = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'contract', 'src', 'migrations', 'openapi'];

const git = (...args) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', maxBuffer: 2 ** 28 }).trim();

/** The commit of the release: the last one that put its document there. */
const releasedCommit = () => {
  if (git('rev-parse', '--is-shallow-repository') === 'true') {
    throw new Error('The release is not in this shallow clone: git fetch --unshallow');
  }
  return git('log', '-1', '--no-renames', '--diff-filter=AM', '--format=%h', '--', DOCUMENT);
};

/**
 * Takes the release out of the history and compiles it, once; it runs with the packages of today.
 *
 * @returns `program`, its command line, and `documents`, the folder of its documents
 */
export const buildReleased = () => {
  const commit = releasedCommit();
  const folder = join(root, 'build/released', commit);
  if (!existsSync(folder)) {
    // Several tests may do this at once.
    const unfinished = `${folder}.${process.pid}`;
    mkdirSync(unfinished, { recursive: true });
    const archive = execFileSync('git', ['-C', root, 'archive', commit, ...SERVICE], { maxBuffer: 2 ** 28 });
    execFileSync('tar', ['-x', '-C', unfinished], { input: archive });
    symlinkSync(join(root, 'node_modules'), join(unfinished, 'node_modules'));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck'], { cwd: unfinished });
    if (existsSync(folder)) rmSync(unfinished, { recursive: true });
    else renameSync(unfinished, folder);
  }
  return { program: join(folder, 'dist/src/cli.js'), documents: join(folder, 'openapi/') };
};
