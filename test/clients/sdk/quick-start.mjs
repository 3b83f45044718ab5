import { readFileSync } from 'node:fs';

const SECTION = /^## Quick start\n(.+?)^## /ms;
const COMMANDS = /^```sh\n(.+?)^```$/gms;
const FILE = /^`(\S+)`:\n\n```\w+\n(.+?)^```$/ms;

/**
 * The quick start of an SDK, as its README prints it: what installs, the file, what runs it.
 *
 * @param file the README
 * @returns `commands`, for a shell in an empty folder; `path` and `program`, the file to put there before
 * @throws Error if the README has none, or does not show the file before the command that runs it
 */
export const quickStartOf = (file) => {
  const [, text = ''] = SECTION.exec(readFileSync(file, 'utf8')) ?? [];
  const commands = [...text.matchAll(COMMANDS)];
  const found = FILE.exec(text);
  if (commands.length === 0 || !found) throw new Error(`${file} has no quick start`);
  if (found.index > commands.at(-1).index) throw new Error(`${file} runs its quick start before it shows the file`);
  const [, path, program] = found;
  return { commands: commands.map(([, lines]) => lines).join(''), path, program };
};
