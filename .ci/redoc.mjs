// npm run -s redoc: makes the file of Redoc that the page at /reference/ loads, from its package at the registry. The file
// is committed, since the package asks for Node 22 and for React and others, which its file already holds.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const { version, integrity, license, file } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'vendored.json'), 'utf8'),
).redoc;

/** The parts of Redoc that the content security policy of the page refuses, and their replacements. */
const MENDED = [
  // The logo of its makers, from their server: an empty picture.
  [
    /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(?:-full)?\.svg/g,
    'data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22/>',
  ],
  // Inline styles for the colors of code: an attribute, which reference.css colors.
  [/ style="color: var\(\$\{(\w+)\}\)"/g, ' data-token="${$1}"'],
  // A font of icons for listings of folders, of which there are none.
  [/url\('data:application\/font-woff;[^']*'\)\s+format\('woff'\)/g, "local('none')"],
];

const temporary = mkdtempSync(join(tmpdir(), 'content-gateway-redoc-'));
try {
  const packed = execFileSync('npm', ['pack', `redoc@${version}`, '--json', '--pack-destination', temporary], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [archive] = Object.values(JSON.parse(packed));
  if (archive.integrity !== integrity) throw new Error(`redoc ${version} is not the package that vendored.json names.`);
  const read = (path) =>
    execFileSync('tar', ['-xzOf', join(temporary, archive.filename), path], { encoding: 'utf8', maxBuffer: 2 ** 24 });
  let text = read('package/bundles/redoc.standalone.js');
  for (const [what, by] of MENDED) {
    const mended = text.replace(what, by);
    if (mended === text) throw new Error(`Redoc no longer holds ${what}.`);
    text = mended;
  }
  const head = `/*!\nRedoc ${version}, under the ${license} licence. \`npm run redoc\` made this file.\n\n${read('package/LICENSE')}*/\n`;
  writeFileSync(join(root, file), head + text);
} finally {
  rmSync(temporary, { recursive: true });
}
