import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

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

/** The commit or the id that this was built from, by deploy/ci/build-id.mjs. */
export const build = buildOf();

/** Version and build, joined as by semantic versioning. */
export const release = build === UNKNOWN ? version : `${version}+${build}`;
