import { execFileSync } from 'node:child_process';

/**
 * Compiles the program, once a Jest run, so that what the tests start is never older than its source. Types are left to
 * `npm run typecheck`.
 *
 * @throws Error after the compiler's own words
 */
export default ({ rootDir }: { rootDir: string }): void => {
  const compiler = 'node_modules/typescript/bin/tsc';
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck'], {
    cwd: rootDir,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
};
