// npm run -s sbom: prints what runs in production, as CycloneDX. By `npm sbom`, but on a lock file that holds nothing else:
// npm 11 with --omit=dev leaves out packages that also serve developers, zod among them.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const read = (name) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'));
const { devDependencies: _, overrides: __, ...description } = read('package.json');
const lock = read('package-lock.json');
const { devDependencies: ___, ...root } = lock.packages[''];
const production = Object.entries(lock.packages).filter(([path, { dev, link }]) => path !== '' && !dev && !link);

const temporary = mkdtempSync(join(tmpdir(), 'content-gateway-sbom-'));
try {
  // Named by its folder.
  const folder = join(temporary, description.name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify(description));
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({ ...lock, packages: { '': root, ...Object.fromEntries(production) } }),
  );
  const { status } = spawnSync(
    'npm',
    ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'],
    { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  process.exitCode = status ?? 1;
} finally {
  rmSync(temporary, { recursive: true });
}
