import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { facts } from './facts.ts';

// The parts of docs/*.md that are known elsewhere: between `<!-- NAME -->` and `<!-- / -->` stands what is called NAME. What is
// called `sandbox` comes from its data, by test/docs/sandbox-page.test.ts.

const PART = /<!-- ((?!sandbox )[\w.-]+) -->[^]*?<!-- \/ -->/g;
const LANGUAGES = { typescript: 'TypeScript', python: 'Python', go: 'Go', java: 'Java', rust: 'Rust' };

/** `openapi/sdk/settings.mjs`, as far as it is used here. */
interface SdkSettings {
  readSettings: () => unknown;
  settingAt: (settings: unknown, path: string) => string;
}

/** The section of a Markdown text below a heading, up to the next one of its depth. @throws Error if there is none */
const section = (text: string, heading: string): string => {
  const lines = text.split('\n');
  const start = lines.indexOf(heading);
  if (start === -1) throw new Error(`There is no heading "${heading}".`);
  const depth = heading.indexOf(' ');
  let isCode = false;
  const end = lines.findIndex((line, index) => {
    if (line.startsWith('```')) isCode = !isCode;
    // A comment of a script may look like a heading.
    return index > start && !isCode && /^#+ /.test(line) && line.indexOf(' ') <= depth;
  });
  return lines
    .slice(start + 1, end === -1 ? undefined : end)
    .join('\n')
    .trim();
};

/** The quick start of each SDK, under the names it is published by: `quickstart.go`, …. */
const quickStarts = async (): Promise<Record<string, string>> => {
  const path = pathToFileURL(resolve('openapi/sdk/settings.mjs')).href;
  const { readSettings, settingAt } = (await import(path)) as SdkSettings;
  const settings = readSettings();
  return Object.fromEntries(
    Object.keys(LANGUAGES).map((language) => {
      const readme = readFileSync(`openapi/sdk/${language}/sdk/README.md`, 'utf8').replaceAll(
        /\{\{([\w.]+)\}\}/g,
        (_, name: string) => settingAt(settings, name),
      );
      // Words after the language are for tools of that language.
      return [`quickstart.${language}`, section(readme, '## Quick start').replaceAll(/^(```\w+),\w+$/gm, '$1')];
    }),
  );
};

/** What all SDKs do, and the settings of the service, as the pages for developers tell them. */
const passages = (): Record<string, string> => {
  const readme = readFileSync('README.md', 'utf8');
  const [configuration = ''] = /^\|[^]*\|$/m.exec(section(readme, '### Configuration')) ?? [];
  return {
    'sdk.behavior': section(readFileSync('openapi/sdk/README.md', 'utf8'), '## What all of them do').replaceAll(
      '](../../docs/',
      '](',
    ),
    // Links of README start from the root.
    configuration: configuration.replaceAll('](docs/', '](').replaceAll('](#', '](../README.md#'),
  };
};

/** All that may stand in guides, by name. */
const parts = async (): Promise<Record<string, string>> => ({ ...facts, ...passages(), ...(await quickStarts()) });

/** The guides as they should be, by their paths. Runs in the root of the repository. @throws Error at an unknown name */
export const filledGuides = async (): Promise<[path: string, text: string][]> => {
  const known = await parts();
  const fill = (text: string): string =>
    text.replaceAll(PART, (_, name: string) => {
      const value = known[name];
      if (value === undefined) throw new Error(`Nothing is called ${name}.`);
      const isBlock = value.includes('\n');
      return `<!-- ${name} -->${isBlock ? `\n\n${value}\n\n` : value}<!-- / -->`;
    });
  const style = await resolveConfig('docs/start.md');
  const paths = readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  return Promise.all(
    paths.map(async (path): Promise<[string, string]> => {
      const text = readFileSync(path, 'utf8');
      // Only where something is filled in: the others are nobody's business here.
      return [path, text.search(PART) !== -1 ? await format(fill(text), { ...style, parser: 'markdown' }) : text];
    }),
  );
};
