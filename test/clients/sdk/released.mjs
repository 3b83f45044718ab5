// The service of the last release, and its documents: what is installed in the world.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const DOCUMENT = 'openapi/released/openapi.json';
const SERVICE = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'contract', 'src', 'migrations', 'openapi'];

const git = (...args) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', maxBuffer: 2 ** 28 }).trim();

/** The commit of the last release: the last one that put its document there. */
const releasedCommit = () => {
  if (git('rev-parse', '--is-shallow-repository') === 'true') {
    throw new Error('The last release is not in this shallow clone: git fetch --unshallow');
  }
  return git('log', '-1', '--format=%h', '--', DOCUMENT);
};

/**
 * Takes the last release out of the history and compiles it, once; it runs with the packages of today.
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
