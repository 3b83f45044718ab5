import { readFileSync } from 'node:fs';

const COMMANDS = /^```sh\n(.+?)^```$/ms;
const FILE = /^`(\S+)`:\n\n```\w+\n(.+?)^```$/ms;

/**
 * The quick start of an SDK, as its README prints it.
 *
 * @param file the README
 * @returns `commands`, for a shell in an empty folder; `path` and `program`, the file to put there before
 * @throws Error if the README has none
 */
export const quickStartOf = (file) => {
  const readme = readFileSync(file, 'utf8');
  const [, commands] = COMMANDS.exec(readme) ?? [];
  const [, path, program] = FILE.exec(readme) ?? [];
  if (!commands || !program) throw new Error(`${file} has no quick start`);
  return { commands, path, program };
};
