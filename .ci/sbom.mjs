// npm run -s sbom: prints what runs in production, as CycloneDX. By `npm sbom`, but on a lock file that holds nothing else.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { description, lock } from './production.mjs';

const temporary = mkdtempSync(join(tmpdir(), 'content-gateway-sbom-'));
try {
  // Named by its folder.
  const folder = join(temporary, description.name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify(description));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
  const { status } = spawnSync(
    'npm',
    ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'],
    { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  process.exitCode = status ?? 1;
} finally {
  rmSync(temporary, { recursive: true });
}
