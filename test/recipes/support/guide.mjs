import { readFileSync } from 'node:fs';
import { pinned } from './tools.mjs';

const page = readFileSync(new URL('../../../docs/ci.md', import.meta.url), 'utf8');

/** The shell blocks of the guide below a heading, in order, as they are printed. @throws Error if there is none */
export const blocksOf = (heading) => {
  const section = page.split(/^(?=##+ )/m).find((text) => text.startsWith(`### ${heading}\n`));
  const blocks = [...(section ?? '').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, lines]) => lines);
  if (blocks.length === 0) throw new Error(`docs/ci.md has no shell lines below "${heading}".`);
  return blocks;
};

/** The shell blocks of a tool after the first, which must install the version in tools/package.json. @throws Error */
export const blocksAfterInstall = (heading, name) => {
  const [install, ...others] = blocksOf(heading);
  const wanted = `${name}@${pinned[name]}`;
  if (!install.startsWith('npm install') || !install.split(/\s+/).includes(wanted))
    throw new Error(`The first lines of docs/ci.md on ${heading} do not install ${wanted}.`);
  return others;
};
