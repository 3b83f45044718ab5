import { readFileSync } from 'node:fs';

const readme = readFileSync(new URL('../../../openapi/sdk/README.md', import.meta.url), 'utf8');

const COMMANDS = /^```sh\n(.+?)^```$/ms;
const FILE = /^`(\S+)`:\n\n```\w+\n(.+?)^```$/ms;

const sectionOf = (language) =>
  readme.split(/^## /m).find((section) => section.toLowerCase().startsWith(`${language}\n`));

/**
 * The quick start of a language, as openapi/sdk/README.md prints it.
 *
 * @param language its name in lower case, `typescript`
 * @returns `commands`, for a shell in an empty folder; `path` and `program`, the file to put there before
 * @throws Error if the README has none
 */
export const quickStartOf = (language) => {
  const section = sectionOf(language) ?? '';
  const [, commands] = COMMANDS.exec(section) ?? [];
  const [, path, program] = FILE.exec(section) ?? [];
  if (!commands || !program) throw new Error(`openapi/sdk/README.md has no quick start for ${language}`);
  return { commands, path, program };
};
