import { statSync } from 'node:fs';
import { open, rm, writeFile } from 'node:fs/promises';
import { CommandError } from './common.ts';

/** The commands that write reports use status 1 for a result. */
const UNUSABLE = 2;

/** Runs `write`. @throws CommandError with status 2 when that fails */
export const writing = async <T>(file: string, write: () => Promise<T>): Promise<T> => {
  try {
    return await write();
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${(error as Error).message}.`, UNUSABLE);
  }
};

/** Asserts that a report can be written later. Leaves no file behind. @throws CommandError with status 2 */
export const assertReportFile = async (file: string | undefined): Promise<void> => {
  if (file === undefined) return;
  const there = statSync(file, { throwIfNoEntry: false });
  // A check would end the pipe: its reader stops when the first writer closes it.
  if (there && !there.isFile() && !there.isDirectory()) return;
  await writing(file, async () => (await open(file, 'a')).close());
  if (!there) await rm(file);
};

/** Writes a report, if a file is given for it. @throws CommandError with status 2 */
export const writeReport = async (file: string | undefined, text: () => string): Promise<void> => {
  if (file !== undefined) await writing(file, () => writeFile(file, text()));
};
