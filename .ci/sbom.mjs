// npm run -s sbom: prints what runs in production, as CycloneDX. By `npm sbom`, but on a lock file that holds nothing else.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { description, lock } from './production.mjs';

/** The SBOM, as an object, without what differs each time. */
export const productionSbom = () => {
  const temporary = mkdtempSync(join(tmpdir(), 'content-gateway-sbom-'));
  try {
    // Named by its folder.
    const folder = join(temporary, description.name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), JSON.stringify(description));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
    const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
    const { serialNumber: _, ...sbom } = JSON.parse(
      execFileSync('npm', args, { cwd: folder, maxBuffer: 2 ** 26, stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    delete sbom.metadata.timestamp;
    return sbom;
  } finally {
    rmSync(temporary, { recursive: true });
  }
};

if (process.argv[1] === import.meta.filename) console.log(JSON.stringify(productionSbom(), null, 2));
