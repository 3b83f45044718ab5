// npm run -s release [FOLDER]: writes a release into FOLDER, by default here, and prints its path. It is what `npm pack`
// makes, compiled, with a lock file of what production needs: `npm ci` installs exactly that, and `npm start` needs no
// compiler. It also has our .npmrc, which `npm pack` leaves out: no package is to run a script when it is installed.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { description, lock } from './production.mjs';

const target = resolve(process.argv[2] ?? '.');
process.chdir(join(import.meta.dirname, '..'));

/** Run by `npm start` and `npm run cli` before anything else. */
const BUILD = 'node .ci/build-if-stale.mjs && ';

const run = (command, ...args) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

const temporary = mkdtempSync(join(tmpdir(), 'content-gateway-release-'));
try {
  run(process.execPath, '.ci/build-if-stale.mjs');
  const name = run('npm', 'pack', '--silent', '--pack-destination', temporary).trimEnd().split('\n').at(-1);
  run('tar', '-xzf', join(temporary, name), '-C', temporary);
  const folder = join(temporary, 'package');
  rmSync(join(folder, '.ci'), { recursive: true });
  const { scripts, files, exports: _, allowScripts, ...rest } = description;
  const released = {
    ...rest,
    allowScripts: Object.fromEntries(
      Object.entries(allowScripts).filter(([one]) =>
        Object.keys(lock.packages).some((path) => path.endsWith(`node_modules/${one}`)),
      ),
    ),
    // Compiled already.
    scripts: { start: scripts.start.replace(BUILD, ''), cli: scripts.cli.replace(BUILD, '') },
    files: [...files.filter((path) => !path.startsWith('.ci/')), 'npm-shrinkwrap.json'],
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(released, null, 2)}\n`);
  // The name that npm packs a lock file by: a package made of this folder has it, too.
  writeFileSync(join(folder, 'npm-shrinkwrap.json'), `${JSON.stringify(lock, null, 2)}\n`);
  copyFileSync('.npmrc', join(folder, '.npmrc'));
  const archive = join(target, name);
  run('tar', '-czf', archive, '--owner=0', '--group=0', '--numeric-owner', '-C', temporary, 'package');
  console.log(archive);
} finally {
  rmSync(temporary, { recursive: true });
}
