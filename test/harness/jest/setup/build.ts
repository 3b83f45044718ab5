import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Compiles the program, once a Jest run, so that what the tests start is never older than its source. Types are left to
 * `npm run typecheck`. Then it migrates a database of SQLite, which most tests begin with a copy of.
 *
 * @throws Error after the compiler's or the program's own words
 */
export default ({ rootDir }: { rootDir: string }): void => {
  execFileSync(process.execPath, ['.ci/build-if-stale.mjs', '--no-check'], {
    cwd: rootDir,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const file = join(mkdtempSync(join(tmpdir(), 'content-gateway-migrated-')), 'content.db');
  execFileSync(process.execPath, ['dist/src/cli.js', 'migrate', '--quiet'], {
    cwd: rootDir,
    env: { DATABASE_URL: `sqlite:${file}` },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  // The workers, which are started later, inherit it.
  process.env['MIGRATED_SQLITE'] = file;
};
