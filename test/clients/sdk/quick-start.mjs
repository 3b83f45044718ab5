import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const SECTION = /^## Quick start\n(.+?)^## /ms;
const COMMANDS = /^```sh\n(.+?)^```$/gms;
const FILE = /^`(\S+)`:\n\n```\w+\n(.+?)^```$/ms;

/** The last line that each quick start prints. */
const LINE = '星の伝説 GAME_NOT_FOUND';

/**
 * Follows the quick start of an SDK, as its README prints it: what installs, the file, what runs it.
 *
 * @param file the README
 * @param folder an empty one, where the file is put
 * @param run runs commands for a shell there, and returns what they print
 * @throws Error if the README has none, if it does not show the file before the command that runs it, or if the last
 *   line is another
 */
export const followQuickStart = async (file, folder, run) => {
  const [, text = ''] = SECTION.exec(readFileSync(file, 'utf8')) ?? [];
  const commands = [...text.matchAll(COMMANDS)];
  const found = FILE.exec(text);
  if (commands.length === 0 || !found) throw new Error(`${file} has no quick start`);
  if (found.index > commands.at(-1).index) throw new Error(`${file} runs its quick start before it shows the file`);
  const [, path, program] = found;
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), program);
  const output = await run(commands.map(([, lines]) => lines).join(''));
  // Maven resets the terminal's colours, whether it is one or not.
  const line = stripVTControlCharacters(output).trimEnd().split('\n').at(-1);
  if (line !== LINE) throw new Error(`it printed:\n${output}\n  and should end with: ${LINE}`);
};
