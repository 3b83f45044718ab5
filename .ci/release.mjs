// npm run -s release [FOLDER]: writes a release into FOLDER, by default here, and prints its path. It is what `npm pack`
// makes, compiled, with a lock file of what production needs: `npm ci` installs exactly that, and `npm start` needs no
// compiler.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { description, lock } from './production.mjs';

const target = resolve(process.argv[2] ?? '.');
process.chdir(join(import.meta.dirname, '..'));

/** What `npm pack` makes of a folder, as a path. */
const pack = (folder, destination, ...more) => {
  const args = ['pack', '--silent', '--pack-destination', destination, ...more];
  const stdio = ['ignore', 'pipe', 'inherit'];
  const lines = execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio }).trimEnd().split('\n');
  return join(destination, lines.at(-1));
};

const temporary = mkdtempSync(join(tmpdir(), 'content-gateway-release-'));
try {
  execFileSync('tar', ['-xzf', pack('.', temporary), '-C', temporary]);
  const folder = join(temporary, 'package');
  // What is left in dist/ of sources that are no more.
  for (const name of readdirSync(join(folder, 'dist'), { recursive: true })) {
    if (name.endsWith('.js') && !existsSync(name.replace(/js$/, 'ts'))) rmSync(join(folder, 'dist', name));
  }
  rmSync(join(folder, '.ci'), { recursive: true });
  const { scripts, files, exports: _, allowScripts, ...rest } = description;
  const released = {
    ...rest,
    allowScripts: Object.fromEntries(
      Object.entries(allowScripts).filter(([name]) =>
        Object.keys(lock.packages).some((path) => path.endsWith(`node_modules/${name}`)),
      ),
    ),
    // Compiled already.
    scripts: { start: scripts.start, cli: scripts.cli },
    files: [...files.filter((path) => !path.startsWith('.ci/')), 'npm-shrinkwrap.json'],
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(released, null, 2)}\n`);
  // The name that npm packs a lock file by.
  writeFileSync(join(folder, 'npm-shrinkwrap.json'), `${JSON.stringify(lock, null, 2)}\n`);
  console.log(pack(folder, target, '--ignore-scripts'));
} finally {
  rmSync(temporary, { recursive: true });
}
