// node released.mjs oldest|last: prints the path of the document of a release. Those of all that are supported are in released/.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('released/', import.meta.url));

/** A negative number if a version is lower than another. */
export const compareVersions = (a, b) => a.localeCompare(b, 'en', { numeric: true });

/** From the oldest to the last. */
export const releasedVersions = readdirSync(folder)
  .filter((name) => /^\d+\.\d+\.\d+$/.test(name))
  .toSorted(compareVersions);

export const oldestVersion = releasedVersions[0];
export const lastVersion = releasedVersions.at(-1);
export const documentOf = (version) => `${folder}${version}/openapi.json`;

if (process.argv[1] === import.meta.filename) {
  console.log(documentOf(process.argv[2] === 'oldest' ? oldestVersion : lastVersion));
}
