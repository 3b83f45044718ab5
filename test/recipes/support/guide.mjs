import { readFileSync } from 'node:fs';

const page = readFileSync(new URL('../../../docs/ci.md', import.meta.url), 'utf8');

/** The shell blocks of the guide below a heading, in order, as they are printed. @throws Error if there is none */
export const blocksOf = (heading) => {
  const section = page.split(/^(?=##+ )/m).find((text) => text.startsWith(`### ${heading}\n`));
  const blocks = [...(section ?? '').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, lines]) => lines);
  if (blocks.length === 0) throw new Error(`docs/ci.md has no shell lines below "${heading}".`);
  return blocks;
};

/** The version of a package that the guide says to install, in any of its blocks. */
export const versionInGuide = (name) =>
  new RegExp(`(?:^|\\s)${name.replaceAll('/', String.raw`\/`)}@([0-9][0-9.]*)`, 'm').exec(page)?.[1];
