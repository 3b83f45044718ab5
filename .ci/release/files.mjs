// The files of a release.
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

/** The paths of the files in a folder, from there, in the order of their bytes. */
export const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .toSorted((a, b) => (a < b ? -1 : 1));
