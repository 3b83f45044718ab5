import { statSync } from 'node:fs';
import { open, rm, writeFile } from 'node:fs/promises';
import { CommandError } from './common.ts';

/** Status 1 would be an answer of the commands that write reports. */
const UNUSABLE = 2;

/** Runs `write`. @throws CommandError with status 2 when that fails */
export const writing = async <T>(file: string, write: () => Promise<T>): Promise<T> => {
  try {
    return await write();
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${(error as Error).message}.`, UNUSABLE);
  }
};

/** Asserts that a report can be written, before the work that it tells of. Leaves no file behind. @throws CommandError with status 2 */
export const assertReportFile = async (file: string | undefined): Promise<void> => {
  if (file === undefined) return;
  const there = statSync(file, { throwIfNoEntry: false });
  // The reader of a pipe takes its first end for the last.
  if (there && !there.isFile() && !there.isDirectory()) return;
  await writing(file, async () => (await open(file, 'a')).close());
  if (!there) await rm(file);
};

/** Writes a report, if a file is named for it. @throws CommandError with status 2 */
export const writeReport = async (file: string | undefined, text: () => string): Promise<void> => {
  if (file !== undefined) await writing(file, () => writeFile(file, text()));
};
