import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname } from 'node:path';

/** The version of the service. */
export const { version } = createRequire(import.meta.url)('#package') as { version: string };

const UNKNOWN = 'unknown';

const buildOf = (): string => {
  try {
    const { build: id } = JSON.parse(readFileSync(new URL('../../build.json', import.meta.url), 'utf8')) as {
      build: string;
    };
    return id;
  } catch {
    return UNKNOWN;
  }
};

/** The commit or the id of this build, by deploy/ci/build-id.mjs. */
export const build = buildOf();

/** Version and build, joined by the rules of semantic versioning. */
export const release = build === UNKNOWN ? version : `${version}+${build}`;

const programOf = (file: string, called: string): string => {
  if (!file.includes('/node_modules/')) return 'npm run -s cli --';
  // npm puts global commands into a folder of the PATH, and commands of a project into `.bin`.
  const isGlobal = basename(called) === 'content-gateway' && basename(dirname(called)) !== '.bin';
  if (isGlobal) return 'content-gateway';
  // npx looks nowhere else: a registry may have another package of this name. It keeps what it has fetched in `_npx`.
  return called.includes('/_npx/') ? called : 'npx --no content-gateway';
};

/** The command that starts the command line: in a clone or an unpacked release, or from the npm package. */
export const PROGRAM = programOf(import.meta.url, process.argv[1] ?? '');
