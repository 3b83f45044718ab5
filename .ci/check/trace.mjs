// Which files of the repository a command reads, by the times of access that the file system keeps.
import { execFileSync } from 'node:child_process';
import { statSync, utimesSync } from 'node:fs';

const LONG_AGO = new Date(0);

/** The paths of the files that git tracks, and that are in the work tree. */
const trackedFiles = () =>
  execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' })
    .split('\0')
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());

/** Forgets when each tracked file was read. */
export const forgetReads = () => {
  // With `relatime`, the default, a read is noted where the time before it is older than a day.
  for (const path of trackedFiles()) utimesSync(path, LONG_AGO, statSync(path).mtime);
};

/**
 * The paths of the tracked files that were read since then, by git's order.
 * @throws {Error} where the file system does not note reads (`noatime`)
 */
export const readFiles = () => {
  const read = trackedFiles().filter((path) => statSync(path).atime > LONG_AGO);
  if (!read.includes('package.json')) throw new Error('The file system does not note when files are read.');
  return read;
};
